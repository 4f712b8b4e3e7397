"""A plugin that pytest loads first: it makes a start of pytest cheap.

The garbage collector does not look at modules and tests. Bytecode is written even if the environment forbids
it, as `manage.py up` does. Otherwise each session, and each process of a test, would mostly compile.
"""

import gc
import os
import py_compile
import sys
from pathlib import Path

# Nothing to collect while modules are imported. Later, a test leaves little garbage behind.
gc.disable()
gc.set_threshold(50_000, 20, 20)


def _write_bytecode() -> None:
    """Write the bytecode of further imports, and of what pytest imported before this plugin."""
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    sys.dont_write_bytecode = False
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec and spec.has_location and spec.cached and not Path(spec.cached).exists():
            py_compile.compile(spec.origin)


if os.environ.get("PYTHONDONTWRITEBYTECODE"):
    _write_bytecode()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through all modules and tests again and again.

    Without collecting first, which takes a second in each process and finds little.
    """
    gc.freeze()
    gc.enable()

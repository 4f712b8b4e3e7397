"""The client package: its imports, and its generated synchronous modules."""

import importlib
import runpy
import subprocess
import sys
from typing import Any

import pytest

from cognireview.client import CogniReviewError, to_pandas, to_polars
from cognireview.client.responses import Members
from cognireview.environment import BASE_DIR

# The client with httpx2 and what that needs, and without everything else.
_IMPORTED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
import cognireview.client
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"django", "reviews", "pydantic"}}))
"""
_ALLOWED = {"cognireview", "httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"}
GENERATOR: dict[str, Any] = runpy.run_path(str(BASE_DIR / ".ci" / "synchronous"))


def test_client_imports_httpx2_and_the_standard_library_only() -> None:
    program = _IMPORTED.format(allowed=_ALLOWED)
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=BASE_DIR,
        env={"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("module", GENERATOR["MODULES"])
def test_synchronous_client_is_generated_from_the_asynchronous_one(module: str) -> None:
    path = BASE_DIR / "cognireview" / "client" / "sync" / f"{module}.py"
    assert path.read_text() == GENERATOR["synchronous"](module), "Run .ci/synchronous."


def test_missing_data_frame_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, frame in (("pandas", to_pandas), ("polars", to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(CogniReviewError, match=f"pip install {name}"):
            frame([])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frame_has_a_row_for_each_object(library: str) -> None:
    pytest.importorskip(library, reason="heavy, and so only with `uv run --group recipes`")
    frame = getattr(importlib.import_module("cognireview.client"), f"to_{library}")
    rows = [Members("a", None), {"run": "b", "members": ["ana"]}]
    found = frame(rows)
    assert [*found["run"]] == ["a", "b"]
    assert [*found.columns] == ["run", "members"]

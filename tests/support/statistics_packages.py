"""Large packages of statistics, imported when first used: the imports take each test process seconds."""

from importlib import import_module
from typing import Any


class _Late:
    """A module that is imported when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # pytest looks for wrapped fixtures in each test file
        return getattr(import_module(self._name), name)


stats = _Late("scipy.stats")
metrics = _Late("sklearn.metrics")
models = _Late("statsmodels.api")
multitest = _Late("statsmodels.stats.multitest")

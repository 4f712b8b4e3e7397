"""Load the ratings and records of a scope once for all figures of a page or a report."""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from functools import update_wrapper, wraps
from inspect import signature
from typing import Any, Generic, ParamSpec, TypeVar, cast

_T = TypeVar("_T")
_P = ParamSpec("_P")
# The results of loading functions, by function and arguments; None outside of `shares_loads`.
_results: ContextVar[dict[Hashable, Any] | None] = ContextVar("results", default=None)


def shares_loads(action: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a read-only function: while it runs, a loading function runs once for the same arguments."""

    @wraps(action)
    def sharing(*args: _P.args, **options: _P.kwargs) -> _T:
        if _results.get() is not None:
            return action(*args, **options)
        token = _results.set({})
        try:
            return action(*args, **options)
        finally:
            _results.reset(token)

    return sharing


class Loading(Generic[_P, _T]):
    """A function decorated with `loads`."""

    def __init__(self, load: Callable[_P, _T]) -> None:
        self._load, self._signature = load, signature(load)
        update_wrapper(self, load)

    def __call__(self, *args: _P.args, **options: _P.kwargs) -> _T:
        results = _results.get()
        if results is None:
            return self._load(*args, **options)
        key = self._key(*args, **options)
        if key not in results:
            results[key] = self._load(*args, **options)
        return cast(_T, results[key])

    def known(self, *args: _P.args, **options: _P.kwargs) -> _T | None:
        """Return the result for these arguments if the function has already run for them."""
        return (_results.get() or {}).get(self._key(*args, **options))

    def _key(self, *args: _P.args, **options: _P.kwargs) -> Hashable:
        given = self._signature.bind(*args, **options)
        given.apply_defaults()
        return self._load, *given.arguments.items()


def loads(load: Callable[_P, _T]) -> Loading[_P, _T]:
    """Decorate a loading function. Its arguments are hashable, and nobody changes its result."""
    return Loading(load)

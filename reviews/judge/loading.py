"""Load the ratings and records of a scope once for all figures of a page or a report."""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from reviews.models import Run
from reviews.search import strata

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


def loads(load: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a loading function with hashable arguments. Callers must not change its result."""
    parameters = signature(load)

    @wraps(load)
    def loading(*args: _P.args, **options: _P.kwargs) -> _T:
        results = _results.get()
        if results is None:
            return load(*args, **options)
        given = parameters.bind(*args, **options)
        given.apply_defaults()
        key = load, *given.arguments.items()
        if key not in results:
            results[key] = load(*args, **options)
        return cast(_T, results[key])

    return loading


@loads
def why_not_counted(run: Run) -> str:
    """Return why figures about all records of a run are unknown, or an empty string."""
    return strata.why_not_counted(run)

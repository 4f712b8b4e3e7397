"""Keep figures together with the ratings that they are computed from."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from reviews.judge.ratings import Ratings

_T = TypeVar("_T")
_P = ParamSpec("_P")


def computes_once(compute: Callable[Concatenate[Ratings, _P], _T]) -> Callable[Concatenate[Ratings, _P], _T]:
    """Decorate a function of ratings: its last result is kept with them, for calls with equal arguments.

    Callers must not change the result.
    """

    @wraps(compute)
    def computing(ratings: Ratings, /, *args: _P.args, **options: _P.kwargs) -> _T:
        known = ratings.computed.get(compute)
        if known and known[:2] == (args, options):
            return cast(_T, known[2])
        value = compute(ratings, *args, **options)
        ratings.computed[compute] = args, options, value
        return value

    return computing

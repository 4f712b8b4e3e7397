"""Turn objects into JSON by their types: the counterpart of the client's decoding."""

import datetime as dt
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints


def members(kind: type, source: object, /, **given: Any) -> dict[str, Any]:
    """Return the members of a type as JSON: the given ones, and the others from attributes of an object."""
    return {
        name: given[name] if name in given else encode(hint, getattr(source, name))
        for name, hint in _hints(kind).items()
    }


def encode(kind: Any, value: Any) -> Any:
    """Return a value as JSON by its type. Floats get 6 decimal places. An object may have an `as_json`."""
    if value is None:
        return None
    if hasattr(value, "as_json"):
        return value.as_json()
    return _encoder(kind)(value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _encoder(kind: Any) -> Callable[[Any], Any]:
    """Return the function that encodes values of a type. Looking into a type takes longer than encoding."""
    if is_dataclass(kind):
        return partial(members, kind)  # type: ignore[arg-type]
    if origin := get_origin(kind):
        return _generic_encoder(origin, get_args(kind))
    if kind is float:
        return partial(round, ndigits=6)
    if kind in {dt.datetime, dt.date}:
        return lambda value: value.isoformat()
    return lambda value: value


def _generic_encoder(origin: Any, arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
    if origin is list:
        return lambda values: [encode(arguments[0], one) for one in values]
    if origin is dict:
        return lambda values: {str(name): encode(arguments[1], one) for name, one in values.items()}
    if origin is Literal:
        return str  # perhaps of an enumeration
    [wanted] = [one for one in arguments if one is not NoneType]
    return partial(encode, wanted)

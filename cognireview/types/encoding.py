"""Turn objects into JSON by their types: the counterpart of the client's decoding."""

import datetime as dt
from dataclasses import is_dataclass
from functools import cache
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
    if is_dataclass(kind):
        return members(kind, value)  # type: ignore[arg-type]
    if origin := get_origin(kind):
        return _encode_generic(origin, get_args(kind), value)
    if kind is float:
        return round(value, 6)
    return value.isoformat() if kind in {dt.datetime, dt.date} else value


def _encode_generic(origin: Any, arguments: tuple[Any, ...], value: Any) -> Any:
    if origin is list:
        return [encode(arguments[0], one) for one in value]
    if origin is dict:
        return {str(name): encode(arguments[1], one) for name, one in value.items()}
    if origin is Literal:
        return str(value)  # perhaps an enumeration
    [wanted] = [one for one in arguments if one is not NoneType]
    return encode(wanted, value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)

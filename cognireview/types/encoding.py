"""Turn objects into JSON by their types: the counterpart of the client's decoding."""

import datetime as dt
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

_Encoder = Callable[[Any], Any]
# Types whose values are JSON already. A text may be the name of an object, its `as_json`.
_UNCHANGED = {int, bool}


def members(kind: type, source: object, /, **given: Any) -> dict[str, Any]:
    """Return the members of a type as JSON: the given ones, and the others from attributes of an object."""
    return {
        name: given[name] if name in given else encode_member(getattr(source, name))
        for name, encode_member in _members(kind)
    }


def encode(kind: Any, value: Any) -> Any:
    """Return a value as JSON by its type. Floats get 6 decimal places. An object may have an `as_json`."""
    return _encoder(kind)(value)


@cache
def _members(kind: type) -> list[tuple[str, _Encoder]]:
    return [(name, _encoder(hint)) for name, hint in get_type_hints(kind).items()]


@cache
def _encoder(kind: Any) -> _Encoder:
    """Return the function that encodes values of a type. Looking into a type takes longer than encoding."""
    if kind in _UNCHANGED:
        return lambda value: value
    if kind is float:
        return lambda value: None if value is None else round(value, 6)
    encode_present = _present_encoder(kind)

    def encode_any(value: Any) -> Any:
        if value is None:
            return None
        as_json = getattr(value, "as_json", None)
        return as_json() if as_json else encode_present(value)

    return encode_any


def _present_encoder(kind: Any) -> _Encoder:
    if is_dataclass(kind):
        return partial(members, kind)  # type: ignore[arg-type]
    if origin := get_origin(kind):
        return _generic_encoder(origin, get_args(kind))
    if kind in {dt.datetime, dt.date}:
        return lambda value: value.isoformat()
    return lambda value: value


def _generic_encoder(origin: Any, arguments: tuple[Any, ...]) -> _Encoder:
    if origin is Literal:
        return str  # perhaps of an enumeration
    if origin is list:
        encode_one = _encoder(arguments[0])
        return lambda values: [encode_one(one) for one in values]
    if origin is dict:
        encode_one = _encoder(arguments[1])
        return lambda values: {str(name): encode_one(one) for name, one in values.items()}
    [wanted] = [one for one in arguments if one is not NoneType]
    return _encoder(wanted)

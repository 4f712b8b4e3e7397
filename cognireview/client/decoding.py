"""Turn JSON into the dataclasses of responses."""

import datetime as dt
import types
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from cognireview.client.errors import UnexpectedResponse

_NUMBERS: dict[Any, Any] = {int: int, float: (int, float)}


def decode(kind: Any, value: Any, place: str = "response") -> Any:
    """Return the value as the type of an annotation: a dataclass, a list, an optional time and so on.

    Unknown members are ignored. Raises `UnexpectedResponse` with the place of a missing or wrong value.
    """
    if kind is Any:
        return value
    if get_origin(kind) is not None:
        return _decode_generic(kind, value, place)
    if is_dataclass(kind):
        return _decode_members(kind, _checked(dict, value, place), place)
    if kind in {dt.datetime, dt.date}:
        return _time(kind, _checked(str, value, place), place)
    return _checked(kind, value, place)


def _decode_generic(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        entries = _checked(list, value, place)
        return [decode(arguments[0], entry, f"{place}[{at}]") for at, entry in enumerate(entries)]
    if origin is dict:
        members = _checked(dict, value, place)
        return {name: decode(arguments[1], member, f"{place}.{name}") for name, member in members.items()}
    if origin is Literal:
        # A newer server may know further values.
        return _checked(str, value, place)
    # Every union of a response is an optional type.
    [wanted] = [one for one in arguments if one is not types.NoneType]
    return None if value is None else decode(wanted, value, place)


def _decode_members(kind: Any, members: dict[str, Any], place: str) -> Any:
    decoded = {}
    for field, wanted, is_optional in _members(kind):
        name = field.removesuffix("_")  # of a word that Python reserves
        if name not in members:
            if is_optional:
                continue
            raise UnexpectedResponse(f"{place}.{name} is missing. Server and client have different versions.")
        decoded[field] = decode(wanted, members[name], f"{place}.{name}")
    return kind(**decoded)


@cache
def _members(kind: Any) -> list[tuple[str, Any, bool]]:
    """Return name and type of each member, and whether it has a default."""
    hints = get_type_hints(kind)
    return [(one.name, hints[one.name], one.default is not MISSING) for one in fields(kind)]


def _time(kind: Any, text: str, place: str) -> Any:
    try:
        return kind.fromisoformat(text)
    except ValueError as error:
        raise UnexpectedResponse(f"{place} is not a time: {text!r}.") from error


def _checked(kind: Any, value: Any, place: str) -> Any:
    is_number = kind in _NUMBERS and isinstance(value, bool)
    if is_number or not isinstance(value, _NUMBERS.get(kind, kind)):
        raise UnexpectedResponse(f"{place} is {type(value).__name__}, and not {kind.__name__}.")
    return value

"""Parse the members of a JSON object that is truncated or not quite valid, in one pass.

Handles truncated texts, missing or extra commas, unescaped quotation marks inside strings, and values
without quotation marks. Each character is examined a bounded number of times, so the work is proportional to
the length of the text.
"""

import json
import re
from typing import Any, NamedTuple

from reviews.records.patterns import STRING_BODY, repeated

_DECODER = json.JSONDecoder(strict=False)
_GAP = re.compile(r"[\s,]*+")
_MEMBER = re.compile(rf'"(?P<key>{STRING_BODY})"\s*+:\s*+', re.DOTALL)
# A quotation mark ends a string if the object continues after it with its end, a comma and its end, or the
# next key. Any other quotation mark is part of the string.
_ENDS_STRING = r'\s*+(?:\Z|[}\]]|,\s*+(?:\Z|[}\]])|,?+\s*+"[^"\\\n]{0,200}+"\s*+:)'
_ENDS_TEXT = r"\s*+(?:\Z|[,}\]])"


def _body(end: str) -> str:
    """Return the pattern of a string's body. `end` follows the quotation mark that ends the string."""
    return repeated(rf'[^"\\]++|\\.|"(?!{end})')


_STRING = re.compile(f'"(?P<body>{_body(_ENDS_STRING)})"?+', re.DOTALL)
# In a list the next element may follow.
_ELEMENT = re.compile(f'"(?P<body>{_body(_ENDS_TEXT)})"?+', re.DOTALL)
_BARE = re.compile(r"[^\s,{}\[\]\"][^,{}\[\]\"\n]*+")
_MARK = re.compile(r'\\.|"', re.DOTALL)


class _Value(NamedTuple):
    """A value, and the position after it."""

    value: Any
    end: int


def members(text: str) -> dict[str, Any]:
    """Parse the members of the object at the start of `text`, as far as possible."""
    found: dict[str, Any] = {}
    at = 1
    while key := _MEMBER.match(text, _end_of_gap(text, at)):
        read = _value(text, key.end())
        if read is None:
            break
        found[_unescaped(key["key"])] = read.value
        at = read.end
    return found


def _end_of_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _value(text: str, at: int) -> _Value | None:
    """Parse a string, a list of strings or a bare word. Returns None for anything else."""
    if text[at : at + 1] == "[":
        return _list(text, at + 1)
    return _single(_STRING, text, at)


def _single(string: re.Pattern[str], text: str, at: int) -> _Value | None:
    if found := string.match(text, at):
        return _Value(_unescaped(found["body"]), found.end())
    if found := _BARE.match(text, at):
        return _Value(literal(found[0].rstrip()), found.end())
    return None


def _list(text: str, at: int) -> _Value:
    elements = []
    at = _end_of_gap(text, at)
    while element := _single(_ELEMENT, text, at):
        elements.append(element.value)
        at = _end_of_gap(text, element.end)
    return _Value(elements, at + (text[at : at + 1] == "]"))


def literal(spelled: str) -> Any:
    """Return the JSON value of a text, or the text itself."""
    try:
        return _DECODER.decode(spelled)
    except (ValueError, RecursionError):
        return spelled


def _unescaped(body: str) -> str:
    """Return the text of a string, whose inner quotation marks may be escaped or not."""
    escaped = _MARK.sub(lambda mark: mark[0] if len(mark[0]) > 1 else '\\"', body)
    try:
        return str(_DECODER.decode(f'"{escaped}"'))
    except ValueError:
        return body


def first_difference(broken: str, repaired: str) -> tuple[int, int]:
    """Return the positions where two spellings of one object differ, ignoring white space."""
    one, other = 0, 0
    while one < len(broken) and other < len(repaired):
        if broken[one].isspace():
            one += 1
        elif repaired[other].isspace():
            other += 1
        elif broken[one] == repaired[other]:
            one, other = one + 1, other + 1
        else:
            break
    return one, other

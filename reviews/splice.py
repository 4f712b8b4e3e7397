"""Replace top-level values in one JSON line and keep every other byte.

A parse and a dump would change key order, number spelling, escapes, spacing and duplicate keys.
So the line is scanned, not parsed: the spans of the top-level values are found, and only the
bytes inside them are exchanged.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_KEY = re.compile(rb'\s*("(?:[^"\\]++|\\.)*+")\s*:\s*')
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]')
_SCALAR = re.compile(rb"[^\s,}\]]+")
_SEPARATOR = re.compile(rb"\s*([,}])")
_OPEN_OBJECT = re.compile(rb"\s*\{")
_EMPTY_OBJECT = re.compile(rb"\s*\{\s*\}")


class Member(NamedTuple):
    """A top-level key of a line (decoded) and the spans, in bytes, of its key and of its value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


class NotAnObject(ValueError):
    """The line is not a JSON object."""


def members(line: bytes) -> Iterator[Member]:
    """Yield the top-level members of a line in their order, duplicates too.

    The line must be valid JSON: a parser has seen it before. Raises `NotAnObject` for a valid
    line that is something else than an object, and for a line that breaks off.
    """
    opening = _OPEN_OBJECT.match(line)
    if not opening:
        raise NotAnObject
    if _EMPTY_OBJECT.match(line):
        return
    position = opening.end()
    while True:
        key = _KEY.match(line, position)
        if not key:
            raise NotAnObject
        end = _value_end(line, key.end())
        yield Member(json.loads(key[1]), key.start(1), key.end(1), key.end(), end)
        separator = _SEPARATOR.match(line, end)
        if not separator:
            raise NotAnObject
        if separator[1] == b"}":
            return
        position = separator.end()


def _value_end(line: bytes, start: int) -> int:
    first = line[start : start + 1]
    if first in {b"{", b"["}:
        depth = 0
        for token in _STRING_OR_BRACKET.finditer(line, start):
            text = token[0]
            if text in {b"{", b"["}:
                depth += 1
            elif text in {b"}", b"]"}:
                depth -= 1
                if not depth:
                    return token.end()
        raise NotAnObject
    value = (_STRING if first == b'"' else _SCALAR).match(line, start)
    if not value:
        raise NotAnObject
    return value.end()


def splice(line: bytes, values: Mapping[str, Any]) -> bytes:
    """Return the line with `values` (key -> JSON value) in the place of its own.

    A key that stands more than once is replaced each time, so that every reader sees the same;
    a key that is missing is appended before the closing brace in the line's own spacing. A value
    that says the same already keeps its bytes. An all-ASCII line stays all-ASCII.
    """
    found = list(members(line))
    style = _Style.of(line, found)
    parts: list[bytes] = []
    position = 0
    for member in found:
        if member.key in values and not _same(line[member.start : member.end], values[member.key]):
            parts += [line[position : member.start], style.dump(values[member.key])]
            position = member.end
    last = found[-1].end if found else line.index(b"{") + 1
    parts.append(line[position:last])
    present = {member.key for member in found}
    for key, value in values.items():
        if key not in present:
            parts += [style.between_members if found else b"", style.dump(key), style.after_key]
            parts.append(style.dump(value))
            found = found or [Member(key, 0, 0, 0, 0)]
    return b"".join([*parts, line[last:]])


def _same(text: bytes, value: Any) -> bool:
    try:
        old = json.loads(text)
    except ValueError:  # an integer of more digits than Python reads, which no value of ours is
        return False
    return bool(old == value) and json.dumps(old, sort_keys=True) == json.dumps(value, sort_keys=True)


class _Style(NamedTuple):
    """How a line is spelled: what stands between members, after a key, and whether it is all ASCII."""

    between_members: bytes
    after_key: bytes
    ascii_only: bool

    @classmethod
    def of(cls, line: bytes, found: list[Member]) -> "_Style":
        between, after = b", ", b": "
        if found:
            after = line[found[0].key_end : found[0].start]
        if len(found) > 1:
            between = line[found[0].end : found[1].key_start]
        return cls(between, after, line.isascii())

    def dump(self, value: Any) -> bytes:
        item = ", " if self.between_members[-1:].isspace() else ","
        key = ": " if self.after_key[-1:].isspace() else ":"
        text = json.dumps(value, ensure_ascii=self.ascii_only, separators=(item, key))
        return text.encode()

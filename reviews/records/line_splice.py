"""Replace top-level values in one JSON line and keep every other byte.

Parsing and dumping would change key order, number spelling, escapes, spacing and duplicate keys. The line is
scanned instead: only the bytes of the replaced top-level values change.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from os.path import commonprefix
from typing import Any, NamedTuple

from reviews.records.patterns import STRING, repeated

_KEY = re.compile(rf"\s*({STRING})\s*:\s*".encode())
_STRING = re.compile(STRING.encode())
_STRING_OR_BRACKET = re.compile(rf"{STRING}|[{{}}\[\]]".encode())
_SCALAR = re.compile(rb"[^\s,}\]]+")
_SEPARATOR = re.compile(rb"\s*([,}])")
_OPEN_OBJECT = re.compile(rb"\s*\{")
_EMPTY_OBJECT = re.compile(rb"\s*\{\s*\}")
_NOTHING = re.compile(rb"(?!)")
_LAST_BRACE = re.compile(rb"\s*\}\s*")
_LETTERS = re.compile(r"[a-z_]+")
# The beginnings of the escapes of "_" and lower-case letters.
_ESCAPED_LETTERS = (b"\\u005", b"\\u006", b"\\u007")


class Member(NamedTuple):
    """A top-level key of a line (decoded), with the byte spans of its key and of its value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


class NotAnObject(ValueError):
    """The line is not a JSON object."""


def members(line: bytes) -> Iterator[Member]:
    """Yield the top-level members of a line in their order, including duplicates.

    The line must be valid JSON. Raises `NotAnObject` for any other value than an object, and for a truncated
    line.
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
        name = json.loads(key[1]) if b"\\" in key[1] else key[1][1:-1].decode()
        yield Member(name, key.start(1), key.end(1), key.end(), end)
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


def _members_at_end(line: bytes, keys: tuple[str, ...]) -> list[Member] | None:
    """Return the members of these keys if they occur once each, in this order, with only scalars after them.

    The human_* keys of most lines do, so that the thousands of bytes before them need no scan. In a valid
    line the first key found this way is a top-level one:

    - Its quote opens a string: a closing quote is not followed by a name, and an escaped one has a
      backslash before it.
    - Only members without brackets follow, then the brace that ends the line. So exactly one object is
      open at the key: the line itself.
    """
    ending = _Ending.for_keys(keys)
    start = line.find(ending.opening)
    if start < 1 or line[start - 1 : start] == b"\\":
        return None
    found = ending.pattern.fullmatch(line, start)
    if not found or line.find(ending.opening, found.end(2 * len(keys))) >= 0:
        return None
    if b"\\u00" in line and any(escape in line for escape in _ESCAPED_LETTERS):
        return None  # a key may be spelled with escapes
    spans = found.regs[1 : 2 * len(keys) + 1]
    return [
        Member(key, *of_key, *of_value)
        for key, of_key, of_value in zip(keys, spans[::2], spans[1::2], strict=True)
    ]


class _Ending(NamedTuple):
    """The pattern of a line whose last keys are these, in this order."""

    #: The common prefix of the keys.
    opening: bytes
    #: Has a group for each key and each value.
    pattern: re.Pattern[bytes]

    @classmethod
    @cache
    def for_keys(cls, keys: tuple[str, ...]) -> "_Ending":
        """Return the ending for these keys.

        The pattern never matches if a key has characters besides lower-case letters and underscores.
        """
        quoted = [b'"%b"' % key.encode() for key in keys]
        if not keys or not all(map(_LETTERS.fullmatch, keys)):
            return cls(b'"', _NOTHING)
        value = rf'({STRING}|[^\s,"{{}}\[\]]++)'.encode()
        members = rb"\s*,\s*".join(rb"(%b)\s*:\s*%b" % (key, value) for key in quoted)
        others = repeated(rf"\s*,\s*{STRING}\s*:\s*{value.decode()}").encode()
        opening = commonprefix([f'"{key}' for key in keys])  # noqa: RUF071 (names, not paths)
        return cls(opening.encode(), re.compile(members + others + _LAST_BRACE.pattern))


def splice(line: bytes, values: Mapping[str, Any], changed: list[str] | None = None) -> bytes:
    """Return the line with `values` (key -> JSON value) in place of its own.

    A duplicate key is replaced each time, so that every reader sees the same value. A missing key is
    appended before the closing brace in the spacing of the line. An equal value keeps its bytes. An
    all-ASCII line stays all-ASCII. The keys of changed values are added to `changed`, in the order of the
    line.
    """
    changed = [] if changed is None else changed
    found = _members_at_end(line, tuple(values)) or list(members(line))
    style = _Style.detect(line, found)
    parts: list[bytes] = []
    position = 0
    for key, _, _, start, end in found:
        if key in values:
            before, value = line[start:end], values[key]
            after = style.dump(value)
            if before != after and not _same(before, value):
                parts += (line[position:start], after)
                position = end
                changed.append(key)
    last = found[-1].end if found else line.index(b"{") + 1
    parts.append(line[position:last])
    present = {member.key for member in found}
    for key, value in values.items():
        if key not in present:
            parts += [style.between_members if found else b"", style.dump(key), style.after_key]
            parts.append(style.dump(value))
            changed.append(key)
            found = found or [Member(key, 0, 0, 0, 0)]
    return b"".join([*parts, line[last:]])


def _same(text: bytes, value: Any) -> bool:
    if text == b"null":
        return value is None
    if isinstance(value, str) and b"\\" not in text:
        return text == b'"%b"' % value.encode()
    try:
        old = json.loads(text)
    except ValueError:  # an integer with more digits than Python parses, which none of our values is
        return False
    return bool(old == value) and json.dumps(old, sort_keys=True) == json.dumps(value, sort_keys=True)


class _Style(NamedTuple):
    """The spelling of a line: the bytes between its last members and after a key, and a JSON encoder."""

    between_members: bytes
    after_key: bytes
    encoder: json.JSONEncoder

    @classmethod
    def detect(cls, line: bytes, found: list[Member]) -> "_Style":
        between, after = b", ", b": "
        if found:
            after = line[found[-1].key_end : found[-1].start]
        if len(found) > 1:
            between = line[found[-2].end : found[-1].key_start]
        item = ", " if between[-1:].isspace() else ","
        key = ": " if after[-1:].isspace() else ":"
        return cls(between, after, _encoder(item, key, ascii_only=line.isascii()))

    def dump(self, value: Any) -> bytes:
        return b"null" if value is None else self.encoder.encode(value).encode()


@cache
def _encoder(item: str, key: str, *, ascii_only: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ascii_only, separators=(item, key))

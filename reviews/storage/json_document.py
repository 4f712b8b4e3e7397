"""Cut the members of a list out of a JSON document as lines, and join lines to the document again.

A member keeps its bytes, except for line breaks, which are between its tokens: CR and a space replace LF, CR
and a tab replace CR. A line feed replaces the comma between two members. So each line is JSON with the values
of its member, and `Rejoiner` restores every byte. JSON does not allow line breaks inside strings: if a file
has them, the line is rejected.
"""

import json
import re
from typing import NamedTuple

from reviews.records.patterns import STRING, STRING_BODY, repeated
from reviews.storage.chunks import BOM

# Text without structure: characters outside strings, and whole strings. A string that does not end in this
# block is not tried twice.
_TEXT = repeated(rf'[^"\[\]{{}}]++|{STRING}')
# The same inside of brackets, with whole objects and lists that contain no others.
_INSIDE = re.compile(repeated(rf'[^"\[\]{{}}]++|{STRING}|\{{{_TEXT}\}}|\[{_TEXT}\]').encode(), re.DOTALL)
_AT_TOP = re.compile(repeated(rf'[^"\[\]{{}},]++|{STRING}').encode(), re.DOTALL)
_IN_STRING = re.compile(STRING_BODY.encode(), re.DOTALL)
_TOKEN = re.compile(rf'[ \t\r\n]*+(?:({STRING})|([{{}}\[\]:,])|[^\s{{}}\[\]:,"]++)'.encode(), re.DOTALL)
_SPACES = b" \t\r\n"
# A longer space before a comma or bracket belongs to the member before it.
_LONGEST_SPACE = 64 * 1024


class Surroundings(NamedTuple):
    """The text of a document around its list of records."""

    #: The text up to the first record.
    head: bytes
    #: The text from the end of the last record on.
    tail: bytes


class NoList(Exception):
    """A JSON value has no list at a path."""

    def __init__(self, end: int) -> None:
        super().__init__(f"The value ends at {end} without the list.")
        #: The offset after the value.
        self.end = end


def list_start(text: bytes, path: tuple[str, ...]) -> int | None:
    """Return the offset after the opening bracket of the first list at these keys of an object.

    Return None if the text ends before it. Raises `NoList` if the object ends, and for any other value.
    """
    depth, level, at = 0, 0, len(BOM) if text.startswith(BOM) else 0
    string, is_next = b"", False
    while token := _TOKEN.match(text, at):
        at, mark = token.end(), token[2]
        # `level` keys of the path lead to the object that is open at depth `level + 1`.
        is_at_key, is_next = is_next, False
        if mark == b":":
            is_next = depth == level + 1 and _is_key(string, path[level])
        elif mark == b"[" and is_at_key and level + 1 == len(path):
            return at
        elif mark in (b"{", b"["):
            level += is_at_key and mark == b"{" and level + 1 < len(path)
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            level = min(level, max(depth - 1, 0))
        if depth <= 0 or (depth == 1 and mark == b"["):
            raise NoList(at)
        string = token[1] or b""
    return None


def _is_key(string: bytes, key: str) -> bool:
    try:
        return bool(json.loads(string) == key)
    except ValueError:
        return False


class MemberCutter:
    """Cut the text after a list's opening bracket into lines, block by block.

    Memory stays within a block, even for a longer member.
    """

    def __init__(self) -> None:
        #: The number of the current member, from 1.
        self.member = 1
        self.has_ended = False
        #: The space before the first member, and after the last one if the list has ended.
        self.space_before = b""
        self.space_after = b""
        #: The text after the list in the block in which it ended, from its closing bracket on.
        self.rest = b""
        self._depth = 0
        self._in_string = False
        self._has_begun = False
        self._backslash = b""  # at the end of a block: its character is in the next
        self._out: list[bytes] = []

    def take(self, block: bytes) -> bytes:
        """Return the lines of the next block."""
        data, self._backslash = self._backslash + block, b""
        at = begin = 0
        while at < len(data) and not self.has_ended:
            if self._in_string:
                at = self._end_string(data, at)
            elif self._depth:
                at = self._take_inside(data, at)
            else:
                self._put(data[begin:at])
                begin, at = self._take_top(data, at)
        if not self.has_ended:
            self._put(data[begin : len(data) - len(self._backslash)])
        lines, self._out = b"".join(self._out), []
        return lines

    def _put(self, text: bytes) -> None:
        """Write a part of a member, after the space before it."""
        if text:
            self._out += (encoded(self.space_after), encoded(text))
            self._has_begun, self.space_after = True, b""

    def _end_string(self, data: bytes, at: int) -> int:
        """Return the offset after a string, or the end of the block if it goes on."""
        end = _end(_IN_STRING, data, at)
        if data[end : end + 1] == b"\\" and end + 1 == len(data):
            self._backslash = b"\\"
        else:
            self._in_string = end == len(data)
        return end + 1

    def _take_inside(self, data: bytes, at: int) -> int:
        """Take a part of a member up to and including the next bracket or begun string."""
        end = _end(_INSIDE, data, at)
        if end < len(data):
            self._enter(data[end : end + 1])
        return end + 1

    def _enter(self, mark: bytes) -> None:
        self._in_string = mark == b'"'
        self._depth += (mark in b"[{") - (mark in b"]}" and self._depth > 0)

    def _take_top(self, data: bytes, at: int) -> tuple[int, int]:
        """Take text outside brackets and the structural byte after it.

        Return the offset of the text that is not written yet, and the offset after the byte.
        """
        end = _end(_AT_TOP, data, at)
        self._put_top(data[at:end])
        mark = data[end : end + 1]
        if mark == b"]":
            self.has_ended, self.rest = True, data[end:]
        elif mark == b",":
            self._out += (encoded(self.space_after), b"\n")
            self._has_begun, self.space_after = True, b""
            self.member += 1
            return end + 1, end + 1
        elif mark:
            self._enter(mark)
        return end, end + 1

    def _put_top(self, text: bytes) -> None:
        """Write text outside brackets. The space at both ends of the list is not part of its members."""
        if not self._has_begun:
            bare = text.lstrip(_SPACES)
            self.space_before += text[: len(text) - len(bare)]
            text = bare
        bare = text.rstrip(_SPACES)
        self._put(bare)
        self.space_after += text[len(bare) :]
        if len(self.space_after) > _LONGEST_SPACE:
            self._out.append(encoded(self.space_after))
            self.space_after = b""


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Return the end of the match of a pattern that always matches."""
    found = pattern.match(data, at)
    return found.end() if found else at


def encoded(text: bytes) -> bytes:
    """Replace the line breaks of a member."""
    return text.replace(b"\r", b"\r\t").replace(b"\n", b"\r ")


class Rejoiner:
    """Restore the text of a list from its lines, block by block.

    With `only_some`, lines were left out: the space before the first line and the separator after the last
    one go, too.
    """

    def __init__(self, *, only_some: bool = False) -> None:
        self._only_some = self._is_first = only_some
        self._kept_back = b""

    def take(self, block: bytes) -> bytes:
        """Return the text of the next block of lines."""
        data, self._kept_back = self._kept_back + block, b""
        if self._is_first:
            data = data.lstrip(_SPACES)
            self._is_first = not data
        if data.endswith(b"\r") or (self._only_some and data.endswith(b"\n")):
            data, self._kept_back = data[:-1], data[-1:]
        return data.replace(b"\n", b",").replace(b"\r ", b"\n").replace(b"\r\t", b"\r")


def on_one_line(lines: bytes) -> bytes:
    """Return lines of members as JSONL: without line breaks between tokens, and the indentation after them.

    A line break after a comma becomes a space.
    """
    bare = b"\n".join(line.strip(b" \t\r") for line in lines.split(b"\n"))
    first, *parts = bare.split(b"\r")
    out = [first.rstrip(b" \t")] if parts else [first]
    for part in parts:
        if text := part.strip(b" \t"):
            out += [b" " if out[-1].endswith(b",") else b"", text]
    return b"".join(out)

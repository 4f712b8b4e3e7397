"""Cut the elements of a JSON array out of its text as lines, without parsing and re-encoding them.

An element keeps its bytes, except for line breaks between its tokens and the indentation after them: they
become one space after a comma, and are removed elsewhere. JSON does not allow line breaks inside strings; if
a file has them, they become CR, so the line is rejected.
"""

import re
from collections.abc import Iterable, Iterator

from reviews.records.patterns import repeated

# Text without structure: characters outside strings, and whole strings. Possessive, so a string that does not
# end in this block is not tried twice.
_STRING_BODY = repeated(r'[^"\\\r\n]++|\\[^\r\n]')
_INSIDE = re.compile(repeated(rf'[^"\[\]{{}}\r\n]++|"{_STRING_BODY}"').encode())
_AT_TOP = re.compile(repeated(rf'[^"\[\]{{}}\r\n,]++|"{_STRING_BODY}"').encode())
_IN_STRING = re.compile(_STRING_BODY.encode())
_SPACE = re.compile(rb"[ \t\r\n]*+")


class ArrayError(Exception):
    """The text is not a complete array. The message is a sentence."""


def array_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the elements of an array, each followed by an LF, in blocks of about the size of the input's.

    The input begins after the array's opening bracket. Memory stays within a block, even for a longer
    element. Raises `ArrayError` if the array is cut off, or is not the end of the file.
    """
    cutter = _Cutter()
    for block in blocks:
        yield cutter.take(block)
    if not cutter.has_ended:
        raise ArrayError(f"The file is cut off: its JSON array breaks off in element {cutter.element:,}.")


class _Cutter:
    """The position in the array after the text so far."""

    def __init__(self) -> None:
        self.element = 1
        self.has_ended = False
        self._depth = 0
        self._in_string = False
        self._skips_space = True
        self._last = b""  # the last byte of the current element so far
        self._held = b""  # a backslash at the end of a block: its character is in the next
        self._out: list[bytes] = []

    def take(self, block: bytes) -> bytes:
        data, self._held, at = self._held + block, b"", 0
        while at < len(data):
            if self.has_ended:
                self._expect_nothing(data, at)
                break
            at = self._take_string(data, at) if self._in_string else self._take_tokens(data, at)
        lines, self._out = b"".join(self._out), []
        return lines

    def _put(self, text: bytes) -> None:
        if text:
            self._out.append(text)
            self._last = text[-1:]

    def _take_tokens(self, data: bytes, at: int) -> int:
        """Take text outside strings up to and including the next structural byte."""
        if self._skips_space:
            at = _end(_SPACE, data, at)
            if at == len(data):
                return at
            self._skips_space = False
            if self._last == b",":
                self._put(b" ")
        end = _end(_INSIDE if self._depth else _AT_TOP, data, at)
        self._put(data[at:end])
        if end < len(data):
            self._take_byte(data[end : end + 1])
        return end + 1

    def _take_byte(self, byte: bytes) -> None:
        if byte in b"\r\n":
            self._skips_space = True
        elif byte == b"," and not self._depth:
            self._end_element()
            self.element += 1
        elif byte == b"]" and not self._depth:
            if self._last:
                self._end_element()
            self.has_ended = True
        else:
            self._put(byte)
            self._in_string = byte == b'"'
            self._depth += (byte in b"[{") - (byte in b"]}" and self._depth > 0)

    def _end_element(self) -> None:
        self._out.append(b"\n")
        self._last, self._skips_space = b"", True

    def _take_string(self, data: bytes, at: int) -> int:
        end = _end(_IN_STRING, data, at)
        self._put(data[at:end])
        byte = data[end : end + 1]
        if byte == b"\\" and end + 1 == len(data):
            self._held = byte
        elif byte:
            self._put(b"\r" if byte == b"\n" else byte)
            self._in_string = byte != b'"'
        return end + 1

    def _expect_nothing(self, data: bytes, at: int) -> None:
        if _end(_SPACE, data, at) < len(data):
            raise ArrayError(
                f"The file is a JSON array of {self.element:,} elements with text after it. "
                "Make it one array, or one record per line."
            )


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Return the end of the match of a pattern that always matches."""
    found = pattern.match(data, at)
    return found.end() if found else at

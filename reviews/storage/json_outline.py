"""Find the lists of objects in the beginning of a JSON document, without parsing the document."""

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from reviews.records.patterns import STRING
from reviews.records.wording import abbreviate

_TOKEN = re.compile(
    rf'[ \t\r\n]*+(?:(?P<string>{STRING})|(?P<mark>[{{}}\[\]:,])|(?P<word>[^\s{{}}\[\]:,"]++))'.encode()
)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DEEPEST = 200
_MOST_KEYS = 1_000


class ObjectList(NamedTuple):
    """A list of objects in a document."""

    #: The keys that lead to the list, joined by dots.
    path: str
    #: The number of its objects.
    objects: int
    #: Whether the list ends in the part of the document that was read.
    is_complete: bool


class JsonOutline(NamedTuple):
    """The structure of a JSON object that begins a text."""

    #: The first keys of the object.
    keys: list[str]
    #: The lists of objects that are not in another list.
    lists: list[ObjectList]
    #: The offset after the object, or None if the object does not end in the text.
    end: int | None


@dataclass(slots=True)
class _Container:
    """An object or a list that has not ended."""

    is_list: bool
    #: The keys that lead here, or None within a list.
    path: tuple[str, ...] | None
    #: The current key of an object.
    key: str = ""
    objects: int = 0
    has_others: bool = False


class _NotJson(Exception):
    """The text is not JSON."""


def outline(text: bytes) -> JsonOutline | None:
    """Outline the JSON object at the beginning of a text. Return None if the text does not begin with one.

    The text may be cut off. Brackets and keys are checked, and other values are skipped.
    """
    reader = _Reader()
    at = _skip_space(text, 0)
    if text[at : at + 1] != b"{":
        return None
    try:
        while token := _TOKEN.match(text, at):
            at = token.end()
            if reader.take(token):
                return JsonOutline(reader.keys, reader.lists, at)
    except _NotJson:
        return None
    rest = text[_skip_space(text, at) :]
    is_cut = not rest or (rest[:1] == b'"' and b"\n" not in rest)
    return JsonOutline(reader.keys, reader.unfinished(), None) if is_cut else None


def _skip_space(text: bytes, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


@dataclass(slots=True)
class _Reader:
    """The position in a document after the tokens so far."""

    keys: list[str] = field(default_factory=list)
    lists: list[ObjectList] = field(default_factory=list)
    _open: list[_Container] = field(default_factory=list)
    _last: bytes = b""

    def take(self, token: re.Match[bytes]) -> bool:
        """Take the next token. Return whether the document ends with it."""
        text = token.group(token.lastgroup or 0)
        if text in (b"{", b"["):
            self._begin(is_list=text == b"[")
        elif text in (b"}", b"]"):
            self._finish(is_list=text == b"]")
        elif text == b":":
            self._name()
        elif text != b",":
            self._value()
        self._last = text
        return not self._open

    def _begin(self, *, is_list: bool) -> None:
        self._value(is_object=not is_list)
        parent = self._open[-1] if self._open else None
        path: tuple[str, ...] | None = ()
        if parent:
            path = None if parent.is_list or parent.path is None else (*parent.path, parent.key)
        if len(self._open) >= _DEEPEST:
            raise _NotJson
        self._open.append(_Container(is_list, path))

    def _value(self, *, is_object: bool = False) -> None:
        """Check that a value or a key may follow the last token, and count the elements of a list."""
        if not self._open:
            return
        parent = self._open[-1]
        if self._last not in (b":", b",", b"[", b"{") or (is_object and self._last == b"{"):
            raise _NotJson
        if parent.is_list:
            parent.objects += is_object
            parent.has_others |= not is_object

    def _name(self) -> None:
        parent = self._open[-1]
        if parent.is_list or self._last[:1] != b'"':
            raise _NotJson
        try:
            parent.key = json.loads(self._last)
        except ValueError:
            raise _NotJson from None
        if len(self._open) == 1 and len(self.keys) < _MOST_KEYS:
            self.keys.append(parent.key)

    def _finish(self, *, is_list: bool) -> None:
        ended = self._open.pop()
        if ended.is_list != is_list:
            raise _NotJson
        self._note(ended, is_complete=True)

    def _note(self, container: _Container, *, is_complete: bool) -> None:
        if container.is_list and container.path and container.objects and not container.has_others:
            self.lists.append(ObjectList(path_text(container.path), container.objects, is_complete))

    def unfinished(self) -> list[ObjectList]:
        """Return the lists of a document that was cut off."""
        for container in self._open:
            self._note(container, is_complete=False)
        return self.lists


def path_text(keys: tuple[str, ...]) -> str:
    """Return keys as a JMESPath expression."""
    return ".".join(map(key_text, keys))


def key_text(key: str) -> str:
    """Return a key as in a JMESPath expression. A long one is shortened."""
    shortened = abbreviate(key)
    return shortened if _IDENTIFIER.fullmatch(shortened) else json.dumps(shortened, ensure_ascii=False)

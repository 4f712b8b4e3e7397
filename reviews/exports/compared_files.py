"""Read files for the verification of an export, as an import reads them. Uses no database."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from reviews.records.mapping import FieldMapping
from reviews.records.schema import NO_LIMITS
from reviews.storage.chunks import read_blocks
from reviews.storage.errors import ImportRefused
from reviews.storage.json_document import Surroundings, on_one_line
from reviews.storage.source_text import SourceText, read_archive_document, read_document

_SPACES = b" \t\r"


class ComparedFile:
    """A file whose lines are compared, and which was imported with the mapping, if any.

    Reading raises `ImportRefused` and `OSError`.
    """

    def __init__(self, path: Path, mapping: FieldMapping | None = None) -> None:
        self.path, self._mapping = path, mapping
        #: Whether the members of a document are read as in an export that consists of lines.
        self.as_jsonl = False
        #: The text around the list of a document, and a hash of all space between its members, once all lines
        #: were read.
        self.surroundings: Surroundings | None = None
        self.layout = ""

    @property
    def is_document(self) -> bool:
        with self.path.open("rb") as file, closing(self._text(read_blocks(file))) as text:
            return text.path is not None

    def document(self) -> object:
        """Return the document without its list of records, or None for a file of lines."""
        with self.path.open("rb") as file:
            text = self._text(read_blocks(file))
            for _ in self._read(text):
                pass
        if text.is_archive and self._mapping and self._mapping.archive:
            return read_archive_document(text.surroundings, self._mapping.archive.document, NO_LIMITS)
        return read_document(text.surroundings, text.path, NO_LIMITS) if text.path else None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines with their line ends. The members of a document have no space around them."""
        with self.path.open("rb") as file:
            text = self._text(read_blocks(file))
            lines = _lines(self._read(text))
            if text.path is None:
                yield from lines
            else:
                yield from self._members(text, lines)

    def _members(self, text: SourceText, lines: Iterable[bytes]) -> Iterator[bytes]:
        layout = hashlib.sha256()
        for line in lines:
            member = line.removesuffix(b"\n")
            bare = member.strip(_SPACES)
            before, after = member.split(bare, 1) if bare else (member, b"")
            layout.update(b"%d %b %d %b" % (len(before), before, len(after), after))
            yield (on_one_line(bare) if self.as_jsonl else bare) + b"\n"
        self.surroundings, self.layout = text.surroundings, layout.hexdigest()

    def _text(self, blocks: Iterable[bytes]) -> SourceText:
        try:
            mapping = self._mapping
            return SourceText(
                blocks,
                most=sys.maxsize,
                records=mapping.record_path if mapping else (),
                archives=(mapping.archive.records,) if mapping and mapping.archive else (),
                limits=NO_LIMITS,
            )
        except ImportRefused as reason:
            raise self._refused(reason) from reason

    def _read(self, text: SourceText) -> Iterator[bytes]:
        try:
            yield from text
        except ImportRefused as reason:
            raise self._refused(reason) from reason

    def _refused(self, reason: ImportRefused) -> ImportRefused:
        return ImportRefused(f"{self.path}: {reason}")


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their line ends."""
    begun: list[bytes] = []
    for block in blocks:
        *ended, rest = block.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line, b"\n"])
            begun = []
        begun.append(rest)
    if any(begun):
        yield b"".join(begun)

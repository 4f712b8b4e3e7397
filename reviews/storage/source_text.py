"""Read a file as lines, whatever its format: JSONL, or a JSON document with a list of records.

The text of a document around its list is returned with the lines, so that an export can restore the document.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import Any
from uuid import uuid4

from reviews.records.patterns import STRING
from reviews.records.schema import NO_LIMITS, Limits, LineError, read_object
from reviews.storage import json_outline
from reviews.storage.chunks import BOM
from reviews.storage.decompression import decompress, gathered, peek
from reviews.storage.errors import ImportRefused
from reviews.storage.file_formats import describe_lists, office_format
from reviews.storage.json_document import MemberCutter, NoList, Surroundings, list_start
from reviews.storage.json_outline import path_text
from reviews.storage.zip_archive import SIGNATURE, ZipArchive, read_file

_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[(?=[ \t\r\n]*+[{\]])")
_CONSTANTS = re.compile(rf"{STRING}|-?\b(?:NaN|Infinity)\b".encode(), re.DOTALL)
# The files of an archive besides its records, in multiples of the longest line.
_OTHER_FILES = 8
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\{")

#: The keys that lead to the list of records, or empty for a document that is the list itself.
Path = tuple[str, ...]


class SourceText:
    """Iterate over the lines of a file in blocks of about 1 MiB. A member of a list becomes a line.

    `raw` are the blocks of the file, which may be compressed and decompress to `most` bytes. `records` leads
    to the list of records in a document; without it, documents are lines. A JSON array is a list of records
    in any case. The files of a ZIP archive whose names match one of the patterns `archives` are records, too.
    The text around the list may have `limits.line_bytes` bytes, and memory stays within this text and a few
    blocks. Iteration and the constructor raise `ImportRefused`.
    """

    def __init__(
        self,
        raw: Iterable[bytes],
        *,
        most: int,
        records: Path = (),
        archives: tuple[str, ...] = (),
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._limits = limits
        self._patterns = archives
        #: The opened archive, if the file is one, and the pattern of the files that are lines.
        self.archive: ZipArchive | None = None
        self.pattern = ""
        #: The keys that lead to the list of the document, or None for a file of lines.
        self.path: Path | None = None
        self._head = b""
        try:
            self._blocks = self._decompressed(raw, most)
            start = self._find_records(next(self._blocks, b""), records)
        except BaseException:
            self.close()
            raise
        self._blocks = chain([start], self._blocks)
        #: The text around the list, and the SHA-256 of the decompressed document, once all lines were read.
        self.surroundings = Surroundings(self._head, b"")
        self.document_sha256 = ""

    def _decompressed(self, raw: Iterable[bytes], most: int) -> Iterator[bytes]:
        start, blocks = peek(gathered(raw))
        if not start.startswith(SIGNATURE) or office_format(start):
            return decompress(blocks, most=most)
        archive = self.archive = ZipArchive(blocks, most=most)
        self.pattern = next(filter(archive.matching, self._patterns), "")
        if self.pattern:
            return gathered(archive.lines(archive.matching(self.pattern)))
        return gathered(archive.single_file(self._patterns))

    def close(self) -> None:
        """Close the temporary file of an archive. Complete iteration closes it, too."""
        if self.archive:
            self.archive.close()

    @property
    def is_archive(self) -> bool:
        """Whether the lines are files of an archive."""
        return bool(self.pattern)

    def _find_records(self, start: bytes, records: Path) -> bytes:
        """Set the path of the records in the file. Return the text from the first record on."""
        if self.is_archive:
            self.path = ()
        elif array := _ARRAY.match(start):
            self.path, self._head = (), start[: array.end()]
            return start[array.end() :]
        elif records and _OBJECT.match(start):
            return self._find_list(start, records)
        return start

    def _find_list(self, start: bytes, records: Path) -> bytes:
        """Read up to the list, if the file has it. Return the text after its opening bracket, or all."""
        size = 0
        while len(start) > size and size <= self._limits.line_bytes:
            size = len(start)
            try:
                end = list_start(start, records)
            except NoList as missing:
                self._refuse_other_document(start, missing.end, records)
                return start
            if end is not None:
                self.path, self._head = records, start[:end]
                return start[end:]
            # Each attempt begins at the start, with at least twice the text.
            start = b"".join(chain([start], _first_blocks(self._blocks, size)))
        return start

    def _refuse_other_document(self, start: bytes, end: int, records: Path) -> None:
        """Refuse a document without the list. A file of lines may have the records themselves."""
        found = json_outline.outline(start)
        is_document = b"\n" in start[:end].strip() or (found is not None and records[0] in found.keys)
        if is_document and not start[end:].strip() and not self._has_more():
            lists = describe_lists(found.lists) if found else ""
            has = f" It has {lists}." if lists else ""
            raise ImportRefused(f"The file is a JSON document without a list at `{path_text(records)}`.{has}")

    def _has_more(self) -> bool:
        block = next(self._blocks, b"")
        self._blocks = chain([block], self._blocks)
        return bool(block.strip())

    def __iter__(self) -> Iterator[bytes]:
        with closing(self):
            if self.is_archive:
                yield from self._blocks
                self.surroundings = Surroundings(self._skeleton(), b"")
            elif self.path is None:
                yield from self._blocks
            else:
                yield from gathered(self._members(self.path))

    def _skeleton(self) -> bytes:
        assert self.archive
        skeleton = self.archive.skeleton(self.pattern, most=_OTHER_FILES * self._limits.line_bytes)
        if len(skeleton) > self._limits.line_bytes:
            raise ImportRefused(
                f"The ZIP archive has more than {self._limits.line_bytes:,} bytes besides its records "
                "(COGNIREVIEW_MAX_LINE_BYTES)."
            )
        return skeleton

    def _members(self, path: Path) -> Iterator[bytes]:
        cutter, tail, size = MemberCutter(), [], 0
        digest = hashlib.sha256(self._head)
        for block in self._blocks:
            digest.update(block)
            if cutter.has_ended:
                tail.append(block)
            else:
                yield cutter.take(block)
                tail.append(cutter.rest)
            size += len(tail[-1])
            if size + len(self._head) + len(cutter.space_before) > self._limits.line_bytes:
                raise ImportRefused(
                    f"The file has more than {self._limits.line_bytes:,} bytes outside its list of records "
                    "(COGNIREVIEW_MAX_LINE_BYTES)."
                )
        if not cutter.has_ended:
            kind = f"the list at `{path_text(path)}`" if path else "its JSON array"
            raise ImportRefused(f"The file is cut off: {kind} breaks off in element {cutter.member:,}.")
        after = b"".join(tail)
        if not path and after[1:].strip():
            raise ImportRefused(
                f"The file is a JSON array of {cutter.member:,} elements with text after it. "
                "Make it one array, or one record per line."
            )
        self.surroundings = Surroundings(self._head + cutter.space_before, cutter.space_after + after)
        self.document_sha256 = digest.hexdigest()
        read_document(self.surroundings, path, self._limits)


def _first_blocks(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield blocks with at least `size` bytes, if there are so many."""
    while size > 0 and (block := next(blocks, b"")):
        size -= len(block)
        yield block


def read_document(around: Surroundings, path: Path, limits: Limits) -> Any:
    """Parse a document without its list of records. Return None for an array. Raises `ImportRefused`."""
    if not path:
        return None
    place = uuid4().hex
    text = b'%b"%b"%b' % (around.head, place.encode(), around.tail)
    document = parse_outside(text, limits, f"The JSON document around its list at `{path_text(path)}`")
    parent: Any = document
    for key in path[:-1]:
        parent = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or parent.get(path[-1]) != [place]:
        raise ImportRefused(f"The JSON document has more than one value at `{path_text(path)}`.")
    del parent[path[-1]]
    return document


def read_archive_document(around: Surroundings, name: str, limits: Limits) -> Any:
    """Parse a file of an archive besides its records. Return None if it has none of that name.

    Raises `ImportRefused`.
    """
    content = read_file(around.head, name) if name else None
    return (
        None if content is None else parse_outside(content, limits, f"The file {name!r} of the ZIP archive")
    )


def parse_outside(text: bytes, limits: Limits, subject: str) -> dict[str, Any]:
    """Parse the JSON object of a text outside the records, in which NaN and Infinity are null."""
    text = _CONSTANTS.sub(lambda found: found[0] if found[0].startswith(b'"') else b"null", text)
    try:
        return read_object(text.removeprefix(BOM), limits)
    except LineError as error:
        raise ImportRefused(f"{subject} {error.reason}.") from error

"""Refuse files without records, before their rejected lines fill memory and tables.

A kilobyte of gzip decompresses to hundreds of thousands of invalid lines. A file with some invalid lines
among its records is imported completely, and each invalid line is accounted for.
"""

from collections.abc import Iterable, Iterator

from reviews.imports.recognition import recognise_tool
from reviews.records.mapping import FieldMapping
from reviews.records.schema import Limits, LineError
from reviews.records.translation import read_line
from reviews.storage.chunks import Chunk, ChunkLines, split_lines
from reviews.storage.errors import ImportRefused
from reviews.storage.file_formats import LOOKED_AT, describe_format, foreign_keys

# The minimum share of good lines once the limit is reached.
MIN_GOOD_SHARE = 0.01
# A blank line costs little, so more of them are allowed than of rejected lines.
BLANK_LINES_PER_LINE = 100
RECORDS = "records"
_LONGEST_REASON = 300


class TooManyRejections(ImportRefused):
    """Nearly all lines of a file were rejected."""


class RejectionLimit:
    """Count the good, rejected and blank lines of a file, and stop at `most` rejected lines.

    `content` names the expected content of the file in messages. With `is_mapped`, a mapping reads the lines.
    """

    def __init__(self, most: int, content: str = RECORDS, *, is_mapped: bool = False) -> None:
        self._most, self._content, self._is_mapped = most, content, is_mapped
        self._start = b""
        self._first = ""
        self.good = self.rejected = self.blank = 0

    def look_at(self, lines: ChunkLines) -> None:
        """Keep the beginning of the file, to describe a file without records."""
        if lines.chunk.number == 0:
            self._start = lines.text[:LOOKED_AT]

    def count(self, *, good: int = 0, blank: int = 0, rejected: Iterable[tuple[int, str, str]] = ()) -> None:
        """Count more lines. `rejected` has the number, field and reason of each rejected line.

        Raises `TooManyRejections`.
        """
        for number, field, reason in rejected:
            self.rejected += 1
            self._first = self._first or _describe(number, field, reason)
        self.good += good
        self.blank += blank
        if self.rejected >= self._most and self.good < MIN_GOOD_SHARE * self.rejected:
            self._refuse_other_format()
            raise TooManyRejections(
                f"This is not a file of {self._content}: {self._rejections()}; {self._first}."
            )
        if self.blank >= BLANK_LINES_PER_LINE * self._most and self.good < MIN_GOOD_SHARE * self.blank:
            raise TooManyRejections(
                f"This is not a file of {self._content}: {self.blank:,} of its lines are blank."
            )

    def finish(self) -> None:
        """Refuse an empty file, and a file without records if its format is known.

        Raises `ImportRefused`, and `ToolRecognised` for a file that a shipped mapping can read.
        """
        if not (self.good or self.rejected or self.blank):
            raise ImportRefused("The file is empty.")
        self._refuse_other_format()

    def _refuse_other_format(self) -> None:
        if self.good or not self.rejected:
            return
        is_unmapped = not self._is_mapped and self._content == RECORDS
        if is_unmapped and (known := recognise_tool(self._start)):
            raise known
        if name := describe_format(self._start, is_mapped=self._is_mapped):
            raise TooManyRejections(
                f"This is not a file of {self._content}: it is {name}. "
                "Import JSONL, with one record per line, or a JSON array of records. For a list in a JSON "
                'document, name its path in a mapping: records = "path.of.the.list".'
            )
        if is_unmapped and (keys := foreign_keys(self._start)):
            raise TooManyRejections(
                f"This is not a file of {self._content}: the first line is JSON with the keys {keys}. "
                "To import the file of another tool, write a mapping (docs/mapping.md)."
            )

    def _rejections(self) -> str:
        lines = self.good + self.rejected + self.blank
        if self.rejected < lines:
            return f"{self.rejected:,} of the first {lines:,} lines were rejected"
        return f"the first {lines:,} lines were rejected"


def _describe(number: int, field: str, reason: str) -> str:
    place = f"line {number:,}: {field}: " if field else f"line {number:,}: "
    return place + reason[:_LONGEST_REASON]


def require_first_record(
    chunks: Iterable[Chunk], mapping: FieldMapping | None, limits: Limits, most: int
) -> Iterator[Chunk]:
    """Pass chunks on, and read their lines up to the first record. Raises `ImportRefused`."""
    passed = iter(chunks)
    yield from up_to_first_record(passed, mapping, limits, most)
    yield from passed


def up_to_first_record(
    chunks: Iterable[Chunk], mapping: FieldMapping | None, limits: Limits, most: int
) -> Iterator[Chunk]:
    """Pass chunks on up to the one with the first record. Raises `ImportRefused`."""
    limit = RejectionLimit(most, is_mapped=mapping is not None)
    for lines in split_lines(chunks):
        limit.look_at(lines)
        for number, line in enumerate(lines, start=lines.chunk.first_line):
            _count_line(limit, number, line, limits, mapping)
            if limit.good:
                break
        yield lines.chunk
        if limit.good:
            break
    limit.finish()


def _count_line(
    limit: RejectionLimit, number: int, line: bytes, limits: Limits, mapping: FieldMapping | None
) -> None:
    if not line.strip():
        limit.count(blank=1)
        return
    try:
        read_line(line, limits, mapping, number=number)
    except LineError as error:
        limit.count(rejected=[(number, error.field, error.reason)])
    else:
        limit.count(good=1)

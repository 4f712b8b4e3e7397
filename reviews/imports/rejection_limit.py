"""Stop the import of a file that holds no records, before its refused lines fill memory and tables.

A kilobyte of gzip unpacks to hundreds of thousands of lines that are no records. A file with bad lines among
good ones comes in completely, each bad line accounted for.
"""

from collections.abc import Iterable, Iterator

from reviews.records.mapping import FieldMapping, read_line
from reviews.records.schema import Limits, LineError
from reviews.storage import source_files
from reviews.storage.source_files import ChunkLines, ImportRefused

# The share of lines that has to come in once the limit is reached.
LEAST_GOOD = 0.01
# A blank line costs little, so more of them are allowed than of refused lines.
BLANKS_FOR_A_LINE = 100
_LONGEST_REASON = 300


class TooManyRejections(ImportRefused):
    """Nearly all lines of a file were refused."""


class RejectionLimit:
    """Count the good, refused and blank lines of a file. `most` lines may be refused if hardly any came in.

    `holds` names what the file should hold, for the sentence.
    """

    def __init__(self, most: int, holds: str = "records") -> None:
        self._most, self._holds = most, holds
        self._first = ""
        self.good = self.refused = self.blank = 0

    def take(self, *, good: int = 0, blank: int = 0, refused: Iterable[tuple[int, str, str]] = ()) -> None:
        """Count some more lines; `refused` are the number, the field and the reason of each.

        Raises `TooManyRejections`.
        """
        for number, field, reason in refused:
            self.refused += 1
            self._first = self._first or _line(number, field, reason)
        self.good += good
        self.blank += blank
        if self.refused >= self._most and self.good < LEAST_GOOD * self.refused:
            raise TooManyRejections(self._sentence())
        if self.blank >= BLANKS_FOR_A_LINE * self._most and self.good < LEAST_GOOD * self.blank:
            raise TooManyRejections(
                f"This is not a file of {self._holds}: {self.blank:,} of its lines are blank."
            )

    def _sentence(self) -> str:
        lines = self.good + self.refused + self.blank
        were = f"the first {lines:,} lines were refused"
        if self.refused < lines:
            were = f"of the first {lines:,} lines {self.refused:,} were refused"
        return f"This is not a file of {self._holds}: {were}; {self._first}."


def _line(number: int, field: str, reason: str) -> str:
    place = f"line {number:,}: {field}: " if field else f"line {number:,}: "
    return place + reason[:_LONGEST_REASON]


def require_first_record(
    pieces: Iterable[source_files.Chunk], limits: Limits, mapping: FieldMapping | None, most: int
) -> Iterator[source_files.Chunk]:
    """Pass chunks on, reading lines until the first record. Raises `TooManyRejections`."""
    refusals = RejectionLimit(most)
    passed = iter(pieces)
    for lines in source_files.split_lines(passed):
        for number, line in enumerate(lines, start=lines.piece.first_line):
            _try(refusals, number, line, limits, mapping)
            if refusals.good:
                break
        yield lines.piece
        if refusals.good:
            break
    yield from passed


def _try(
    refusals: RejectionLimit, number: int, line: bytes, limits: Limits, mapping: FieldMapping | None
) -> None:
    if not line.strip():
        refusals.take(blank=1)
        return
    try:
        read_line(line, limits, mapping)
    except LineError as error:
        refusals.take(refused=[(number, error.field, error.reason)])
    else:
        refusals.take(good=1)


def split_batches(all_lines: Iterable[ChunkLines], most: int) -> Iterator[ChunkLines]:
    """Split pieces of very short lines, so that the refusals of one batch fit in memory."""
    for lines in all_lines:
        if len(lines) <= most:
            yield lines
        else:
            yield from _batches(lines, most)


def _batches(lines: ChunkLines, most: int) -> Iterator[ChunkLines]:
    piece, start, done = lines.piece, 0, 0
    while start < len(piece.data):
        end = _end_of(piece.data, start, most)
        count = min(most, piece.lines - done)
        # Only the first batch has the number of the piece: that of a file's first piece says where a byte
        # order mark may be.
        number = -1 if start else piece.number
        batch = source_files.Chunk(number, piece.first_line + done, count, piece.data[start:end])
        yield ChunkLines(batch, begins_inside=lines.begins_inside and not start)
        start, done = end, done + count


def _end_of(data: bytes, start: int, lines: int) -> int:
    """The place behind so many line ends, or the end."""
    for _ in range(lines):
        start = data.find(b"\n", start) + 1
        if not start:
            return len(data)
    return start

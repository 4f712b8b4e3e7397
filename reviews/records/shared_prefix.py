"""Count the lines that a file shares with the beginning of an earlier file of the run.

An export contains these lines once.
"""

from collections.abc import Callable, Iterable, Iterator

from reviews.records.mapping import FieldMapping
from reviews.records.schema import Limits, LineError
from reviews.records.translation import read_line


def read_record_id(limits: Limits, mapping: FieldMapping | None, line: bytes) -> str | None:
    """Return the id of the record in a line (without LF), "" for a blank line, None for an invalid line."""
    try:
        return read_line(line, limits, mapping).evaluation_id if line.strip() else ""
    except LineError:
        return None


class PrefixCounter:
    """Count the lines at the start of a file that repeat the latest earlier file with the same beginning.

    Lines repeat each other if they have the same bytes or the same record, or if both are blank. `earlier`
    are the earlier files, latest first, as lines without LF and byte order mark. `record_id` is
    `read_record_id` with their limits and mapping.
    """

    def __init__(self, earlier: Iterable[Iterable[bytes]], record_id: Callable[[bytes], str | None]) -> None:
        self._earlier, self._record_id = earlier, record_id
        self._lines: Iterator[bytes] = iter(())
        self.count = 0
        self.ended = False

    def take(self, line: bytes, record: str | None, *, new: bool) -> bool:
        """Return whether the next line, with this record, repeats the earlier file.

        Pass `new` for a line with a record that the run lacks, or with more than can be compared: such a
        line repeats nothing.
        """
        self.ended = self.ended or new or not self._repeats(line, record)
        self.count += not self.ended
        return not self.ended

    def _repeats(self, line: bytes, record: str | None) -> bool:
        if self.count:
            return self._skip_to(line, record)
        for lines in self._earlier:
            self._lines = iter(lines)
            if self._skip_to(line, record):
                return True
        return False

    def _skip_to(self, line: bytes, record: str | None) -> bool:
        """Return whether the next line of the earlier file is repeated, skipping lines without a record."""
        for before in self._lines:
            if before == line:
                return True
            record_before = self._record_id(before)
            if record_before is not None:
                return record_before == record
        return False

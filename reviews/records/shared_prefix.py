"""Files of a run that begin with what an earlier file brought already: an export holds that once."""

from collections.abc import Callable, Iterable, Iterator

from reviews.records.mapping import FieldMapping, read_line
from reviews.records.schema import Limits, LineError


def read_record_id(limits: Limits, mapping: FieldMapping | None, line: bytes) -> str | None:
    """The id of the record in a line (without LF), "" for a blank line, None for one that is no record."""
    try:
        return read_line(line, limits, mapping).evaluation_id if line.strip() else ""
    except LineError:
        return None


class PrefixCounter:
    """Counts how many lines at the start of a file repeat an earlier file of the run.

    That is the latest that begins alike. Lines repeat each other if they are the same bytes, or hold the same
    record, or are both blank. `earlier` are those files, the latest first, each as its lines without LF and
    byte order mark; `held` is `read_record_id` with their limits and mapping.
    """

    def __init__(self, earlier: Iterable[Iterable[bytes]], held: Callable[[bytes], str | None]) -> None:
        self._earlier, self._held = earlier, held
        self._lines: Iterator[bytes] = iter(())
        self.count = 0
        self.ended = False

    def take(self, line: bytes, record: str | None, *, new: bool) -> bool:
        """Whether the next line of the file, which holds that, is one more.

        None is that brings something `new`: a record that the run did not have, or more than can be compared.
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
        """Whether the next line of the earlier file, but for those without a record, is repeated."""
        for before in self._lines:
            if before == line:
                return True
            held_before = self._held(before)
            if held_before is not None:
                return held_before == record
        return False

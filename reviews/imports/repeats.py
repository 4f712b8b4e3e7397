"""Count the first lines of a file that repeat lines of the run's earlier files."""

from collections.abc import Iterator
from functools import partial

from django.conf import settings

from reviews.imports.parsing import ParsedLines
from reviews.models import Import
from reviews.records.mapping import FieldMapping
from reviews.records.shared_prefix import PrefixCounter, read_record_id
from reviews.storage import source_files
from reviews.storage.chunks import OVERLONG, ChunkLines, split_lines


def count_repeats(repeats: PrefixCounter, lines: ChunkLines, parsed: ParsedLines, new: set[int]) -> None:
    """Compare the next lines of a file with the run's files. `new` are the line numbers of new records."""
    if repeats.ended:
        return
    ids = {number: evaluation_id for number, evaluation_id, _ in parsed.records}
    invalid = {number for number, _, _ in parsed.errors}
    for number, line in enumerate(lines, start=lines.chunk.first_line):
        record = None if number in invalid else ids.get(number, "")
        overlong = line is OVERLONG or len(line) > settings.LIMITS.line_bytes
        if not repeats.take(line, record, new=number in new or overlong):
            return


def repeats_of(target: Import, mapping: FieldMapping | None) -> PrefixCounter:
    """Return the counter of the file's first lines that repeat lines of the run's earlier files."""
    earlier = target.target_run.files.reverse()
    if target.sequence:
        earlier = earlier.filter(sequence__lt=target.sequence)
    return PrefixCounter(map(_all_lines, earlier), partial(read_record_id, settings.LIMITS, mapping))


def _all_lines(source: Import) -> Iterator[bytes]:
    """Yield the lines of a file. A file that consists of a byte order mark alone has none to repeat."""
    for lines in split_lines(source_files.stored_chunks(source)):
        if lines.chunk.number or lines.text:
            yield from lines

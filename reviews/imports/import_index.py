"""Index the new records of an import while it runs, by entries that the parser has computed.

The entries depend on the run's rubric, which may be inferred from the file itself. Entries are computed by
the rubric that the lines before give. If another one turns out to be right, they are computed again.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import orjson
from django.conf import settings

from reviews.database.statements import execute
from reviews.imports.bulk_insert import execute_with_bound_parameters, insert_entries
from reviews.imports.parsing import ParsedLines
from reviews.models import Import
from reviews.records.mapping import FieldMapping
from reviews.records.rubric import Rubric
from reviews.records.schema import LineError, Record
from reviews.records.translation import read_line
from reviews.rubric import inference
from reviews.rubric.run_rubric import run_rubric
from reviews.search import indexing
from reviews.search.facets import Facet
from reviews.search.indexing import LineRange
from reviews.storage.chunks import ChunkLines

# The rubric is inferred again before batches 1, 4, 16 and so on.
_GROWTH = 4
# Lines of the first batch from which the rubric of a new run is inferred, and the bytes of the longest one.
_SAMPLED, _LONGEST_SAMPLED = 100, 64 * 1024
# So many options are remembered, so that each is usually written once and not with each batch.
_REMEMBERED = 10_000
# Options of filters wait here until the end of the import: a job that adds the same ones holds a lock that
# the end of the import needs.
_OPTIONS = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS new_option (name text, value text, title text) ON COMMIT DROP"
)
_KEEP_OPTIONS = """
    INSERT INTO new_option
    SELECT name, value, title FROM json_to_recordset(%s::json) AS new (name text, value text, title text)
"""
_ADD_OPTIONS = """
    INSERT INTO run_facet (run_id, name, value, title)
    SELECT DISTINCT ON (name, value) %s::bigint, name, value, title FROM new_option
    ON CONFLICT DO NOTHING
"""


class _Batch(NamedTuple):
    """Lines with new records."""

    lines: LineRange
    #: The rubric that the entries were computed with. None if they were not.
    rubric: Rubric | None


class ImportIndex:
    """The index of the new records of one import."""

    def __init__(self, source: Import) -> None:
        self._source = source
        self._rubric: Rubric | None = None
        self._requests = 0
        self._next = 1
        self._last_line = 0
        #: Those of the batches that are being parsed.
        self._rubrics: deque[Rubric | None] = deque()
        self._batches: list[_Batch] = []
        self._has_options = False
        self._known_options: set[Facet] = set()

    def next_rubric(self, lines: ChunkLines, mapping: FieldMapping | None) -> Rubric | None:
        """Return the rubric for indexing the next batch, which has these lines; None if it is unknown."""
        if not self._requests:
            run = self._source.target_run
            is_known = run.rubric or run.is_rubric_declared
            records = _sample(lines, mapping)
            self._rubric = run_rubric(run) if is_known else inference.foresee_rubric_from(run, records)
        elif self._requests == self._next:
            self._rubric = inference.foresee_rubric(self._source, self._last_line)
            self._next *= _GROWTH
        self._requests += 1
        self._rubrics.append(self._rubric)
        return self._rubric

    def add(self, lines: ChunkLines, parsed: ParsedLines, new: set[int]) -> None:
        """Write the entries of a batch whose new records, given by line, are inserted."""
        first = lines.chunk.first_line
        self._last_line = first + len(lines) - 1
        rubric = self._rubrics.popleft()
        if not new:
            return
        # Entries of other lines would be those of records as they are not stored.
        is_indexed = parsed.entries is not None and len(new) == len(parsed.records)
        if is_indexed:
            self._write(parsed)
        self._batches.append(_Batch(LineRange(first - 1, self._last_line), rubric if is_indexed else None))

    def _write(self, parsed: ParsedLines) -> None:
        assert parsed.entries
        insert_entries(parsed.entries)
        self._keep_options(parsed.entries.options - self._known_options)

    def _keep_options(self, new: frozenset[Facet]) -> None:
        if not new:
            return
        if not self._has_options:
            execute(_OPTIONS)
            self._has_options = True
        options = orjson.dumps([facet._asdict() for facet in new])
        execute_with_bound_parameters(_KEEP_OPTIONS, [options.decode()])
        if len(self._known_options) < _REMEMBERED:
            self._known_options |= new

    def finish(self) -> None:
        """Index the other records of the import, and count the run.

        The rubric of the run is final, and the caller has acquired `Lock.INDEXING`.
        """
        if self._has_options:
            execute(_ADD_OPTIONS, [self._source.target_run.pk])
            execute("DROP TABLE new_option")
        rubric = run_rubric(self._source.target_run)
        left = [lines for lines, used in self._batches if used is None or not used.judges_like(rubric)]
        indexing.index_import(self._source, new=left)


def _sample(lines: ChunkLines, mapping: FieldMapping | None) -> Iterator[Record]:
    """Read some lines. Invalid ones are left out."""
    for place in range(0, len(lines), max(len(lines) // _SAMPLED, 1)):
        if len(lines[place]) <= _LONGEST_SAMPLED:
            with suppress(LineError):
                yield read_line(lines[place], settings.LIMITS, mapping, number=lines.chunk.first_line + place)

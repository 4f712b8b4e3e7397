"""Store unchanged lines as ranges, and find records in them."""

from collections.abc import Iterable
from operator import attrgetter

from django.db.models import Case, F, OuterRef, QuerySet, Subquery, When

from reviews.models import Evaluation, Import, ImportLine

UNCHANGED = ImportLine.Outcome.UNCHANGED


class RangeMerger:
    """Merge consecutive unchanged lines of an import into ranges.

    A file that is imported again is mostly unchanged. A row per unchanged line would let the table grow with
    every import.
    """

    def __init__(self) -> None:
        # The last range that was returned.
        self._last: ImportLine | None = None

    def merge(self, noted: Iterable[ImportLine]) -> list[ImportLine]:
        """Return the rows to insert for a batch of lines, after extending the last range."""
        rows: list[ImportLine] = []
        for row in sorted(noted, key=attrgetter("line")):
            if rows and _continues(rows[-1], row):
                rows[-1].lines += row.lines
            else:
                rows.append(row)
        return [row for row in rows if not self._extends_last(row)]

    def _extends_last(self, row: ImportLine) -> bool:
        """Extend the last range by the row. Return False if the row begins a new range."""
        if row.outcome != UNCHANGED:
            return False
        last = self._last
        if last is None or not _continues(last, row):
            self._last = row
            return False
        last.lines += row.lines
        ImportLine.objects.filter(source=last.source_id, line=last.line).update(lines=last.lines)
        return True


def _continues(before: ImportLine, row: ImportLine) -> bool:
    """Whether a row is the next unchanged line, and its record was imported right after that of `before`."""
    return (
        row.outcome == before.outcome == UNCHANGED
        and (row.field, row.reason) == (before.field, before.reason)
        and row.line == before.line + before.lines
        and row.first_import_id == before.first_import_id
        and row.first_line == (before.first_line or 0) + before.lines
    )


def line_in_import(source: Import) -> Subquery:
    """Return a subquery for evaluations: the record's unchanged line in an import, or null."""
    behind = F("line") + OuterRef("first_line") - F("first_line")
    is_inside = {"first_line__gt": OuterRef("first_line") - F("lines")}
    # The ranges do not overlap, so the one that begins last before the record is the only candidate.
    candidates = ImportLine.objects.filter(
        source=source, first_import=OuterRef("first_import"), first_line__lte=OuterRef("first_line")
    )
    return Subquery(candidates.order_by("-first_line").values(place=Case(When(**is_inside, then=behind)))[:1])


def ranges_of_record(evaluation: Evaluation) -> QuerySet[ImportLine]:
    """Return the ranges that contain a record, at most one for each import of its run."""
    candidates = ImportLine.objects.filter(
        source=OuterRef("pk"),
        first_import=evaluation.first_import_id,
        first_line__lte=evaluation.first_line,
    )
    found = Subquery(candidates.order_by("-first_line").values("pk")[:1])
    ranges = Import.objects.filter(run=evaluation.run_id).annotate(range=found).values("range")
    return ImportLine.objects.filter(
        pk__in=ranges.exclude(range=None), first_line__gt=evaluation.first_line - F("lines")
    )


def narrow_to_record(row: ImportLine, evaluation: Evaluation) -> ImportLine:
    """Narrow the row of a range to the line of one record."""
    row.line += evaluation.first_line - (row.first_line or 0)
    row.lines, row.first_line = 1, evaluation.first_line
    return row

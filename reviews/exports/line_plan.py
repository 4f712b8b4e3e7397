"""Select the lines of an import that an export does not copy verbatim."""

import heapq
from collections.abc import Generator
from contextlib import ExitStack, closing
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeVar

from django.db.models import F, Q

from reviews.exports.decision_values import decision_columns, human_values
from reviews.models import Evaluation, Import, ImportLine
from reviews.records.status import DONE_STATUSES
from reviews.storage import unchanged_ranges
from reviews.storage.chunks import Chunk
from reviews.storage.corruption import CorruptData, SourceFile

_NEWEST = ("evaluation_id", "source_import_id", "source_line", "content_hash")


class LineAction(NamedTuple):
    """An instruction for one line of an import."""

    line: int
    #: False: omit the line.
    written: bool
    evaluation_id: str = ""
    #: The import and the line with the newest version of the record, and the hash of that line.
    source_import: int = 0
    source_line: int = 0
    content_hash: bytes = b""
    #: Whether the newest version replaces this line.
    takes_newest: bool = False
    #: The human_* values of the record's review.
    human: dict[str, Any] | None = None


_Row = TypeVar("_Row")
_Actions = Generator[LineAction, None, None]


class LinePlan:
    """Return the actions of an import chunk by chunk. Raises `CorruptData` if lines are out of order.

    Close the plan inside the transaction: it reads from a server-side cursor.
    """

    def __init__(self, source: Import, actions: _Actions) -> None:
        self._actions = _checked_order(source, actions)
        self._next = next(self._actions, None)
        self._last: LineAction | None = None

    def close(self) -> None:
        self._actions.close()

    def actions_in(self, chunk: Chunk) -> dict[int, LineAction]:
        """Return the actions of a chunk by line. A cut line has its action in each of its chunks."""
        last_line = chunk.first_line + max(chunk.lines, 1) - 1
        found = {}
        if self._last and self._last.line == chunk.first_line:
            found[self._last.line] = self._last
        while self._next and self._next.line <= last_line:
            self._last = found[self._next.line] = self._next
            self._next = next(self._actions, None)
        return found


def _checked_order(source: Import, actions: _Actions) -> _Actions:
    last = 0
    with closing(actions):
        for action in actions:
            if not last < action.line <= source.lines:
                problem = f"a row names line {action.line:,}, which is out of order or not in the file"
                raise CorruptData(SourceFile.of_import(source).rows_fault(problem))
            last = action.line
            yield action


def merge_by_line(*rows: Generator[_Row, None, None]) -> Generator[_Row, None, None]:
    """Merge rows that have a `line`. Closing the result closes all of them."""
    with ExitStack() as stack:
        for each in rows:
            stack.enter_context(closing(each))
        yield from heapq.merge(*rows, key=attrgetter("line"))


def plan_of_run(source: Import, only: str, *, with_rejected: bool) -> _Actions:
    """Yield the actions for a file in the export of its whole run."""
    if only == "reviewed":
        return _record_actions(source, Q(human_review_status__in=DONE_STATUSES))
    exceptions = source.exceptions.order_by("line").values_list("line", "lines", "outcome")
    noted = (
        LineAction(number, written=with_rejected and outcome == ImportLine.Outcome.REJECTED)
        for line, lines, outcome in exceptions.iterator()
        for number in range(line, line + lines)
    )
    decided_or_moved = Q(review__isnull=False) | ~Q(source_import=F("first_import"))
    return merge_by_line(noted, _record_actions(source, decided_or_moved))


def _record_actions(source: Import, condition: Q) -> _Actions:
    rows = (
        Evaluation.objects.filter(condition, run=source.run_id, first_import=source)
        .order_by("first_line")
        .values_list("first_line", *_NEWEST, *decision_columns())
    )
    for row in rows.iterator():
        yield _record_action(*row, takes_newest=True)


def _record_action(
    line: int,
    evaluation_id: str,
    source_import: int,
    source_line: int,
    line_hash: bytes,
    *decision: Any,
    takes_newest: bool,
) -> LineAction:
    return LineAction(
        line,
        written=True,
        evaluation_id=evaluation_id,
        source_import=source_import,
        source_line=source_line,
        content_hash=bytes(line_hash),
        takes_newest=takes_newest,
        human=human_values(*decision),
    )


def plan_of_import(source: Import, only: str, *, with_rejected: bool) -> _Actions:
    """Yield the actions for the export of one import's own lines."""
    if with_rejected or only == "reviewed":
        return _decided_actions(source, only)
    return merge_by_line(_decided_actions(source, only), rejected_plan(source, written=False))


def _decided_actions(source: Import, only: str) -> _Actions:
    """Yield the lines whose records have a decision: any decision, or for "all" one made here."""
    decided = {"human_review_status__in": DONE_STATUSES} if only == "reviewed" else {"review__isnull": False}
    new = Evaluation.objects.filter(run=source.run_id, first_import=source, **decided).order_by("first_line")
    known = (
        source.exceptions.exclude(outcome=ImportLine.Outcome.REJECTED)
        .filter(**{f"evaluation__{name}": value for name, value in decided.items()})
        .order_by("line")
    )
    same = (
        Evaluation.objects.filter(run=source.run_id, **decided)
        .exclude(first_import=source)
        .annotate(line_here=unchanged_ranges.line_in_import(source))
        .filter(line_here__isnull=False)
        .order_by("line_here")
    )
    newest = [f"evaluation__{name}" for name in _NEWEST]
    rows = heapq.merge(
        new.values_list("first_line", *_NEWEST, *decision_columns()).iterator(),
        same.values_list("line_here", *_NEWEST, *decision_columns()).iterator(),
        known.values_list("line", *newest, *decision_columns("evaluation__")).iterator(),
        key=itemgetter(0),
    )
    for row in rows:
        yield _record_action(*row, takes_newest=False)


def rejected_plan(source: Import, *, written: bool) -> _Actions:
    rejected = source.exceptions.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    for line in rejected.values_list("line", flat=True).iterator():
        yield LineAction(line, written=written)

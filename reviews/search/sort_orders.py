"""The sort orders of lists of records, and their cursors."""

import datetime as dt
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, LessThan

from reviews.models import Evaluation
from reviews.models.evaluations import IN_QUEUE, TASK_ORDER
from reviews.queue.claims import EVERYTHING

CursorValue = Callable[[Any], Any]
Cursor = tuple[Any, ...]


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise ValueError(value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(value)
    value.encode()
    return value


def _moment(value: Any) -> dt.datetime:
    moment = dt.datetime.fromisoformat(_text(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _day(value: Any) -> dt.date:
    return dt.date.fromisoformat(_text(value))


@dataclass(frozen=True)
class SortOrder:
    title: str
    #: The expressions to sort by, all in the same direction.
    by: tuple[Combinable, ...]
    #: For each expression, a parser of its value in a cursor.
    kinds: tuple[CursorValue, ...]
    descends: bool = False
    #: The condition for records that the order includes.
    only: Q = EVERYTHING
    #: Whether it sorts by the judge's output. Such an order excludes records with hidden output.
    reveals: bool = False
    #: Whether it leaves out records that are not indexed yet.
    needs_index: bool = False

    @property
    def places(self) -> dict[str, Combinable]:
        """The sort expressions by the names of their annotations in a query."""
        return {f"place_{number}": one for number, one in enumerate(self.by)}

    def parse_cursor(self, text: str) -> Cursor | None:
        """Return the cursor from a text of `cursor`; None if it is invalid."""
        try:
            return tuple(kind(value) for kind, value in zip(self.kinds, json.loads(text), strict=True))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None

    def cursor(self, row: Evaluation) -> str:
        return json.dumps([getattr(row, name) for name in self.places], default=methodcaller("isoformat"))

    def after(self, cursor: Cursor) -> GreaterThan | LessThan:
        return self.after_expressions(map(Value, cursor))

    def after_expressions(self, cursor: Iterable[Combinable]) -> GreaterThan | LessThan:
        """Return the condition for rows after a cursor that consists of expressions."""
        compare = LessThan if self.descends else GreaterThan
        return compare(_Row(*self.by), _Row(*cursor))


class _Row(Func):
    """A row value, compared from left to right. PostgreSQL finds it in an index."""

    template = "ROW(%(expressions)s)"
    output_field = TextField()


SORTS = {
    "file": SortOrder("File order", (F("first_import"), F("first_line")), (_number, _number)),
    "task": SortOrder("Task", (*TASK_ORDER, F("pk")), (_number, _text, _text, _number)),
    "verdict": SortOrder(
        "Verdict",
        (F("facets__verdict_order"), F("facets__evaluation")),
        (_number, _number),
        only=Q(facets__run=F("run")),
        reveals=True,
        needs_index=True,
    ),
    "newest": SortOrder("Newest", (F("created_at"), F("pk")), (_moment, _number), descends=True),
    "due": SortOrder(
        "Due date", (F("due_on"), F("pk")), (_day, _number), only=IN_QUEUE & Q(due_on__isnull=False)
    ),
    "reviewed": SortOrder(
        "Recently reviewed",
        (F("human_review_timestamp"), F("pk")),
        (_moment, _number),
        descends=True,
        only=Q(human_review_timestamp__isnull=False),
    ),
}
DEFAULT_SORT = "file"

"""Pages of a run's records: filtered, counted up to a limit, in an order, each page found by a place.

A list costs the same on its first page and on its last, and takes no longer in a run of a million records:
few matches are sorted, many are met soon on a walk along the index of the order.
"""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import Any, NamedTuple, Self

from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.lookups import GreaterThan, LessThan
from django.http import QueryDict
from django.utils.http import urlencode
from psycopg.errors import QueryCanceled

from reviews.models import Evaluation, Run, User
from reviews.models.evaluations import LARGE_COLUMNS, TASK_ORDER, VERDICT_ORDER
from reviews.queue.claims import EVERYTHING
from reviews.search import indexing
from reviews.search.filters import Filters
from reviews.search.hidden_records import hidden_from

PAGE_SIZE = 50
# Matches are counted up to this, and sorted if there are no more.
MAX_COUNTED = 10_000
TIME_LIMIT = dt.timedelta(seconds=3)


class QueryTooSlow(Exception):
    """A list takes too long to find, with these filters in this order."""


class RecordPage(NamedTuple):
    """`total` is None for more than `MOST_COUNTED`. The next page begins at `after`, empty on the last.

    `hidden` are the keys of rows whose judge output is hidden from the reader.
    """

    rows: list[Evaluation]
    total: int | None
    after: str
    hidden: frozenset[int]


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


@dataclass(frozen=True)
class SortOrder:
    """An order: by what, all of it one way, each with what a place in it is read by.

    What `only` leaves out has no place in the order. One that `reveals` goes by the judge's output,
    and leaves out the records for which that is hidden from the reader.
    """

    title: str
    by: tuple[Combinable, ...]
    kinds: tuple[CursorValue, ...]
    descends: bool = False
    only: Q = EVERYTHING
    reveals: bool = False

    @property
    def places(self) -> dict[str, Combinable]:
        """What a record's place is made of, under the names it has in a query."""
        return {f"place_{number}": one for number, one in enumerate(self.by)}

    def read(self, text: str) -> Cursor | None:
        """The place that `spell` writes so; None for what is none."""
        try:
            return tuple(kind(value) for kind, value in zip(self.kinds, json.loads(text), strict=True))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None

    def spell(self, row: Evaluation) -> str:
        return json.dumps([getattr(row, name) for name in self.places], default=dt.datetime.isoformat)

    def behind(self, place: Cursor) -> GreaterThan | LessThan:
        """The condition for what comes after a place."""
        compare = LessThan if self.descends else GreaterThan
        return compare(_Row(*self.by), _Row(*map(Value, place)))


class _Row(Func):
    """Several expressions, compared from left to right: PostgreSQL finds such a place by an index."""

    template = "ROW(%(expressions)s)"
    output_field = TextField()


SORTS = {
    "file": SortOrder("File order", (F("first_import"), F("first_line")), (_number, _number)),
    "task": SortOrder("Task", (*TASK_ORDER, F("pk")), (_number, _text, _text, _number)),
    "verdict": SortOrder("Verdict", (VERDICT_ORDER, F("pk")), (_number, _number), reveals=True),
    "newest": SortOrder("Newest", (F("created_at"), F("pk")), (_moment, _number), descends=True),
    "reviewed": SortOrder(
        "Recently reviewed",
        (F("human_review_timestamp"), F("pk")),
        (_moment, _number),
        descends=True,
        only=Q(human_review_timestamp__isnull=False),
    ),
}
DEFAULT_SORT = "file"


class RecordList:
    """A list as an address says it: which records, in which order. `problems` are sentences."""

    def __init__(self, filters: Filters, sort: str) -> None:
        self.filters = filters
        self.problems = list(filters.problems)
        if sort and sort not in SORTS:
            self.problems.append(f"Lists cannot be sorted by “{sort[:60]}”.")
        self.sort = sort if sort in SORTS else DEFAULT_SORT

    @classmethod
    def parse(cls, query: QueryDict) -> Self:
        return cls(Filters.parse(query), query.get("sort", ""))

    def query(self, filters: Filters | None = None, *, after: str = "") -> str:
        """The canonical query string, with other filters perhaps, or of the page behind a place."""
        shown = self.filters if filters is None else filters
        more = {"sort": "" if self.sort == DEFAULT_SORT else self.sort, "after": after}
        return urlencode([*shown.values, *((name, value) for name, value in more.items() if value)])


def load_page(
    run: Run,
    filters: Filters,
    *,
    reader: User | None = None,
    sort: str = DEFAULT_SORT,
    after: str = "",
    known: int | None = None,
) -> RecordPage:
    """A page of the records that a reader finds by filters, in one of `SORTS`.

    A place that is none gives the first page. `known` is how many records there are, where that is counted
    already. Raises `QueryTooSlow`.
    """
    order = SORTS[sort]
    place = order.read(after)
    if order.only or order.reveals:
        known = None
    with time_limit():
        matching = matching_records(run, filters, reader).filter(order.only)
        if order.reveals:
            matching = matching.exclude(hidden_from(reader, run))
        few = _few_matches(matching, order) if known is None or known <= MAX_COUNTED else None
        rows = _index_walk(matching, order, place) if few is None else _sorted_rows(run, order, few, place)
        found = list(rows[: PAGE_SIZE + 1])
    next_after = order.spell(found[PAGE_SIZE - 1]) if len(found) > PAGE_SIZE else ""
    shown = found[:PAGE_SIZE]
    return RecordPage(shown, known if few is None else len(few), next_after, _hidden(run, shown, reader))


def hidden_record_notes(run: Run, filters: Filters, *, sort: str = DEFAULT_SORT) -> list[str]:
    """Sentences about records that a list leaves out. They depend on no record."""
    found = []
    if run.blind_share and (filters.reveals_judge or SORTS[sort].reveals):
        found.append(
            "Records that you may still review blind are left out: this would reveal the judge's verdict."
        )
    elif run.blind_share and filters.values_of("q"):
        found.append("Records that you may still review blind are found by their ids and model only.")
    if filters.reveals_reason and run.draws:
        found.append("Records in the queue are left out: this would reveal which were drawn at random.")
    return found


def _hidden(run: Run, rows: list[Evaluation], reader: User | None) -> frozenset[int]:
    if not (run.blind_share and rows):
        return frozenset()
    shown = run.evaluations.filter(hidden_from(reader, run), pk__in=[row.pk for row in rows])
    return frozenset(shown.values_list("pk", flat=True))


def _few_matches(matching: QuerySet[Evaluation], order: SortOrder) -> list[Cursor] | None:
    """The places of all records, each with the record's key behind it; None for too many."""
    found = matching.annotate(**order.places).values_list(*order.places, "pk")[: MAX_COUNTED + 1]
    places = list(found)
    return places if len(places) <= MAX_COUNTED else None


def _sorted_rows(run: Run, order: SortOrder, few: list[Cursor], after: Cursor | None) -> QuerySet[Evaluation]:
    # Here and not in SQL: PostgreSQL takes it that hardly a record is behind any place, and would look for
    # all matches again with each record on its way.
    if after is not None:
        few = [place for place in few if (place[:-1] < after if order.descends else place[:-1] > after)]
    first = (nlargest if order.descends else nsmallest)(PAGE_SIZE + 1, few)
    return _ordered(run.evaluations.filter(pk__in=[place[-1] for place in first]), order)


def _index_walk(
    matching: QuerySet[Evaluation], order: SortOrder, after: Cursor | None
) -> QuerySet[Evaluation]:
    return _ordered(matching.filter(order.behind(after)) if after is not None else matching, order)


def _ordered(rows: QuerySet[Evaluation], order: SortOrder) -> QuerySet[Evaluation]:
    """In order, with what a page shows of each."""
    rows = rows.annotate(**order.places)
    rows = rows.order_by(*(f"-{name}" if order.descends else name for name in order.places))
    return rows.select_related("claimed_by", "assigned_to", "review__reviewer").defer(*LARGE_COLUMNS)


def matching_records(run: Run, filters: Filters, reader: User | None) -> QuerySet[Evaluation]:
    """The records of a run that a reader finds by filters, in the quickest way: see `Filters.condition`."""
    is_covered = bool(filters) and indexing.is_indexed(run)
    return run.evaluations.filter(filters.condition(run, reader, is_covered=is_covered))


# In this transaction. To start workers takes longer than most lists do.
_LIMITS = """
    SELECT set_config('statement_timeout', %s, true), set_config('max_parallel_workers_per_gather', '0', true)
"""


@contextmanager
def time_limit() -> Iterator[None]:
    """Let queries end after `LONGEST_QUERY`. Raises `QueryTooSlow`."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(_LIMITS, [str(TIME_LIMIT // dt.timedelta(milliseconds=1))])
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise QueryTooSlow from error
        raise


def next_in_file(evaluation: Evaluation) -> int | None:
    """Return the key of the next record of the run in file order; None after the last."""
    return _neighbour(evaluation, _FILE_ORDER_AFTER, ["first_import_id", "first_line"])


def previous_in_file(evaluation: Evaluation) -> int | None:
    """Return the key of the previous record of the run in file order; None before the first."""
    return _neighbour(evaluation, _FILE_ORDER_BEFORE, ["-first_import_id", "-first_line"])


# Row comparisons: PostgreSQL answers them from the index, which it would not do for `OR`.
_FILE_ORDER_AFTER = "(evaluation.first_import_id, evaluation.first_line) > (%s, %s)"
_FILE_ORDER_BEFORE = "(evaluation.first_import_id, evaluation.first_line) < (%s, %s)"


def _neighbour(evaluation: Evaluation, comparison: str, order: list[str]) -> int | None:
    place = [evaluation.first_import_id, evaluation.first_line]
    matches = RawSQL(comparison, place, output_field=BooleanField())  # noqa: S611 (constant SQL)
    return evaluation.run.evaluations.filter(matches).order_by(*order).values_list("pk", flat=True).first()

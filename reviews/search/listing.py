"""Lists of a run's records: filtered, sorted, counted up to a limit, with cursor pagination.

The cost does not depend on the page or the size of the run: a small number of matches is sorted, and a large
number is found quickly by walking the index of the sort order. `density` tells them apart in a large run.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, lru_cache
from heapq import nlargest, nsmallest
from typing import Any, NamedTuple, Self

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.http import urlencode
from psycopg.errors import QueryCanceled

from reviews.database.compiled_queries import CompiledQuery, is_any_of, parameter
from reviews.database.pagination import split_page
from reviews.database.statements import prepared_statements
from reviews.models import Evaluation, Run, User
from reviews.queue import progress
from reviews.queue.progress import Progress
from reviews.search import density, indexing, strata
from reviews.search.density import Density
from reviews.search.filters import Filters
from reviews.search.hidden_records import hidden_from, hidden_in_share
from reviews.search.sort_orders import DEFAULT_SORT, SORTS, Cursor, SortOrder
from reviews.search.verdicts import with_judged_scores

PAGE_SIZE = 50
# The columns that the page and the API show. Reading another one costs a query for each row.
_LISTED = (
    *("run", "evaluation_id", "task_id", "model_id", "judge_llm_model", "aggregated_score", "review_reasons"),
    *("human_review_status", "human_reviewer_id", "human_corrected_scores", "claimed_by", "claimed_until"),
    *("claim_is_prefetched", "assigned_to", "priority", "due_on", "is_escalated", "is_outdated"),
)
# Those that only one of them shows, and the people whose names each of them shows.
_OF_PAGE, _PEOPLE = ("review__submitted_at",), ("claimed_by", "assigned_to", "review__reviewer")
_OF_API = ("judge_prompt_template_path", "human_review_timestamp", "created_at", "version", "updated_at")
_PEOPLE_OF_API = ("claimed_by", "assigned_to")
# Matches are counted up to this number, and sorted if there are no more.
MAX_COUNTED = 10_000
# If there are probably more, they are counted only up to this number.
MAX_COUNTED_OF_MANY = 250
TIME_LIMIT = dt.timedelta(seconds=3)


class QueryTooSlow(Exception):
    """Too many records to search this way. Add a filter."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class ListedRecord(NamedTuple):
    """A record of a list. A page that has kept how it shows these values need not create the record."""

    #: The values of the columns as PostgreSQL returned them, the primary key first. They are hashable.
    values: tuple[Any, ...]
    query: CompiledQuery[Evaluation]
    run: Run

    @property
    def pk(self) -> int:
        return int(self.values[0])

    def create(self) -> Evaluation:
        [record] = _create([self])
        return record


class RecordPage(NamedTuple):
    records: list[ListedRecord]
    #: The number of matches; None if there are more than `counted`.
    total: int | None
    #: The cursor of the next page; empty on the last page.
    after: str
    #: The primary keys of rows whose judge output is hidden from the reader.
    hidden: frozenset[int]
    #: The number up to which matches were counted.
    counted: int = MAX_COUNTED

    @property
    def rows(self) -> list[Evaluation]:
        """The records as instances."""
        return _create(self.records)


def _create(listed: list[ListedRecord]) -> list[Evaluation]:
    """Return records of one page as instances."""
    found = listed[0].query.create(one.values for one in listed) if listed else []
    for record in found:
        # As an assignment, which takes ten times as long.
        Evaluation.run.field.set_cached_value(record, listed[0].run)
    return found


class _Matches(NamedTuple):
    records: QuerySet[Evaluation]
    #: The cursors of all of them, each followed by the primary key; None if there are too many.
    few: list[tuple[Any, ...]] | None = None
    #: As in `RecordPage`.
    total: int | None = None
    counted: int = MAX_COUNTED


class RecordList:
    """The filters and the sort order of a list, with sentences about invalid input in `problems`."""

    def __init__(self, filters: Filters, sort: str) -> None:
        self.filters = filters
        self.problems = list(filters.problems)
        if sort and sort not in SORTS:
            self.problems.append(f"Unknown sort order “{sort[:60]}”.")
        self.sort = sort if sort in SORTS else DEFAULT_SORT

    @property
    def needs_index(self) -> bool:
        """Whether this list leaves out records that are not indexed yet."""
        return self.filters.needs_index or SORTS[self.sort].needs_index

    @classmethod
    def parse(cls, query: QueryDict) -> Self:
        return cls(Filters.parse(query), query.get("sort", ""))

    def query(self, filters: Filters | None = None, *, after: str = "") -> str:
        """Return the canonical query string, optionally with other filters or for the page after a cursor."""
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
    size: int | None = None,
    for_api: bool = False,
) -> RecordPage:
    """Load a page of the records that a reader finds by filters, in one of `SORTS`.

    An invalid cursor in `after` gives the first page. `known` is the number of matches, if already counted.
    With `for_api`, records have the columns that the API shows, with the judge's scores of all of them (see
    `with_judged_scores`), and otherwise those of the page. Raises `QueryTooSlow`.
    """
    order, size = SORTS[sort], size or PAGE_SIZE
    cursor = order.parse_cursor(after)
    if order.only or order.reveals:
        known = None
    total, counted = known, MAX_COUNTED
    if known is not None and not filters:
        walk = _walk_of_everything(sort, size + 1, is_after=cursor is not None, for_api=for_api)
        # The page is the next entries of an index: one query without a time limit.
        with prepared_statements():
            rows = _load(run, walk, run=run.pk, **dict(zip(order.places, cursor or (), strict=False)))
    else:
        with time_limit():
            found = _find(run, filters, reader, order, known)
            matching = (
                _after(found.records, order, cursor)
                if found.few is None
                else run.evaluations.filter(pk__in=_first_keys(order, found.few, cursor, size))
            )
            shown = _ordered(matching, order, for_api=for_api)[: size + 1]
            rows = _load(run, CompiledQuery(lambda: shown))
        total, counted = found.total, found.counted
    page = split_page(rows, size, lambda listed: order.cursor(listed.create()))
    return RecordPage(page.rows, total, page.next_after, _hidden(run, page.rows, reader), counted)


def _load(run: Run, query: CompiledQuery[Evaluation], /, **values: Any) -> list[ListedRecord]:
    return [ListedRecord(row, query, run) for row in query.load(**values)]


def _find(run: Run, filters: Filters, reader: User | None, order: SortOrder, known: int | None) -> _Matches:
    """Count the records of a list, and return their cursors if there are few."""
    is_indexed = bool(filters) and indexing.is_indexed(run)
    only = order.only & ~hidden_from(reader, run) if order.reveals else order.only
    condition = only & filters.condition(run, reader, is_indexed=is_indexed)
    # If there are many matches, the index has the page at its next entries.
    if known is not None and known > MAX_COUNTED:
        return _Matches(run.evaluations.filter(condition), total=known)
    size, expected = 0 if known is not None else progress.count_records(run), Density()
    matching = run.evaluations.filter(condition)
    statement = density.compile_list(matching, order.places)
    if statement is None:
        return _Matches(matching, [], 0)
    # The index of words is that of all runs, so common words also matter in a small one.
    if filters and (size > MAX_COUNTED or len(density.searched_words(filters)) > 1):
        expected = density.estimate(run, filters, statement)
        if common := expected.common_words:
            condition = only & filters.condition(run, reader, is_indexed=is_indexed, common_words=common)
            matching = run.evaluations.filter(condition)
            statement = density.compile_list(matching, order.places) or statement
    if expected.share * size > MAX_COUNTED and density.are_more(statement, MAX_COUNTED_OF_MANY, expected):
        return _Matches(matching, counted=MAX_COUNTED_OF_MANY)
    few: list[Cursor] = density.first_rows(statement, MAX_COUNTED + 1)
    return _Matches(matching) if len(few) > MAX_COUNTED else _Matches(matching, few, len(few))


@lru_cache(maxsize=64)  # for each size
def _walk_of_everything(sort: str, size: int, *, is_after: bool, for_api: bool) -> CompiledQuery[Evaluation]:
    """Return the query for records of the parameter `run`, after the cursor in the parameters `place_...`."""
    order = SORTS[sort]

    def build() -> QuerySet[Evaluation]:
        rows = Evaluation.objects.filter(run=parameter("run"))
        after = order.after_expressions(map(parameter, order.places))
        return _ordered(rows.filter(after) if is_after else rows, order, for_api=for_api)[:size]

    return CompiledQuery(build)


def hidden_record_notes(run: Run, filters: Filters, *, sort: str = DEFAULT_SORT) -> list[str]:
    """Return sentences about records that a list excludes. They do not depend on any record."""
    found = []
    if run.blind_share and (filters.reveals("judge output") or SORTS[sort].reveals):
        found.append(
            "Records that you may still review blind are not listed, to keep the judge's verdict hidden."
        )
    elif run.blind_share and filters.values_of("q"):
        found.append("Records that you may still review blind are found only by ids and model.")
    if filters.reveals("flag reasons") and run.draws_samples:
        found.append("Records in the queue are not listed, to hide which ones are random samples.")
    if sort == "due":
        found.append("Only records in the queue with a due date of their own are listed.")
    return found


def _hidden(run: Run, rows: list[ListedRecord], reader: User | None) -> frozenset[int]:
    if not (run.blind_share and rows):
        return frozenset()
    values = {"run": run.pk, "share": run.blind_share, "records": [row.pk for row in rows]}
    with prepared_statements():
        found = _hidden_records(has_reader=reader is not None).load(reader=reader and reader.pk, **values)
    return frozenset(pk for (pk,) in found)


@cache
def _hidden_records(*, has_reader: bool) -> CompiledQuery[Evaluation]:
    """Return the query for those of the parameter `records` that `hidden_from` finds in a run."""

    def build() -> QuerySet[Evaluation]:
        reader = parameter("reader") if has_reader else None
        hidden = hidden_in_share(reader, parameter("run"), parameter("share"))
        of_page = is_any_of('"evaluation"."id"', "records")
        return Evaluation.objects.filter(hidden, of_page, run=parameter("run")).only("pk")

    return CompiledQuery(build)


def _first_keys(order: SortOrder, few: list[Cursor], after: Cursor | None, size: int) -> list[int]:
    # Sorted in Python: PostgreSQL expects few rows after a cursor, and would search all matches again for
    # every record in the index.
    if after is not None:
        few = [place for place in few if (place[:-1] < after if order.descends else place[:-1] > after)]
    first = (nlargest if order.descends else nsmallest)(size + 1, few)
    return [place[-1] for place in first]


def _after(matching: QuerySet[Evaluation], order: SortOrder, cursor: Cursor | None) -> QuerySet[Evaluation]:
    return matching if cursor is None else matching.filter(order.after(cursor))


def _ordered(rows: QuerySet[Evaluation], order: SortOrder, *, for_api: bool) -> QuerySet[Evaluation]:
    """Sort the rows, and load the columns that a page shows."""
    rows = with_judged_scores(rows.annotate(**order.places), of_all=for_api)
    rows = rows.order_by(*(f"-{name}" if order.descends else name for name in order.places))
    columns, people = (_OF_API, _PEOPLE_OF_API) if for_api else (_OF_PAGE, _PEOPLE)
    names = (f"{one}__{name}" for one in people for name in ("username", "first_name", "last_name"))
    return rows.select_related(*people).only(*_LISTED, *columns, *people, *names)


def matching_records(run: Run, filters: Filters, reader: User | None) -> QuerySet[Evaluation]:
    """Return the records of a run that a reader finds by filters: see `Filters.condition`."""
    is_indexed = bool(filters) and indexing.is_indexed(run)
    return run.evaluations.filter(filters.condition(run, reader, is_indexed=is_indexed))


# For this transaction. Starting parallel workers takes longer than most lists.
_LIMITS = """
    SELECT set_config('statement_timeout', %s, true), set_config('max_parallel_workers_per_gather', '0', true)
"""
_READ_ONLY = "SET TRANSACTION READ ONLY"
_only_reads: ContextVar[bool] = ContextVar("only_reads", default=False)


def only_reads() -> bool:
    """Return whether the current transaction is one that `time_limit` began, which refuses writes."""
    return _only_reads.get()


@contextmanager
def time_limit() -> Iterator[None]:
    """Cancel queries after `TIME_LIMIT`. Raises `QueryTooSlow`. Outside of a transaction, refuse writes."""
    is_outermost = not connection.in_atomic_block
    token = _only_reads.set(is_outermost)
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                if is_outermost:
                    cursor.execute(_READ_ONLY)
                cursor.execute(_LIMITS, [str(TIME_LIMIT // dt.timedelta(milliseconds=1))])
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise QueryTooSlow from error
        raise
    finally:
        _only_reads.reset(token)


def neighbour_in_file(evaluation: Evaluation, *, forward: bool) -> int | None:
    """Return the key of the next or the previous record of the run in file order; None at the end."""
    order = replace(SORTS["file"], descends=not forward)
    place = (evaluation.first_import_id, evaluation.first_line)
    rows = _after(evaluation.run.evaluations.all(), order, place)
    return _ordered(rows, order, for_api=False).values_list("pk", flat=True).first()


def status_sizes(progress: Progress) -> dict[str, int]:
    """Return the number of records by counted status. The key "" has the number of all records."""
    return {
        "": progress.total,
        "waiting": progress.waiting,
        "claimed": progress.claimed,
        "escalated": progress.escalated,
        "done": progress.done,
        "not-required": progress.not_required,
    }


def known_total(run: Run, filters: Filters, progress: Progress) -> int | None:
    """Return the number of records that a reader finds by filters, if it is kept; None otherwise."""
    names = {name for name, _ in filters.values}
    if names <= {"status"}:
        statuses = filters.values_of("status") or [""]
        return status_sizes(progress).get(statuses[0]) if len(statuses) == 1 else None
    # The number of records that a reader may still review blind depends on the reader.
    if not names <= strata.FILTERS.keys() or (run.blind_share and filters.reveals("judge output")):
        return None
    if strata.why_not_counted(run):
        return None
    return strata.count(run, {name: filters.values_of(name) for name in names})

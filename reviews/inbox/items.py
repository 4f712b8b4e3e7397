"""List and count what waits for a person, and find the item after a settled one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Count, Min, Q, Value

from reviews.database.compiled_queries import with_constants
from reviews.database.pagination import split_page
from reviews.database.statements import fetch_all, prepared_statements
from reviews.inbox.kinds import BY_NAME, KINDS, Kind, Rows
from reviews.inbox.place import Place
from reviews.models import FileConflict, Notification, Run, User
from reviews.models.runs import sees_every_run
from reviews.review import disagreements
from reviews.review.answers import unread_keys
from reviews.review.escalations import REASONS
from reviews.webhooks.deliveries import failed_deliveries

# Items of a kind on the first page, and on a page with one kind.
SHOWN, PAGE_SIZE = 10, 50


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person."""

    kind: Kind
    place: Place
    #: The escalation, run, spot check, known answer, import, export or person.
    row: Any
    #: The point at issue, the reason or the error; empty without one.
    point: str = ""
    #: The number of conflicts or e-mails.
    count: int = 0
    #: When it began to wait.
    since: Any = None


class Group(NamedTuple):
    kind: Kind
    items: list[Item]
    total: int

    @property
    def more(self) -> int:
        """The number of items that are not listed."""
        return self.total - len(self.items)


@dataclass(frozen=True)
class Inbox:
    """Everything that waits for a person, of one run or of all."""

    person: User
    run: Run | None = None

    @cached_property
    def counts(self) -> dict[str, int]:
        return _count(self.person, self.run).of_kinds

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def groups(self, size: int | None = None) -> list[Group]:
        """Return the kinds that have items, each with its `size` or `SHOWN` oldest ones."""
        return [
            Group(kind, self._load(kind, self._rows(kind)[: size or SHOWN]), self.counts[kind.name])
            for kind in KINDS
            if self.counts[kind.name]
        ]

    def page(self, kind: Kind, after: int | None, size: int | None = None) -> tuple[list[Item], str]:
        """Return a page of the items of one kind, and the cursor of the next page."""
        rows, size = self._rows(kind), size or PAGE_SIZE
        if after is not None:
            rows = rows.filter(position__gt=after)
        page = split_page(rows[: size + 1], size, lambda row: str(row.position))
        return self._load(kind, page.rows), page.next_after

    def find(self, place: Place) -> Item | None:
        """Return the item at a place, if it still waits."""
        kind = BY_NAME[place.kind]
        return next(iter(self._load(kind, self._rows(kind).filter(position=place.position)[:1])), None)

    def next_item(self, place: Place | None) -> Item | None:
        """Return the item after a place, or the first one after the last; None if none is left."""
        kinds = [*KINDS]
        if place:
            first = kinds.index(BY_NAME[place.kind])
            later = self._rows(kinds[first]).filter(position__gt=place.position)[:1]
            if found := self._load(kinds[first], later):
                return found[0]
            kinds = [*kinds[first + 1 :], *kinds[: first + 1]]
        waiting = _count(self.person, self.run, most=1).of_kinds
        for kind in kinds:
            if waiting[kind.name] and (found := self._load(kind, self._rows(kind)[:1])):
                return found[0]
        return None

    def _rows(self, kind: Kind) -> Rows:
        return kind.rows_for(self.person, self.run).order_by("position")

    def _load(self, kind: Kind, rows: Iterable[Any]) -> list[Item]:
        found = list(rows)
        values = _DETAILS[kind.name](found, self.person)
        run = self.run.pk if self.run else None
        return [
            Item(kind, Place(kind.name, row.position, run), row, **one)
            for row, one in zip(found, values, strict=True)
        ]


class Waiting(NamedTuple):
    """The number of items that wait for a person."""

    #: The number of items in the inbox.
    number: int = 0
    #: Whether the person may have unread answers to escalations, which are not in the inbox.
    may_have_answers: bool = True


def count_up_to(most: int, person: User) -> Waiting:
    """Count what waits for a person, at most `most` items of each kind: further items cost nothing."""
    counts = _count(person, None, most)
    return Waiting(sum(counts.of_kinds.values()), counts.has_answers)


# They stand for the person and the run in a compiled statement.
_PERSON, _RUN = -1, -2


class _Counts(NamedTuple):
    of_kinds: dict[str, int]
    #: Whether the person has unread answers.
    has_answers: bool


@prepared_statements()
def _count(person: User, run: Run | None, most: int | None = None) -> _Counts:
    """Count the items of each kind, all or at most `most` of them, in one query."""
    counts, has_answers = dict.fromkeys(BY_NAME, 0), False
    kinds = tuple(kind for kind in KINDS if kind.has_rows_for(person, run))
    if kinds:
        statement, values = _counting_statement(
            kinds, most, sees_all=sees_every_run(person), of_run=bool(run)
        )
        keys = {_PERSON: person.pk, _RUN: run.pk if run else None}
        [(*found, has_answers)] = fetch_all(statement, [keys[one] for one in values])
        counts |= zip((kind.name for kind in kinds), found, strict=True)
    return _Counts(counts, has_answers)


@cache
def _counting_statement(
    kinds: tuple[Kind, ...], most: int | None, *, sees_all: bool, of_run: bool
) -> tuple[str, list[Any]]:
    """Return the statement that counts items of these kinds and looks for answers, and its parameters.

    Every page of a lead shows the number, and compiling the statement takes longer than all other work on it.
    """
    # An inactive person has no permissions, a superuser has all of them: neither takes a query.
    person = User(pk=_PERSON, is_active=sees_all, is_superuser=sees_all)
    counts: list[str] = []
    values: list[Any] = []
    for kind in kinds:
        rows = kind.all_rows(person, _RUN if of_run else None).order_by().values_list(Value(1))
        statement, of_kind = rows.query.sql_with_params()
        # Not a parameter, which a plan that is kept could not consider.
        limit = "ALL" if most is None else int(most)
        counts.append(f"(SELECT COUNT(*) FROM ({statement} LIMIT {limit}) AS waiting)")  # noqa: S608 (Django's SQL)
        values += of_kind
    statement, of_answers = unread_keys(person).order_by().query.sql_with_params()
    values += of_answers
    selected = f"SELECT {', '.join(counts)}, EXISTS ({statement})"
    return with_constants(selected, values, parameters=(_PERSON, _RUN))


# The content of items by kind. A function takes the rows of a page and returns the values of their items.


def _of_questions(rows: list[Any], _: User) -> list[dict[str, Any]]:
    return [
        {
            "point": row.note or ("" if row.reason == "question" else REASONS.get(row.reason, "")),
            "since": row.raised_at,
        }
        for row in rows
    ]


def _of_disagreements(rows: list[Any], person: User) -> list[dict[str, Any]]:
    found = disagreements.find_disagreements([row.evaluation_id for row in rows], person)
    points = [found.get(row.evaluation_id) for row in rows]
    return [
        {"point": disagreements.describe_disagreement(point) if point else "", "since": row.raised_at}
        for row, point in zip(rows, points, strict=True)
    ]


def _of_conflicts(rows: list[Any], _: User) -> list[dict[str, Any]]:
    is_open = FileConflict.objects.filter(run__in=[row.pk for row in rows], outcome=FileConflict.Outcome.OPEN)
    counted = is_open.values("run").annotate(count=Count("pk"), first=Min("pk"))
    counts = {one["run"]: one["count"] for one in counted}
    first = FileConflict.objects.select_related("source").only("source__finished_at", "source__created_at")
    oldest = first.in_bulk([row.position for row in rows])
    return [
        {"count": counts.get(row.pk, 0), "since": one.source.imported_at if one else row.created_at}
        for row, one in ((row, oldest.get(row.position)) for row in rows)
    ]


def _since(name: str) -> Callable[[list[Any], User], list[dict[str, Any]]]:
    """Return a function for items with only the time in an attribute of their row."""
    read = attrgetter(name)
    return lambda rows, _: [{"since": read(row)} for row in rows]


def _of_jobs(rows: list[Any], _: User) -> list[dict[str, Any]]:
    return [{"point": row.error, "since": row.finished_at or row.created_at} for row in rows]


def _of_mails(rows: list[Any], _: User) -> list[dict[str, Any]]:
    failed = Notification.objects.filter(person__in=[row.pk for row in rows], state=Notification.State.FAILED)
    by_person = {
        one["person"]: one
        for one in failed.values("person").annotate(
            number=Count("pk"), first=Min("created_at"), reason=Min("error", filter=~Q(error=""))
        )
    }
    return [
        {"count": one["number"], "since": one["first"], "point": one["reason"] or ""}
        for one in (by_person.get(row.pk, _NO_MESSAGES) for row in rows)
    ]


def _of_webhooks(rows: list[Any], _: User) -> list[dict[str, Any]]:
    counted = failed_deliveries().filter(webhook__in=rows).values("webhook")
    by_webhook = {
        one["webhook"]: one for one in counted.annotate(number=Count("pk"), first=Min("created_at"))
    }
    return [
        {"count": one["number"], "since": one["first"]}
        for one in (by_webhook.get(row.pk, _NO_MESSAGES) for row in rows)
    ]


def _of_plans(rows: list[Any], _: User) -> list[dict[str, Any]]:
    return [{"point": f"\N{PLUS-MINUS SIGN}{100 * row.review_plan['target']:g} points"} for row in rows]


_NO_MESSAGES: dict[str, Any] = {"number": 0, "first": None, "reason": ""}
_DETAILS = {
    "question": _of_questions,
    "disagreement": _of_disagreements,
    "conflict": _of_conflicts,
    "check": _since("drawn_at"),
    "answer": _since("known_answer_check.started_at"),
    "import": _of_jobs,
    "export": _of_jobs,
    "mail": _of_mails,
    "webhook": _of_webhooks,
    "plan": _of_plans,
    "rubric": _since("created_at"),
}

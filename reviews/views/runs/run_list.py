"""The list of runs: its filters and order, read from the address, and a page of runs with their progress."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import F, FloatField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import Expression, OrderBy
from django.db.models.functions import Cast, Coalesce, Lower, NullIf

from reviews.days import midnight, next_midnight, read_day
from reviews.models import Import, Run, RunCount, User
from reviews.queue import progress as queue_progress
from reviews.queue.next_record import runs_with_records
from reviews.queue.progress import Progress
from reviews.records.status import COUNTED_AS_DONE, QUEUE_STATUSES

PAGE_SIZE = 50
STATES = {"": "Current", "open": "Open", "reviewed": "Reviewed", "archived": "Archived"}
_LEFT, _DONE = F("left"), F("done")


class SortableColumn(NamedTuple):
    title: str
    by: Expression | F
    #: Whether the first click sorts it from the largest value.
    descends: bool = False
    #: Whether the table aligns its values like numbers.
    is_number: bool = False


COLUMNS = {
    "name": SortableColumn("Run", Lower("name")),
    "progress": SortableColumn(
        "Progress", Cast(_DONE, FloatField()) / NullIf(_LEFT + _DONE, 0), descends=True
    ),
    "left": SortableColumn("Left", _LEFT, descends=True, is_number=True),
    "due": SortableColumn("Due", F("due_on")),
    "created": SortableColumn("Created", F("created_at"), descends=True),
}
DEFAULT_SORT = "-created"


class Header(NamedTuple):
    column: SortableColumn
    #: The query string that sorts by it.
    query: str
    #: "ascending", "descending" or empty.
    sorted: str


class RunRow(NamedTuple):
    run: Run
    progress: Progress
    #: Who imported its first file; empty if the program did.
    owner: str
    #: Whether the run has a record for the reader.
    has_record: bool


@dataclass(frozen=True)
class RunList:
    """The search, filters and order in the address. Invalid values are ignored and listed in `problems`."""

    text: str = ""
    state: str = ""
    owner: str = ""
    created_from: dt.date | None = None
    created_until: dt.date | None = None
    #: A key of `COLUMNS`, with a minus for descending order.
    sort: str = DEFAULT_SORT
    problems: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Self:
        problems: list[str] = []
        sort, state = query.get("sort", ""), query.get("state", "")
        return cls(
            text=query.get("q", "").replace("\0", "").strip()[:200],
            state=state if state in STATES else "",
            owner=query.get("owner", "").replace("\0", "").strip()[:150],
            created_from=_day(query.get("created-from", ""), problems),
            created_until=_day(query.get("created-until", ""), problems),
            sort=sort if sort.removeprefix("-") in COLUMNS else DEFAULT_SORT,
            problems=tuple(problems),
        )

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves out current runs."""
        return self != RunList(sort=self.sort)

    def query(self, **changes: str) -> str:
        """Return the query string of this list with changes; empty values are left out."""
        values = {
            "q": self.text,
            "state": self.state,
            "owner": self.owner,
            "created-from": self.created_from or "",
            "created-until": self.created_until or "",
            "sort": "" if self.sort == DEFAULT_SORT else self.sort,
        } | changes
        return urlencode({name: value for name, value in values.items() if value})

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        """The states: title, query string, and whether it is the current one."""
        return [(title, self.query(state=state), state == self.state) for state, title in STATES.items()]

    @property
    def headers(self) -> list[Header]:
        """The heads of the columns. A second click reverses the order."""
        found = []
        for name, column in COLUMNS.items():
            is_current, is_descending = self.sort.removeprefix("-") == name, self.sort.startswith("-")
            descends = not is_descending if is_current else column.descends
            words = ("descending" if is_descending else "ascending") if is_current else ""
            found.append(Header(column, self.query(sort=f"-{name}" if descends else name), words))
        return found

    def found(self, reader: User) -> QuerySet[Run]:
        """Return the runs that the reader may see, in order."""
        visible: QuerySet[Run] = Run.objects.visible_to(reader)
        runs = visible.filter(archived_at__isnull=self.state != "archived")
        counts = (
            RunCount.objects.filter(run=OuterRef("pk"))
            .order_by()
            .values("run")
            .annotate(sum=Sum("evaluations"))
        )
        runs = runs.annotate(
            left=Coalesce(Subquery(counts.filter(status__in=QUEUE_STATUSES).values("sum")), 0),
            done=Coalesce(Subquery(counts.filter(status__in=COUNTED_AS_DONE).values("sum")), 0),
        )
        if self.state == "open":
            runs = runs.filter(left__gt=0)
        elif self.state == "reviewed":
            runs = runs.filter(left=0, done__gt=0)
        for word in self.text.split():
            runs = runs.filter(name__icontains=word)
        if self.owner:
            runs = runs.alias(owner=_OWNER).filter(owner=self.owner)
        if self.created_from:
            runs = runs.filter(created_at__gte=midnight(self.created_from))
        if self.created_until:
            runs = runs.filter(created_at__lt=next_midnight(self.created_until))
        by = COLUMNS[self.sort.removeprefix("-")].by
        order = OrderBy(by, descending=self.sort.startswith("-"), nulls_last=True)
        return runs.order_by(order, "-pk")


# The person who imported the first file of a run.
_OWNER = Subquery(Import.objects.filter(run=OuterRef("pk")).order_by("pk").values("created_by__username")[:1])


def load_page(shown: RunList, reader: User, number: str) -> dict[str, Any]:
    """Return the context of a page of runs: the page, its rows, and the owners to choose from."""
    page = Paginator(shown.found(reader).annotate(owner=_OWNER), PAGE_SIZE).get_page(number)
    runs = list(page.object_list)
    counted = dict(queue_progress.all_progress(Run.objects.filter(pk__in=[run.pk for run in runs])))
    importers = Import.objects.filter(run__in=Run.objects.visible_to(reader)).values("created_by").distinct()
    offered = runs_with_records(runs=[run for run in runs if not run.archived_at], reviewer=reader)
    return {
        "list": shown,
        "page": page,
        "rows": [RunRow(run, counted[run], vars(run)["owner"] or "", run in offered) for run in runs],
        "owners": User.objects.filter(pk__in=importers).order_by("username"),
        "next": f"?{shown.query(page=str(page.next_page_number()))}" if page.has_next() else "",
        "previous": f"?{shown.query(page=str(page.previous_page_number()))}" if page.has_previous() else "",
    }


def _day(text: str, problems: list[str]) -> dt.date | None:
    if not text.strip():
        return None
    try:
        return read_day(text.strip())
    except ValueError as error:
        problems.append(str(error))
        return None

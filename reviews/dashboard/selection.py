"""The work that the dashboard counts: of a run, of some days, of a reviewer."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from reviews.database.statements import fetch_all
from reviews.days import midnight, next_midnight, today
from reviews.models import Run, User
from reviews.records.status import QUEUE_STATUSES

# Open independent reviews count as work done, but their changes are not counted yet: the difference that one
# makes would reveal it to leads who may still give theirs.
_WORDS = ", ".join(f"'{word}'" for word in QUEUE_STATUSES)
OPEN_REVIEWS = f"""
    SELECT independent_review.review_id FROM independent_review
    JOIN evaluation ON evaluation.id = independent_review.evaluation_id
    WHERE independent_review.is_open AND evaluation.human_review_status IN ({_WORDS})
"""  # noqa: S608 (constants)
#: The condition of a selection about `review`, with `WorkSelection.parameters`.
SELECTED = """
    (%(run)s::bigint IS NULL OR run_id = %(run)s) AND run_id <> ALL(%(hidden_runs)s::bigint[])
      AND (%(reviewer)s::bigint IS NULL OR reviewer_id = %(reviewer)s)
      AND (%(start)s::timestamptz IS NULL OR submitted_at >= %(start)s)
      AND (%(end)s::timestamptz IS NULL OR submitted_at < %(end)s)
"""


@dataclass(frozen=True)
class WorkSelection:
    """The work to count. None does not filter. Days are in UTC and inclusive."""

    run: Run | None = None
    first: dt.date | None = None
    last: dt.date | None = None
    reviewer: User | None = None
    #: Keys of runs to leave out, because the reader may not see them.
    hidden_runs: tuple[int, ...] = ()

    @property
    def _start(self) -> dt.datetime | None:
        return midnight(self.first) if self.first else None

    @property
    def _end(self) -> dt.datetime | None:
        """The midnight after the last day, or None if the calendar ends there."""
        if self.last is None or self.last == dt.date.max:
            return None
        return next_midnight(self.last)

    @property
    def before(self) -> "WorkSelection | None":
        """The same work in the period of equal length before. None if the selection has no first day."""
        if self.first is None:
            return None
        last = min(self.last or dt.date.max, today())
        length = max(dt.timedelta(days=1), last - self.first + dt.timedelta(days=1))
        try:
            return replace(self, first=self.first - length, last=self.first - dt.timedelta(days=1))
        except OverflowError:  # before the first day of the calendar
            return None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of this module's SQL statements."""
        return {
            "run": self.run.pk if self.run else None,
            "reviewer": self.reviewer.pk if self.reviewer else None,
            "start": self._start,
            "end": self._end,
            "hidden_runs": list(self.hidden_runs),
        }

    def condition(self, *, run: str = "run", reviewer: str = "reviewer", at: str = "submitted_at") -> Q:
        """Return the same condition for a query, given the names of its fields."""
        given = {reviewer: self.reviewer, f"{at}__gte": self._start, f"{at}__lt": self._end}
        return _given(given) & self.in_runs(run)

    def of_reviews(self) -> Q:
        """Return the same condition for a query with a foreign key to a review."""
        return self.condition(run="review__run", reviewer="review__reviewer", at="review__submitted_at")

    def on_days(self) -> Q:
        """Return the same condition for rows that represent a whole day."""
        given = {"reviewer": self.reviewer, "day__gte": self.first, "day__lte": self.last}
        return _given(given) & self.in_runs()

    def in_runs(self, run: str = "run") -> Q:
        """Return the part of the condition about runs; `run` is the path to the row's run."""
        is_visible = ~Q(**{f"{run}__in": self.hidden_runs}) if self.hidden_runs else Q()
        return _given({run: self.run}) & is_visible


def _given(values: dict[str, Any]) -> Q:
    return Q(**{field: value for field, value in values.items() if value is not None})


def selected_rows(statement: str, selection: WorkSelection, **more: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement with the parameters of a selection, and `more` ones."""
    return fetch_all(statement, selection.parameters | more)


def people_by_key(keys: Iterable[int]) -> dict[int, User]:
    """Return users by key, sorted by username."""
    return {user.pk: user for user in User.objects.filter(pk__in=set(keys)).order_by("username")}


def rate(part: int, whole: int) -> float | None:
    """Return a share from 0 to 1, or None without a base."""
    return part / whole if whole else None

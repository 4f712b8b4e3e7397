"""Figures about the work of reviewers.

They are signals to look into, not verdicts about a person. Only decisions that were made here and not
withdrawn count. Reviews from before a measurement was introduced are omitted from its figure, and each
figure states its base. Callers must check permissions: only leads may see the figures of others.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from reviews.evidence.reading_time import MS_PER_WORD, WORDS_PER_MINUTE
from reviews.models import CriterionDay, Escalation, Overturn, Run, SpotCheck, User
from reviews.records.status import QUEUE_STATUSES

# Definitions for pages, by the fields of `ReviewerFigures`.
DEFINITIONS = {
    "done": "Submitted decisions that were not undone. A revision counts again. Independent reviews that "
    "wait for others count here, but not in figures about changes until the record is decided.",
    "skipped": "How often a record was skipped, whatever happened to it later.",
    "returned": "How often the reviewer released a record.",
    "escalated": "Records escalated to a lead and not withdrawn.",
    "median_seconds": "The median active time of a review. Time is active while the page is visible and in "
    "use. Idle time is capped, and reading on paper or in another window does not count.",
    "override_rate": "The share of the judge's scores that the reviewer changed or removed. No value is "
    "right by itself: it depends on the judge.",
    "change_rate": "The share of reviews that change the score of at least one criterion or name a cause.",
    "verdict_change_rate": "The share of reviews whose verdict (Pass, Partial, Fail) is not the judge's.",
    "longest_agreement": "The longest streak of reviews without a change. A good judge leads to long "
    "streaks, and so does agreeing without looking. A spot check shows which it was.",
    "current_agreement": "Reviews since the last one with a change.",
    "fast_rate": f"The share of reviews with less active time than it takes to read the model's response "
    f"and the judge's justifications once, at {WORDS_PER_MINUTE} words a minute (silent reading of English "
    f"non-fiction: Brysbaert 2019, Journal of Memory and Language 109). Reviewers who know a task need less.",
    "overturned": "Decisions that someone later changed, reopened, or replaced by an import, with the "
    "reason.",
    "agreement_rate": "The share of spot-checked decisions that the lead agreed with.",
}


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
        return _midnight(self.first) if self.first else None

    @property
    def _end(self) -> dt.datetime | None:
        """The midnight after the last day, or None if the calendar ends there."""
        if self.last is None or self.last == dt.date.max:
            return None
        return _midnight(self.last + dt.timedelta(days=1))

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

    def of_reviews(self, review: str = "review") -> Q:
        """Return the same condition for a query with a foreign key to a review."""
        return self.condition(
            run=f"{review}__run", reviewer=f"{review}__reviewer", at=f"{review}__submitted_at"
        )

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


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class ReviewerFigures(NamedTuple):
    """The figures of one reviewer: see `DEFINITIONS`. Rates are from 0 to 1, and None without a base."""

    reviewer: User
    done: int = 0
    #: The base of `median_seconds`.
    timed: int = 0
    median_seconds: float | None = None
    #: The base of `changed`.
    compared: int = 0
    changed: int = 0
    #: The base of `verdict_changes`.
    verdicts: int = 0
    verdict_changes: int = 0
    #: The base of `fast`.
    read: int = 0
    fast: int = 0
    longest_agreement: int = 0
    current_agreement: int = 0
    #: The base of `overridden`, in criteria.
    judged: int = 0
    overridden: int = 0
    skipped: int = 0
    returned: int = 0
    escalated: int = 0
    overturned: int = 0
    #: The base of `upheld`.
    checked: int = 0
    upheld: int = 0

    @property
    def override_rate(self) -> float | None:
        return _rate(self.overridden, self.judged)

    @property
    def change_rate(self) -> float | None:
        return _rate(self.changed, self.compared)

    @property
    def verdict_change_rate(self) -> float | None:
        return _rate(self.verdict_changes, self.verdicts)

    @property
    def fast_rate(self) -> float | None:
        return _rate(self.fast, self.read)

    @property
    def agreement_rate(self) -> float | None:
        return _rate(self.upheld, self.checked)


class CriterionOverrides(NamedTuple):
    """How often the judge's score of a criterion was overridden."""

    criterion: str
    judged: int
    overridden: int
    #: None for all reviewers.
    reviewer: User | None = None

    @property
    def override_rate(self) -> float | None:
        return _rate(self.overridden, self.judged)


class DayFigures(NamedTuple):
    """The decisions of one reviewer on one day (UTC)."""

    day: dt.date
    reviewer: User
    done: int
    #: Decisions that changed anything.
    changed: int


# Open independent reviews count as work done, but their changes are not counted yet: the difference that one
# makes would reveal it to leads who may still give theirs.
_WORDS = ", ".join(f"'{word}'" for word in QUEUE_STATUSES)
_OPEN = f"""
    SELECT independent_review.review_id FROM independent_review
    JOIN evaluation ON evaluation.id = independent_review.evaluation_id
    WHERE independent_review.is_open AND evaluation.human_review_status IN ({_WORDS})
"""  # noqa: S608 (constants)
_SELECTED = """
    (%(run)s::bigint IS NULL OR run_id = %(run)s) AND run_id <> ALL(%(hidden_runs)s::bigint[])
      AND (%(reviewer)s::bigint IS NULL OR reviewer_id = %(reviewer)s)
      AND (%(start)s::timestamptz IS NULL OR submitted_at >= %(start)s)
      AND (%(end)s::timestamptz IS NULL OR submitted_at < %(end)s)
"""
# The reviews that count. Everything here is in an index of its own: the rows hold texts, and are not read.
_COUNTED = f"""
    FROM review LEFT JOIN ({_OPEN}) waiting ON waiting.review_id = id
    WHERE origin = 'reviewer' AND id NOT IN (SELECT review_id FROM withdrawal) AND {_SELECTED}
"""  # noqa: S608 (constants)
# The part of `CriterionDay` that open independent reviews make up, by criterion and reviewer.
_OPEN_BY_CRITERION = f"""
    SELECT left(key, 200), reviewer_id, count(*),
           count(*) FILTER (WHERE corrected_scores -> key -> 'score' IS DISTINCT FROM value)
    FROM review, jsonb_each(judged) WHERE id IN ({_OPEN}) AND {_SELECTED} GROUP BY 1, 2
"""  # noqa: S608 (constants)
# The figures of a reviewer in the order of these fields; and each review in turn as a letter, so that rows
# of agreement come out of the same pass.
_WORK_FIELDS = ReviewerFigures._fields[1 : ReviewerFigures._fields.index("fast") + 1]
_WORK = f"""
    SELECT reviewer_id, count(*) AS done, count(active_ms) AS timed,
           percentile_disc(0.5) WITHIN GROUP (ORDER BY active_ms) / 1000.0::float AS median_seconds,
           count(changes) FILTER (WHERE waiting IS NULL) AS compared,
           count(*) FILTER (WHERE changes > 0 AND waiting IS NULL) AS changed,
           count(*) FILTER (WHERE verdict IS NOT NULL AND judged_verdict IS NOT NULL AND waiting IS NULL)
               AS verdicts,
           count(*) FILTER (WHERE verdict <> judged_verdict AND waiting IS NULL) AS verdict_changes,
           count(*) FILTER (WHERE words IS NOT NULL AND active_ms IS NOT NULL) AS read,
           count(*) FILTER (WHERE active_ms < words::bigint * {MS_PER_WORD}) AS fast,
           string_agg(CASE WHEN changes > 0 THEN 'x' WHEN changes = 0 THEN '=' END, '' ORDER BY id)
               FILTER (WHERE waiting IS NULL) AS agreed
    {_COUNTED} GROUP BY reviewer_id
"""
_SKIPPED_AND_RELEASED = """
    SELECT actor_id, count(*) FILTER (WHERE action = 'skip') AS skipped,
           count(*) FILTER (WHERE action = 'release' AND detail ->> 'claimed_by' = actor_name) AS returned
    FROM audit_event
    WHERE action IN ('skip', 'release') AND actor_id IS NOT NULL
      AND (%(run)s::bigint IS NULL OR run_id = %(run)s) AND run_id <> ALL(%(hidden_runs)s::bigint[])
      AND (%(reviewer)s::bigint IS NULL OR actor_id = %(reviewer)s)
      AND (%(start)s::timestamptz IS NULL OR at >= %(start)s)
      AND (%(end)s::timestamptz IS NULL OR at < %(end)s)
    GROUP BY actor_id
"""
_DAYS = f"""
    SELECT (submitted_at AT TIME ZONE 'UTC')::date AS day, reviewer_id, count(*),
           count(*) FILTER (WHERE changes > 0 AND waiting IS NULL)
    {_COUNTED} GROUP BY 1, 2 ORDER BY 1
"""

# A withdrawn revision overturns nothing.
NOT_WITHDRAWN = Q(by__withdrawal=None)
# Some fields of `ReviewerFigures`, by the key of the reviewer.
_Figures = dict[int, dict[str, Any]]


def reviewer_figures(selection: WorkSelection) -> list[ReviewerFigures]:
    """Return the figures of every reviewer with any work in the selection, by username."""
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for part in (_work, _overridden, _skipped_and_released, _escalated, _overturned, _checked):
        for pk, figures in part(selection).items():
            found[pk] |= figures
    shown = {pk: figures for pk, figures in found.items() if any(figures.values())}
    return [ReviewerFigures(person, **shown[pk]) for pk, person in _people(shown).items()]


def criterion_overrides(selection: WorkSelection) -> list[CriterionOverrides]:
    """Return the overrides of all reviewers together, highest rate first."""
    rows = _by_criterion(selection, "criterion")
    return sorted((CriterionOverrides(*row) for row in rows), key=_by_rate)


def criterion_overrides_by_reviewer(selection: WorkSelection) -> list[CriterionOverrides]:
    """Return the overrides of each reviewer, by username."""
    rows = _by_criterion(selection, "criterion", "reviewer")
    people = _people(row[1] for row in rows)
    found = [
        CriterionOverrides(name, judged, overridden, people[pk]) for name, pk, judged, overridden in rows
    ]
    return sorted(found, key=lambda one: (str(one.reviewer), *_by_rate(one)))


def day_figures(selection: WorkSelection) -> list[DayFigures]:
    """Return the days with decisions, in chronological order."""
    rows = _rows(_DAYS, selection)
    people = _people(row[1] for row in rows)
    return [DayFigures(day, people[pk], done, changed) for day, pk, done, changed in rows]


def _people(keys: Iterable[int]) -> dict[int, User]:
    """Return users by key, sorted by username."""
    return {user.pk: user for user in User.objects.filter(pk__in=set(keys)).order_by("username")}


def _by_criterion(selection: WorkSelection, *fields: str) -> list[tuple[Any, ...]]:
    """Sum compared and overridden scores by the given fields, without open independent reviews."""
    rows = CriterionDay.objects.filter(selection.on_days()).values_list(*fields)
    counted = {tuple(key): [judged, overridden] for *key, judged, overridden in _summed(rows)}
    for criterion, reviewer, judged, overridden in _rows(_OPEN_BY_CRITERION, selection):
        values = {"criterion": criterion, "reviewer": reviewer}
        sums = counted[tuple(values[field] for field in fields)]
        sums[0] -= judged
        sums[1] -= overridden
    return [(*key, *sums) for key, sums in counted.items() if sums[0] > 0]


def _summed(rows: "QuerySet[CriterionDay, Any]") -> Iterable[tuple[Any, ...]]:
    return rows.annotate(Sum("judged"), Sum("overridden")).filter(judged__sum__gt=0).order_by()


def _by_rate(figures: CriterionOverrides) -> tuple[float, str]:
    return -(figures.override_rate or 0), figures.criterion


def _work(selection: WorkSelection) -> _Figures:
    found = {}
    for pk, *counted, agreed in _rows(_WORK, selection):
        in_a_row = [len(row) for row in (agreed or "").split("x")]
        agreement = {"longest_agreement": max(in_a_row), "current_agreement": in_a_row[-1]}
        found[pk] = dict(zip(_WORK_FIELDS, counted, strict=True)) | agreement
    return found


def _overridden(selection: WorkSelection) -> _Figures:
    rows = _by_criterion(selection, "reviewer")
    return {pk: {"judged": judged, "overridden": overridden} for pk, judged, overridden in rows}


def _skipped_and_released(selection: WorkSelection) -> _Figures:
    rows = _rows(_SKIPPED_AND_RELEASED, selection)
    return {pk: {"skipped": skipped, "returned": returned} for pk, skipped, returned in rows}


def _escalated(selection: WorkSelection) -> _Figures:
    raised = Escalation.objects.filter(selection.condition(reviewer="raised_by", at="raised_at"))
    raised = raised.exclude(outcome=Escalation.Outcome.WITHDRAWN).exclude(
        kind=Escalation.Kind.DISAGREEMENT  # where disagreement nobody chose to
    )
    return {pk: {"escalated": count} for pk, count in raised.values_list("raised_by").annotate(Count("pk"))}


def _overturned(selection: WorkSelection) -> _Figures:
    counted = Overturn.objects.filter(NOT_WITHDRAWN, selection.of_reviews()).values_list("review__reviewer")
    return {pk: {"overturned": count} for pk, count in counted.annotate(Count("review", distinct=True))}


def _checked(selection: WorkSelection) -> _Figures:
    completed = SpotCheck.objects.exclude(outcome=SpotCheck.Outcome.OPEN).filter(selection.of_reviews())
    agreed = Count("pk", filter=Q(outcome=SpotCheck.Outcome.AGREED))
    rows = completed.values_list("reviewer").annotate(checked=Count("pk"), upheld=agreed)
    return {pk: {"checked": checked, "upheld": upheld} for pk, checked, upheld in rows}


def _rows(statement: str, selection: WorkSelection) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, selection.parameters)
        return list(cursor.fetchall())

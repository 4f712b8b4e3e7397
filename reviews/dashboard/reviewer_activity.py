"""Figures about the work of reviewers.

They are signals to look into, not verdicts about a person. Only decisions that were made here and not
withdrawn count. Reviews from before a measurement was introduced are omitted from its figure, and each
figure states its base. Callers must check permissions: only leads may see the figures of others.
"""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Q
from numpy.typing import NDArray

from reviews.dashboard.daily_counts import overrides_by
from reviews.dashboard.selection import OPEN_REVIEWS, SELECTED, WorkSelection, people_by_key, selected_rows
from reviews.evidence.reading_time import MS_PER_WORD, WORDS_PER_MINUTE
from reviews.models import Escalation, Overturn, SpotCheck, User

_ACTIVE = (
    "Time is active while the page is visible and in use. Idle time is capped, and reading on paper or in "
    "another window does not count."
)
# Definitions for pages, by the fields of `ReviewerFigures`.
DEFINITIONS = {
    "done": "Submitted decisions that were not undone. A revision counts again. Independent reviews that "
    "wait for others count here, but not in figures about changes until the record is decided.",
    "skipped": "How often a record was skipped, whatever happened to it later.",
    "returned": "How often the reviewer released a record.",
    "escalated": "Records escalated to a lead and not withdrawn.",
    "median_seconds": f"The median active time of a review. {_ACTIVE}",
    "override_rate": "The share of the judge's scores that the reviewer changed or removed. Scores that "
    "differ only in case, such as YES and Yes, are the same. No value is right by itself: it depends on the "
    "judge.",
    "change_rate": "The share of reviews that change the score of at least one criterion or name a cause.",
    "changed": "Reviews that change the score of at least one criterion or name a cause.",
    "verdict_change_rate": "The share of reviews whose verdict (Pass, Partial, Fail) is not the judge's.",
    "longest_agreement": "The longest streak of reviews without a change. A good judge leads to long "
    "streaks, and so does agreeing without looking. A spot check shows which it was.",
    "current_agreement": "Reviews since the last one with a change.",
    "fast_rate": f"The share of reviews with less active time than it takes to read the model's response "
    f"and the judge's justifications once, at {WORDS_PER_MINUTE} words a minute (silent reading of English "
    f"non-fiction: Brysbaert 2019, Journal of Memory and Language 109). Reviewers who know a task need less.",
    "overturned": "Decisions that someone later changed, reopened, or replaced by an import, with the "
    "reason.",
    "agreement_rate": "The share of spot-checked decisions that the lead agreed with, neither corrected nor "
    "reopened. Decisions that a lead selected do not count. Interval: Wilson 1927, at 95%.",
}
#: Definitions of the same figures of a single review.
OF_A_REVIEW = {
    "active_seconds": f"The active time of the review. {_ACTIVE}",
    "words": "Words of the model's response and the judge's justifications, and of the question if the "
    f"record has no task. Reading {WORDS_PER_MINUTE} words once takes a minute.",
}


class ReviewerFigures(NamedTuple):
    """The figures of one reviewer: see `DEFINITIONS`. Rates are from 0 to 1, and None without a base."""

    reviewer: User
    done: int = 0
    #: The base of `median_seconds`.
    timed: int = 0
    median_seconds: float | None = None
    #: Decisions that took longer than the median of all reviewers. The base is `timed`.
    slower: int = 0
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


class Median(NamedTuple):
    """A median with its base."""

    seconds: float | None
    timed: int


class Team(NamedTuple):
    """The figures of several reviewers."""

    #: By username.
    reviewers: list[ReviewerFigures]
    #: The median active time of all their decisions.
    median: Median


# The reviews that count. Everything here is in an index of its own: the rows hold texts, and are not read.
_COUNTED = f"""
    FROM review LEFT JOIN ({OPEN_REVIEWS}) waiting ON waiting.review_id = id
    WHERE origin = 'reviewer' AND id NOT IN (SELECT review_id FROM withdrawal) AND {SELECTED}
"""  # noqa: S608 (constants)
# The counts of a reviewer in the order of these fields, the active times packed, and each review in turn as a
# letter, so that rows of agreement come out of the same pass. The subquery puts them in order: an aggregate
# with ORDER BY sorts again, which takes three times as long.
_WORK_FIELDS = ("done", "timed", "compared", "changed", "verdicts", "verdict_changes", "read", "fast")
_WORK = f"""
    SELECT reviewer_id, count(*) AS done, count(active_ms) AS timed,
           count(changes) FILTER (WHERE waiting IS NULL) AS compared,
           count(*) FILTER (WHERE changes > 0 AND waiting IS NULL) AS changed,
           count(*) FILTER (WHERE verdict IS NOT NULL AND judged_verdict IS NOT NULL AND waiting IS NULL)
               AS verdicts,
           count(*) FILTER (WHERE verdict <> judged_verdict AND waiting IS NULL) AS verdict_changes,
           count(*) FILTER (WHERE words IS NOT NULL AND active_ms IS NOT NULL) AS read,
           count(*) FILTER (WHERE active_ms < words::bigint * {MS_PER_WORD}) AS fast,
           string_agg(int4send(active_ms), '') AS times,
           string_agg(CASE WHEN changes > 0 THEN 'x' WHEN changes = 0 THEN '=' END, '')
               FILTER (WHERE waiting IS NULL) AS agreed
    FROM (
        SELECT reviewer_id, active_ms, words, changes, verdict, judged_verdict, waiting.review_id AS waiting
        {_COUNTED} ORDER BY reviewer_id, id
    ) AS counted
    GROUP BY reviewer_id
"""  # noqa: S608 (constants)
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
_MEDIAN = f"""
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY active_ms) / 1000, count(active_ms) {_COUNTED}
"""

# A withdrawn revision overturns nothing.
NOT_WITHDRAWN = Q(by__withdrawal=None)
# Some fields of `ReviewerFigures`, by the key of the reviewer.
_Figures = dict[int, dict[str, Any]]


def team_figures(selection: WorkSelection) -> Team:
    """Return the figures of every reviewer with any work in the selection, and of everybody together."""
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    work, median = _work(selection)
    for pk, figures in work.items():
        found[pk] |= figures
    for part in (_overridden, _skipped_and_released, _escalated, _overturned, _checked):
        for pk, figures in part(selection).items():
            found[pk] |= figures
    shown = {pk: figures for pk, figures in found.items() if any(figures.values())}
    people = [ReviewerFigures(person, **shown[pk]) for pk, person in people_by_key(shown).items()]
    return Team(people, median)


def median_active_time(selection: WorkSelection) -> Median:
    """Return the median active time of all decisions in the selection."""
    [row] = selected_rows(_MEDIAN, selection)
    return Median(*row)


def _work(selection: WorkSelection) -> tuple[_Figures, Median]:
    rows = selected_rows(_WORK, selection)
    times = {pk: np.frombuffer(packed or b"", dtype=">i4") for pk, *_, packed, _ in rows}
    together = np.concatenate(list(times.values())) if times else np.empty(0, dtype=">i4")
    median = _median(together)
    found = {}
    for pk, *counted, _, agreed in rows:
        in_a_row = [len(row) for row in (agreed or "").split("x")]
        found[pk] = dict(zip(_WORK_FIELDS, counted, strict=True)) | {
            "median_seconds": _median(times[pk]).seconds,
            "slower": int((times[pk] > 1000 * (median.seconds or 0)).sum()),
            "longest_agreement": max(in_a_row),
            "current_agreement": in_a_row[-1],
        }
    return found, median


def _median(milliseconds: NDArray[np.int32]) -> Median:
    n = len(milliseconds)
    if not n:
        return Median(None, 0)
    return Median(float(np.median(milliseconds)) / 1000, n)


def _overridden(selection: WorkSelection) -> _Figures:
    rows = overrides_by(selection, "reviewer")
    return {pk: {"judged": judged, "overridden": overridden} for pk, judged, overridden in rows}


def _skipped_and_released(selection: WorkSelection) -> _Figures:
    rows = selected_rows(_SKIPPED_AND_RELEASED, selection)
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
    drawn = SpotCheck.objects.filter(selection.of_reviews(), is_selected=False)
    completed = drawn.exclude(outcome=SpotCheck.Outcome.OPEN)
    agreed = Count("pk", filter=Q(outcome=SpotCheck.Outcome.AGREED))
    rows = completed.values_list("reviewer").annotate(checked=Count("pk"), upheld=agreed)
    return {pk: {"checked": checked, "upheld": upheld} for pk, checked, upheld in rows}

"""Measure flag reasons: how often each finds a wrong verdict, what it misses, and what it costs.

All figures rest on blind ratings. A verdict is wrong if a blind rating has another one: the same event as in
the miss rate.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from django.db.models import Sum

from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import FlagAdvice, FlagPrecision, FlagReason
from reviews.judge.cells import load_cells
from reviews.judge.data_summary import MOST_REASONS, family_titles, largest_families
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import why_not_counted
from reviews.judge.rated_run import RatedRun, combine
from reviews.judge.ratings import load_ratings_by_families
from reviews.judge.scope import JudgeScope
from reviews.models import ReasonCount, RunFacet
from reviews.records.wording import counted, percent
from reviews.statistics import clusters
from reviews.statistics.intervals import product_limits, undefined
from reviews.statistics.totals import ClusterTotals

# A reason is worth a reviewer's time if at least this share of its records have a wrong verdict.
WORTH = 0.10
# No advice is given on fewer ratings.
FEWEST = 10

RULE = (
    f"Keep: the 95% interval of the precision is above {percent(WORTH)}, so at least one in {1 / WORTH:.0f} "
    f"records with the reason has a wrong verdict. Retire: the interval is below. Not enough data: the "
    f"interval includes {percent(WORTH)}, or there are fewer than {FEWEST} blind ratings of such records. "
    f"Before you retire a reason, compare its precision with the miss rate, which is the same share among "
    f"unflagged records."
)
DEFINITIONS = {
    "flagged": "How many records have the reason. This is the number of reviews that it asks for.\n\n"
    "Records of the run with a reason of the family in `review_reasons`, whatever `needs_human_review` is. "
    "A record with reasons of several families counts for each.",
    "ratings": "How many blind ratings the figures of this reason are based on. Below 10, they are no basis "
    "for a decision.\n\n"
    "Blind ratings of flagged records with the reason, with a verdict by the judge and by the reviewer.",
    "wrong": "How many of these ratings show a wrong verdict. They lead to the errors that the reason "
    "found.\n\n"
    "Blind ratings whose verdict (Pass, Partial, Fail) differs from the judge's.",
    "precision": "How many records with the reason have a wrong verdict. A reason with a low precision costs "
    "reviews and finds little.\n\n"
    "The share of records with the reason on which the judge's verdict is wrong. It is estimated from blind "
    "ratings, weighted by the number of records that they represent; the interval is clustered by task.",
    "recall": "How many of the judge's wrong verdicts are on records with the reason. The shares of several "
    "reasons overlap.\n\n"
    "Wrong verdicts on records with the reason, divided by all wrong verdicts of the run, flagged or not.",
    "minutes_per_error": "How long reviewers work to find one wrong verdict with this reason. Use it to "
    "compare reasons.\n\n"
    "The mean active minutes of the decisions on decided records with the reason, divided by the precision. "
    "Time is active while the page is visible and in use. A record with several reasons counts its "
    "whole time for each.",
    "advice": "Whether the reason is worth its reviews. Without enough ratings there is no advice.\n\n"
    f"{RULE}",
}
# Columns of totals: wrong and known verdicts on flagged records, and on unflagged ones, and all wrong ones.
_BY_FLAG = 5
_NONE_RATED = "No record with this reason has a blind rating with a verdict."


class ReviewTime(NamedTuple):
    """The time that reviews of records with a reason took."""

    #: The number of timed decisions.
    timed: int = 0
    active_minutes: float = 0.0


def left_out_sentence(left_out: int) -> str:
    """Return a sentence with the number of flag reasons that are left out; empty without any."""
    if not left_out:
        return ""
    return f"Only the {MOST_REASONS} flag reasons with most records are measured. Left out: {left_out:,}."


@cache_figures
def measure_flag_precision(scope: JudgeScope) -> FlagPrecision:
    """Measure the families of a run's flag reasons with most records."""
    run = scope.run
    if unknown := why_not_counted(run):
        return _without_counts(scope, unknown)
    records, left_out = largest_families(JudgeScope(run))
    times = _times(scope, [*records] if left_out else None)
    keys = sorted({*records, *times}, key=lambda key: (-records.get(key, 0), key))[:MOST_REASONS]
    titles = family_titles(run, keys)
    found = _measure(_totals(load_rated_families(scope).judged, keys))
    reasons = [
        _reason(key, titles.get(key, key), records.get(key, 0), one, times.get(key, ReviewTime()))
        for key, one in zip(keys, found, strict=True)
    ]
    return FlagPrecision(RULE, reasons, left_out, unknown="")


def _without_counts(scope: JudgeScope, unknown: str) -> FlagPrecision:
    """Return the first families by key, as nobody knows yet which are the largest."""
    families = RunFacet.objects.filter(run=scope.run, name="reason")
    first = families.order_by("value").values_list("value", "title")[:MOST_REASONS]
    titles = dict(first)
    times = _times(scope, titles)
    none = _Found(0, 0, undefined(unknown), undefined(unknown))
    reasons = [_reason(key, title, None, none, times.get(key, ReviewTime())) for key, title in titles.items()]
    return FlagPrecision(RULE, reasons, families.count() - len(titles), unknown)


def load_rated_families(scope: JudgeScope) -> RatedRun:
    """Load the blind ratings of verdicts with their flag reasons, and the records of a scope."""
    return combine(load_ratings_by_families(scope), load_cells(scope))


def _totals(rated: RatedRun, families: Sequence[str]) -> ClusterTotals:
    """Add up wrong verdicts of each family, ratings of each, and `_BY_FLAG`."""
    kinds = rated.ratings.kinds
    places, is_of = {key: place for place, key in enumerate(families)}, np.zeros((len(kinds), len(families)))
    for row, kind in enumerate(kinds):
        if kind.cell.is_flagged:
            is_of[row, [places[key] for key in kind.families if key in places]] = 1
    known, wrong, flagged = (
        np.array([values], dtype=np.float64).T
        for values in (
            [kind.is_rated for kind in kinds],
            [kind.is_wrong for kind in kinds],
            [kind.cell.is_flagged for kind in kinds],
        )
    )
    by_flag = [values * part for part in (flagged, 1 - flagged) for values in (wrong, known)]
    return rated.totals_of(np.hstack([is_of * wrong, is_of * known, *by_flag, wrong]))


class _Found(NamedTuple):
    """The figures of a family that follow from blind ratings."""

    ratings: int
    wrong: int
    precision: Estimate
    recall: Estimate


def _measure(totals: ClusterTotals) -> Iterator[_Found]:
    """Yield the figures of each family."""
    families = (len(totals.sums) - _BY_FLAG) // 2
    of_ratings = [(place, families + place) for place in range(families)]
    precisions = clusters.ratios(totals, of_ratings)
    if totals.uncovered:
        recalls = [undefined("No unflagged record has a blind rating with a verdict.")] * families
    else:
        recalls = _recalls(totals, families)
    unknown = undefined(_NONE_RATED)
    counts = totals.counts.tolist()
    for (wrong, ratings), precision, recall in zip(of_ratings, precisions, recalls, strict=True):
        is_rated = counts[ratings] > 0
        yield _Found(
            counts[ratings],
            counts[wrong],
            precision if is_rated else unknown,
            recall if is_rated else unknown,
        )


def _recalls(totals: ClusterTotals, families: int) -> list[Estimate]:
    """Estimate the recall of each family: its share of the flagged errors, times the recall of all flags.

    The interval is that of the product, because few sampled ratings may have no error by chance.
    """
    flagged, known_flagged, unflagged, known_unflagged, wrong = range(2 * families, 2 * families + _BY_FLAG)
    flags, *wholes = clusters.ratios(totals, [(place, wrong) for place in (flagged, *range(families))])
    if flags.value is None or not totals.counts[known_unflagged]:
        return wholes
    strata = [(flagged, known_flagged)], [(unflagged, known_unflagged)]
    [flags] = clusters.combine_sums([flags], totals, [strata])
    if not flags.value:
        return [replace(whole, low=flags.low, high=flags.high) for whole in wholes]
    shares = clusters.ratios(totals, [(place, flagged) for place in range(families)])
    found = []
    for whole, share in zip(wholes, shares, strict=True):
        low, high = product_limits(share, flags)
        found.append(replace(whole, low=low, high=high))
    return found


def _reason(key: str, title: str, flagged: int | None, found: _Found, time: ReviewTime) -> FlagReason:
    """Add what follows from the figures of a family: the time for each error, and the advice."""
    precision, advice = found.precision, _advice(found)
    minutes = None
    if time.timed and precision.value:
        minutes = time.active_minutes / time.timed / precision.value
    return FlagReason(
        key,
        title,
        flagged,
        *found,
        minutes_why=_minutes_why(precision, time),
        advice=advice,
        because=_because(found, advice),
        timed=time.timed,
        active_minutes=round(time.active_minutes, 1),
        minutes_per_error=minutes,
    )


def _minutes_why(precision: Estimate, time: ReviewTime) -> str:
    """Return why the minutes for each error are undefined, or an empty text."""
    if not time.timed:
        return "No review of a record with this reason was timed."
    if precision.value is None:
        return precision.why
    return "" if precision.value else f"No wrong verdict found in {time.active_minutes:,.0f} active minutes."


def _advice(found: _Found) -> FlagAdvice:
    """Apply `RULE`."""
    low, high = found.precision.low, found.precision.high
    if low is None or high is None or found.ratings < FEWEST or low <= WORTH <= high:
        return "not enough data"
    return "keep" if low > WORTH else "retire"


def _because(found: _Found, advice: FlagAdvice) -> str:
    """Return the advice as a sentence."""
    why = found.precision.why
    if found.precision.value is None:
        return f"Not enough data: {why[:1].lower()}{why[1:]}"
    wrong = f"{found.wrong:,} of {counted(found.ratings, 'blind rating')} found a wrong verdict"
    if found.ratings < FEWEST:
        return f"{advice.capitalize()}: {wrong}; advice needs {FEWEST} ratings or more."
    low, high = found.precision.low or 0, found.precision.high or 0
    between = f"the share is between {percent(low)} and {percent(high)}"
    compared = {"keep": "more than", "retire": "less than", "not enough data": "which includes"}[advice]
    return f"{advice.capitalize()}: {wrong}; {between}, {compared} one in {1 / WORTH:.0f}."


def _times(scope: JudgeScope, families: Collection[str] | None) -> dict[str, ReviewTime]:
    """Return the time of current decisions on records of these families; None stands for all."""
    counted = ReasonCount.objects.filter(run=scope.run, reviews__gt=0)
    if families is not None:
        counted = counted.filter(family__in=families)
    if scope.reviewer:
        counted = counted.filter(reviewer=scope.reviewer)
    rows: Sequence[tuple[str, int, int]] = list(
        counted.order_by("family").values_list("family").annotate(Sum("timed"), Sum("active_ms"))
    )
    return {family: ReviewTime(int(timed), int(active_ms) / 60_000) for family, timed, active_ms in rows}

"""Reasons to look at the work of a reviewer: where a figure clearly differs from the others' median.

Figures are compared only if both sides have enough decisions. A difference is clear if its interval excludes
zero. The intervals are corrected for the number of comparisons: by chance, one page in twenty marks somebody.
"""

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from reviews.dashboard.reviewer_activity import ReviewerFigures, Team
from reviews.models import User
from reviews.records.wording import percent
from reviews.statistics.intervals import SIGNIFICANT, difference_limits, wilson_limits

#: Decisions, or spot checks, below which nobody is compared.
FEWEST = 20
_FEWEST_CHECKS = 10
DEFINITION = (
    f"A reviewer with {FEWEST} decisions or more is compared with the median of the others. A reason is "
    "listed if the difference is large enough to matter and its 95% interval, corrected for the number of "
    "comparisons, excludes zero. A reason is a question, not a verdict: some people get harder records."
)


class Reason(NamedTuple):
    """A reason to look at the decisions of a reviewer."""

    #: A sentence with the reviewer's figure and that of the others.
    text: str
    #: The decisions behind it, a key of `drilldown.SIGNALS`.
    signal: str = "all"


class Attention(NamedTuple):
    """A reviewer with at least one reason."""

    reviewer: User
    reasons: list[Reason]


class _Share(NamedTuple):
    """A share that is compared between a reviewer and the others."""

    part: Callable[[ReviewerFigures], int]
    whole: Callable[[ReviewerFigures], int]
    #: The number of independent units: the scores of one record depend on each other.
    units: Callable[[ReviewerFigures], int]
    #: The sentence for a larger share, and for a smaller one if that is a reason, too.
    more: str
    fewer: str = ""
    signal: str = "all"
    #: The least difference that matters.
    margin: float = 0.1


_SHARES = (
    _Share(
        lambda work: work.overridden,
        lambda work: work.judged,
        lambda work: work.compared,
        "Changes {own} of the judge's scores, the others {theirs}.",
        "Changes only {own} of the judge's scores, the others {theirs}.",
        signal="changed",
    ),
    _Share(
        lambda work: work.fast,
        lambda work: work.read,
        lambda work: work.read,
        "Makes {own} of decisions faster than reading time, the others {theirs}.",
        signal="fast",
    ),
    _Share(
        lambda work: work.skipped,
        lambda work: work.skipped + work.done,
        lambda work: work.skipped + work.done,
        "Skips {own} of records, the others {theirs}.",
    ),
    _Share(
        lambda work: work.escalated,
        lambda work: work.escalated + work.done,
        lambda work: work.escalated + work.done,
        "Escalates {own} of records, the others {theirs}.",
    ),
    _Share(
        lambda work: work.overturned,
        lambda work: work.done,
        lambda work: work.done,
        "Had {own} of decisions overturned, the others {theirs}.",
        margin=0.05,
    ),
)
# The share of decisions above the team's median time is one half for everybody if all are equally fast.
_SLOW = 0.65
# The share of spot checks without agreement that needs a look.
_DISAGREED = 0.1


def who_needs_help(team: Team) -> list[Attention]:
    """Return the reviewers with a reason to look at their work, by username."""
    compared = comparable(team)
    if not compared:
        return []
    comparisons = len(compared) * (len(_SHARES) + 2)
    quantile = NormalDist().inv_cdf(1 - SIGNIFICANT / 2 / comparisons)
    found = [Attention(work.reviewer, _reasons(work, team, quantile)) for work in compared]
    return [one for one in found if one.reasons]


def comparable(team: Team) -> list[ReviewerFigures]:
    """Return the reviewers with enough decisions for a comparison."""
    return [work for work in team.reviewers if work.done >= FEWEST]


def _reasons(work: ReviewerFigures, team: Team, quantile: float) -> list[Reason]:
    others = [one for one in team.reviewers if one.reviewer != work.reviewer]
    found = [_compare(share, work, others, quantile) for share in _SHARES]
    found += [_slow(work, team, quantile), _disagreed(work, quantile)]
    return [reason for reason in found if reason]


def _compare(
    share: _Share, work: ReviewerFigures, others: Sequence[ReviewerFigures], quantile: float
) -> Reason | None:
    compared = [one for one in others if share.units(one) >= FEWEST and share.whole(one)]
    if share.units(work) < FEWEST or not share.whole(work) or not compared:
        return None
    own = share.part(work) / share.whole(work)
    theirs = _typical([share.part(one) / share.whole(one) for one in compared], own)
    units, their_units = share.units(work), sum(map(share.units, compared))
    low, high = difference_limits(own, units, theirs, their_units, quantile)
    if abs(own - theirs) < share.margin:
        return None
    sentence = share.more if low > 0 else share.fewer if high < 0 else ""
    if not sentence:
        return None
    return Reason(sentence.format(own=percent(own), theirs=percent(theirs)), share.signal)


def _typical(rates: Sequence[float], own: float) -> float:
    """Return the median of the others, so that one unusual reviewer does not mark the rest.

    Of an even number, it is the one of the two middle rates that is nearer to the reviewer's own.
    """
    ordered = sorted(rates)
    middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return min(middle, key=lambda rate: abs(rate - own))


def _slow(work: ReviewerFigures, team: Team, quantile: float) -> Reason | None:
    if work.timed < FEWEST or team.median.timed - work.timed < FEWEST:
        return None
    share = work.slower / work.timed
    if share < _SLOW or wilson_limits(share, work.timed, quantile)[0] <= 1 / 2:
        return None
    return Reason(
        f"Takes {_duration(work.median_seconds)} of active time for a decision (median), "
        f"the team {_duration(team.median.seconds)}."
    )


def _disagreed(work: ReviewerFigures, quantile: float) -> Reason | None:
    if work.checked < _FEWEST_CHECKS:
        return None
    wrong = work.checked - work.upheld
    if wilson_limits(wrong / work.checked, work.checked, quantile)[0] <= _DISAGREED:
        return None
    return Reason(f"Leads did not agree with {wrong:,} of {work.checked:,} spot-checked decisions.")


def _duration(seconds: float | None) -> str:
    minutes, rest = divmod(round(seconds or 0), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"

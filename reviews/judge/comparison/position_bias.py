"""Measure whether a judge that compares two responses prefers one position, whichever response is there."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cognireview.types import report_parts
from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import FavouredPosition
from reviews.judge.comparison.judges import JudgeAndPrompt, load_scope_judges
from reviews.judge.comparison.pairwise_choices import (
    BothOrders,
    Choice,
    both_orders,
    load_choices,
    pairwise_criteria,
    position_of,
    without_hidden,
)
from reviews.judge.loading import why_not_counted
from reviews.judge.rated_run import load_rated_run, totals_of_ratings
from reviews.judge.ratings import RatingKind
from reviews.judge.scope import JudgeScope
from reviews.records.scales import PairwiseScale
from reviews.records.scores import Score
from reviews.rubric.run_rubric import run_rubric
from reviews.search import indexing
from reviews.statistics.clusters import difference, ratio
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.intervals import side_of, undefined
from reviews.statistics.totals import ClusterTotals

DEFINITIONS = {
    "first_share": "Of the choices between two responses, without ties, the share of the response that was "
    "shown first.",
    "balanced_share": "The same for pairs that were judged in both orders. Each response was shown first as "
    "often as second, so a judge without a bias chooses the first in 50%.",
    "changed": "Of the pairs that were judged in both orders, the share with another outcome in the second "
    "order.",
    "first_twice": "Of the pairs that were judged in both orders, the share in which the judge chose the "
    "first response both times.",
    "second_twice": "Of the pairs that were judged in both orders, the share in which the judge chose the "
    "second response both times.",
    "accuracy_first": "The share of records on which the judge agrees with the reviewer, of those whose "
    "reviewer chose the first response without seeing the judge's choice.",
    "accuracy_second": "The same for records whose reviewer chose the second response.",
    "accuracy_difference": "The accuracy if the reviewer chose the first response, minus that if the "
    "reviewer chose the second. Above 0, the judge favours the first position.",
}
#: The figures that count pairs judged in both orders.
ORDER_FIGURES = ("balanced_share", "changed", "first_twice", "second_twice")
_FAVOURED: dict[int, FavouredPosition] = {1: "first", -1: "second", 0: "not shown"}
_NO_CHOICES = "The judge chose neither response of any pair."
_NO_ORDERS = "No pair of responses was judged in both orders."
_NO_RATINGS = "No blind rating chose this response."
_NOT_INDEXED = "The records of this run are still being indexed. Try again in a few minutes."


@dataclass(frozen=True, eq=False)
class PositionBias(report_parts.PositionBias):
    """The position bias of a judge with its prompt on one criterion, with the choices that may be listed."""

    #: The scores that choose the first and the second response.
    scores: tuple[Score, Score]
    #: Choices of the first response, without records that can still be scored blind.
    listed_choices: tuple[Choice, ...]
    #: Pairs that were judged in both orders, without records that can still be scored blind.
    listed: tuple[BothOrders, ...]

    def pairs_of(self, figure: str) -> list[BothOrders]:
        """Return the pairs that may be listed and that one of `ORDER_FIGURES` counts."""
        place = ORDER_FIGURES.index(figure)
        return [pair for pair in self.listed if _is_of_order(pair)[place]]


def measure_position_bias(scope: JudgeScope) -> tuple[PositionBias, ...]:
    """Measure each criterion in which the judge compares two responses, for each judge and prompt.

    The filters by reviewer and date are about ratings, not about the judge's choices.
    """
    rubric = run_rubric(scope.run)
    criteria = pairwise_criteria(scope.run, rubric)
    if not criteria:
        return ()
    is_indexed = indexing.is_indexed(scope.run)
    choices = load_choices(scope, rubric) if is_indexed else {}
    judges = load_scope_judges(scope).pairs
    return tuple(
        _measure(
            scope if len(judges) == 1 else replace(scope, judge=pair.judge, template=pair.template),
            criterion,
            pair,
            choices.get((criterion, pair), []),
            _NO_CHOICES if is_indexed else _NOT_INDEXED,
        )
        for criterion in criteria
        for pair in judges
    )


def _measure(
    scope: JudgeScope, criterion: str, judge: JudgeAndPrompt, loaded: list[Choice], why: str
) -> PositionBias:
    choices, hidden, notes = without_hidden(scope, loaded)
    both = [*both_orders(choices)]
    changed, first_twice, second_twice = _orders(both)
    scale = run_rubric(scope.run).scale_of(criterion)
    assert isinstance(scale, PairwiseScale)
    accuracy_first, accuracy_second, accuracy_difference = _accuracies(scope, criterion)
    balanced_share = _first_share(
        ((choice, weight) for one, other, weight in both for choice in (one, other)), _NO_ORDERS
    )
    return PositionBias(
        criterion,
        *judge,
        outcome=_favoured(balanced_share, accuracy_difference),
        first_share=_first_share(((one, 1.0) for one in choices), why),
        balanced_share=balanced_share,
        changed=changed,
        first_twice=first_twice,
        second_twice=second_twice,
        accuracy_first=accuracy_first,
        accuracy_second=accuracy_second,
        accuracy_difference=accuracy_difference,
        notes=[*notes],
        scores=(scale.a, scale.b),
        listed_choices=tuple(
            choice for choice in choices if choice.position == "first" and choice.record not in hidden
        ),
        listed=tuple(pair for pair in both if not hidden & {pair.one.record, pair.other.record}),
    )


def _first_share(choices: Iterable[tuple[Choice, float]], why: str) -> Estimate:
    """Estimate the share of the response that was shown first, from weighted choices."""
    decided = [(one, weight) for one, weight in choices if one.position != "neither"]
    if not decided:
        return undefined(why)
    totals = _totals([(one.cluster, weight, [one.position == "first", True]) for one, weight in decided])
    return ratio(totals, 0, 1)


def _favoured(balanced_share: Estimate, accuracy_difference: Estimate) -> FavouredPosition:
    """Return the position that the judge favours, if that is shown: by both orders, or else by reviewers."""
    has_orders = balanced_share.value is not None
    return _FAVOURED[side_of(balanced_share, 0.5) if has_orders else side_of(accuracy_difference)]


def _is_of_order(pair: BothOrders) -> tuple[bool, bool, bool, bool]:
    """Return for each of `ORDER_FIGURES` whether it counts the pair."""
    is_first = "first" in {pair.one.position, pair.other.position}
    return is_first, pair.is_changed, pair.is_twice("first"), pair.is_twice("second")


def _orders(both: list[BothOrders]) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate the shares of pairs with another outcome, and with the first and the second position twice."""
    if not both:
        none = undefined(_NO_ORDERS)
        return none, none, none
    totals = _totals([(pair.one.cluster, pair.weight, [*_is_of_order(pair), True]) for pair in both])
    return ratio(totals, 1, 4), ratio(totals, 2, 4), ratio(totals, 3, 4)


def _totals(rows: list[tuple[int, float, list[bool]]]) -> ClusterTotals:
    """Add up rows of cluster, weight and columns by cluster."""
    sample = Sample(
        np.zeros(len(rows), dtype=np.int32),
        np.array([cluster for cluster, _, _ in rows], dtype=np.int32),
        np.array([weight for _, weight, _ in rows], dtype=np.float64),
    )
    return cluster_totals(sample, np.array([row for *_, row in rows], dtype=np.float64))


def _accuracies(scope: JudgeScope, criterion: str) -> tuple[Estimate, Estimate, Estimate]:
    """Return the accuracy by the position of the reviewer's choice, and the difference of the two."""
    unknown = why_not_counted(scope.run)
    none = undefined(unknown or _NO_RATINGS)
    scale = run_rubric(scope.run).scale_of(criterion)
    if unknown or not isinstance(scale, PairwiseScale):
        return none, none, none
    rated = load_rated_run(scope, criterion)

    def columns(kind: RatingKind) -> list[bool]:
        judge, human = position_of(scale, kind.judge), position_of(scale, kind.human)
        return [
            judge is not None and human == position and (judge == human or not is_right)
            for position in ("first", "second")
            for is_right in (True, False)
        ]

    values = np.array([columns(kind) for kind in rated.ratings.kinds], dtype=np.float64).reshape(-1, 4)
    totals = rated.totals_of(values)
    if totals.uncovered:
        totals = totals_of_ratings(rated.ratings, values)
    sides = [ratio(totals, place, place + 1) for place in (0, 2)]
    if any(side.value is None for side in sides):
        first, second = (none if side.value is None else side for side in sides)
        return first, second, none
    return sides[0], sides[1], difference(totals, (0, 1), (2, 3)).difference

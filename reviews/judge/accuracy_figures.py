"""The figures of a criterion, or of the verdict, on the whole run or a part of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_type_hints

from cognireview.types.estimates import Basis, Estimate, Metrics, Part
from reviews.judge.score_pairs import ScorePairs
from reviews.records.scores import criterion_title
from reviews.statistics import coefficients
from reviews.statistics.agreement import ConfusionMatrix
from reviews.statistics.coefficients import Confusion
from reviews.statistics.intervals import undefined
from reviews.statistics.score_categories import MOST_SCORES

_OUT_OF_SCALE = (
    "No rated score has a place on the scale of the criterion. Check the scale of the criterion in the "
    "settings of the run."
)
FIGURES = tuple(name for name, kind in get_type_hints(Metrics).items() if kind is Estimate)


def figure_title(criterion: str | None) -> str:
    """Return the title of figures about a criterion, or about the verdict."""
    return "Verdict" if criterion is None else criterion_title(criterion)


def parts_sentence(found: Iterable["AccuracyFigures"]) -> str:
    """Name the criteria whose scores are compared as parts of their range; empty without any."""
    return parts_sentence_of(one.criterion for one in found if one.table.categories[0].is_part)


def parts_sentence_of(criteria: Iterable[str | None]) -> str:
    """Say of these criteria that scores are compared as parts of their range; empty without any."""
    titles = dict.fromkeys(map(figure_title, criteria))
    if not titles:
        return ""
    return (
        f"{', '.join(titles)}: scores count as equal if they are in the same fifth of their range, because "
        f"there are more than {MOST_SCORES} possible ones. With “Pass from” in the rubric, their levels are "
        "compared instead."
    )


class Measured(NamedTuple):
    """The estimated confusion matrix of the records of a part, or why there is none."""

    confusion: Confusion | None
    why: str = ""


def _figure(compute: Callable[[Confusion], Estimate]) -> "cached_property[Estimate]":
    def estimate(figures: "AccuracyFigures") -> Estimate:
        if not figures.n and figures.out_of_scale:
            return undefined(_OUT_OF_SCALE)
        confusion, why = figures.measured
        return compute(confusion) if confusion else undefined(why, figures.n)

    return cached_property(estimate)


@dataclass(frozen=True, eq=False)
class AccuracyFigures:
    """The figures of one criterion, or of the verdict, over the whole run or a part of it.

    Estimates are computed when they are asked for. A rating is counted in `table` if both scores are in its
    scale, otherwise in exactly one of `judge_only`, `human_only` and `out_of_scale`.
    """

    #: None for the verdict.
    criterion: str | None
    basis: Basis
    part: Part
    pairs: ScorePairs
    #: Adds up the ratings by cluster.
    measure: Callable[[], Measured]

    @property
    def title(self) -> str:
        return figure_title(self.criterion)

    @property
    def table(self) -> ConfusionMatrix:
        """Numbers of ratings."""
        return self.pairs.table

    @property
    def n(self) -> int:
        """The number of ratings in the table."""
        return self.table.n

    @property
    def judge_only(self) -> int:
        """Ratings of people who removed the criterion or came to no verdict."""
        return self.pairs.left_out["judge only"]

    @property
    def human_only(self) -> int:
        """Ratings of records to which the judge gave no score."""
        return self.pairs.left_out["human only"]

    @property
    def out_of_scale(self) -> int:
        """Ratings with a score that has no place in the table."""
        return self.pairs.left_out["out of scale"]

    @property
    def ratings(self) -> int:
        """All ratings with a score by the judge or by the reviewer."""
        return self.pairs.ratings

    @cached_property
    def measured(self) -> Measured:
        return self.measure()

    @property
    def confusion(self) -> Confusion | None:
        """The totals of the pairs of scores; None if figures are undefined."""
        return self.measured.confusion

    @property
    def shares(self) -> tuple[tuple[float, ...], ...] | None:
        """The share of records that each count of `table` stands for; None if that is unknown."""
        return tuple(map(tuple, self.confusion.shares.tolist())) if self.confusion else None

    accuracy = _figure(coefficients.accuracy)
    defects_caught = _figure(coefficients.defects_caught)
    kappa = _figure(coefficients.kappa)
    weighted_kappa = _figure(coefficients.weighted_kappa)
    ac1 = _figure(coefficients.ac1)
    false_pass = _figure(coefficients.false_pass)
    false_fail = _figure(coefficients.false_fail)
    leniency = _figure(coefficients.leniency)

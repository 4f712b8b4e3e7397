"""The figures of assisted ratings: of all, and of flagged and unflagged records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from reviews.judge.accuracy_figures import AccuracyFigures, Measured, Part
from reviews.judge.cells import Cell
from reviews.judge.rated_run import totals_of_ratings
from reviews.judge.ratings import RatingCounts, RatingKind, Ratings
from reviews.judge.scales import ScoreCategories
from reviews.judge.score_pairs import ScorePairs
from reviews.statistics.sums import are_grouped
from reviews.statistics.totals import ClusterTotals

#: Whether a cell is in a part.
IS_IN: dict[Part, Callable[[Cell], bool]] = {
    "run": lambda _cell: True,
    "flagged": lambda cell: cell.is_flagged,
    "unflagged": lambda cell: not cell.is_flagged,
}
#: The domains of totals by flag.
BY_FLAG: tuple[Part, ...] = ("flagged", "unflagged")


def of_cell(is_in: Callable[[Cell], bool], kind: RatingKind) -> bool:
    """Return whether ratings of a kind are in a part."""
    return is_in(kind.cell)


def assisted_figures(
    criterion: str | None, scale: ScoreCategories, ratings: Ratings
) -> Iterator[AccuracyFigures]:
    """Yield the figures of a criterion, or of the verdict, for each part with ratings."""
    assisted = _Assisted(scale, ratings)
    counts = RatingCounts(ratings.kinds, ratings.counts)
    for part, is_in in IS_IN.items():
        chosen = counts.only(partial(of_cell, is_in))
        if chosen.kinds:
            pairs = ScorePairs(scale, chosen)
            measure = partial(assisted.measure, part, pairs)
            yield AccuracyFigures(criterion, "assisted", part, pairs, measure)


@dataclass(frozen=True)
class _Assisted:
    """The assisted ratings of a criterion, or of the verdict."""

    scale: ScoreCategories
    ratings: Ratings

    def measure(self, part: Part, pairs: ScorePairs) -> Measured:
        """Add up the ratings of a part by cluster."""
        if part == "run":
            whole = self._totals_by_flag.of_all_domains(len(self.scale.categories) ** 2)
            return Measured(pairs.confusion(whole))
        chosen = self.ratings.only(partial(of_cell, IS_IN[part]))
        if are_grouped(chosen.cluster) != are_grouped(self.ratings.cluster):
            # Only the clusters of the run are too many to be added up one by one.
            return Measured(pairs.confusion(totals_of_ratings(chosen, pairs.one_hot)))
        return Measured(pairs.confusion(self._totals_by_flag, BY_FLAG.index(part)))

    @cached_property
    def _totals_by_flag(self) -> ClusterTotals:
        """The pairs of scores of the parts `BY_FLAG`: ratings are added up once for all parts."""
        values = ScorePairs(self.scale, self.ratings).one_hot
        return totals_of_ratings(self.ratings, values, domain=lambda cell: int(not cell.is_flagged))

"""The figures of assisted ratings: of all, and of flagged and unflagged records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from cognireview.types.estimates import Part
from reviews.judge.accuracy_figures import AccuracyFigures, Measured
from reviews.judge.cells import Cell
from reviews.judge.computed_once import computes_once
from reviews.judge.rated_run import totals_of_ratings
from reviews.judge.ratings import Ratings
from reviews.judge.score_pairs import ScorePairs
from reviews.statistics.score_categories import ScoreCategories
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


@computes_once
def assisted_figures(
    ratings: Ratings, criterion: str | None, scale: ScoreCategories
) -> tuple[AccuracyFigures, ...]:
    """Return the figures of a criterion, or of the verdict, for each part with ratings."""
    return tuple(_by_part(_Assisted(scale, ratings), criterion))


def _by_part(assisted: "_Assisted", criterion: str | None) -> Iterator[AccuracyFigures]:
    for part, is_in in IS_IN.items():
        pairs = assisted.pairs.only(is_in)
        if pairs.kinds:
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
            whole = self._totals_by_flag.join_domains(len(self.scale.categories) ** 2)
            return Measured(pairs.confusion(whole))
        is_in = IS_IN[part]
        if self._is_grouped and not are_grouped(self.ratings.clusters_of(lambda kind: is_in(kind.cell))):
            # Only the clusters of the run are too many to be added up one by one.
            chosen = self.ratings.only(lambda kind: is_in(kind.cell))
            return Measured(pairs.confusion(totals_of_ratings(chosen, pairs.one_hot)))
        return Measured(pairs.confusion(self._totals_by_flag, BY_FLAG.index(part)))

    @cached_property
    def _is_grouped(self) -> bool:
        return are_grouped(self.ratings.cluster)

    @cached_property
    def _totals_by_flag(self) -> ClusterTotals:
        """The pairs of scores of the parts `BY_FLAG`: ratings are added up once for all parts."""
        return totals_of_ratings(
            self.ratings, self.pairs.one_hot, domain=lambda cell: int(not cell.is_flagged)
        )

    @cached_property
    def pairs(self) -> ScorePairs:
        """The pairs of scores of all parts."""
        return ScorePairs(self.scale, self.ratings.kinds, self.ratings.counts)

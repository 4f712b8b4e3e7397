"""The blind ratings of a scope with the records that they represent: the start of every estimate.

The target of every estimate is what an unaided reviewer would say about all records of the scope.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reviews.judge.cells import Cell, CellRecords, IntArray, load_cells
from reviews.judge.computed_once import computes_once
from reviews.judge.ratings import FloatArray, RatingKind, Ratings, load_ratings
from reviews.judge.scope import JudgeScope
from reviews.judge.score_pairs import ScorePairs
from reviews.statistics.coefficients import Confusion
from reviews.statistics.extrapolation import Extrapolation, Sample, cluster_totals
from reviews.statistics.score_categories import ScoreCategories
from reviews.statistics.totals import ClusterTotals

#: Why ratings of criteria may come without a verdict.
WHY_NO_VERDICT = (
    "Scores make no verdict if a scale has no “Pass from”, or if one of them is not on its scale."
)


class VerdictsByFlag(NamedTuple):
    """The pairs of verdicts of flagged and of unflagged records, judge x human.

    All figures about right and wrong verdicts are computed from the same totals, because the variance that
    small groups of ratings cannot show depends on all columns of the totals.
    """

    totals: ClusterTotals
    flagged: Confusion
    #: None if all records are flagged.
    unflagged: Confusion | None


@dataclass(frozen=True, eq=False)
class RatedRun:
    """Ratings of a criterion, or of the verdict, and all records of the scope."""

    records: CellRecords
    #: Ratings of records that were flagged or sampled and are still in a cell with records.
    ratings: Ratings
    #: Ratings of unflagged records that were not sampled. They represent no others.
    unsampled: int
    #: The place in `records.cells` of each kind of rating.
    place: IntArray

    def totals(
        self, *columns: Callable[[RatingKind], bool], domain: Callable[[Cell], int] | None = None
    ) -> ClusterTotals:
        """Add up ratings by cluster, extrapolated to the records: a column for each condition.

        With `domain`, each domain of cells has these columns (see `Extrapolation.totals`).
        """
        values = np.array([[column(kind) for column in columns] for kind in self.ratings.kinds], dtype=float)
        return self.totals_of(values.reshape(-1, len(columns)), domain=domain)

    def totals_of(self, values: FloatArray, *, domain: Callable[[Cell], int] | None = None) -> ClusterTotals:
        """Add up given values: a row for each kind of rating, in the order of `ratings.kinds`."""
        domains = None if domain is None else [domain(cell) for cell in self.records.cells]
        return self._extrapolation.totals(values, domains)

    @cached_property
    def judged(self) -> "RatedRun":
        """The records with a verdict by the judge: only these can have a wrong one.

        Ratings of the others say nothing about them.
        """
        return self.only(lambda cell: bool(cell.verdict))

    @cached_property
    def verdicts_by_flag(self) -> VerdictsByFlag:
        """The pairs of verdicts of judged records, if the ratings are about the verdict."""
        judged = self.judged
        pairs = ScorePairs(ScoreCategories.of_verdicts(), judged.ratings.kinds, judged.ratings.counts)
        totals = judged.totals_of(pairs.one_hot, domain=lambda cell: int(not cell.is_flagged))
        has_unflagged = any(not cell.is_flagged for cell in judged.records.cells)
        unflagged = pairs.confusion(totals, 1) if has_unflagged else None
        return VerdictsByFlag(totals, pairs.confusion(totals), unflagged)

    def only(self, condition: Callable[[Cell], bool]) -> "RatedRun":
        """Return the records, and their ratings, of cells that meet a condition."""
        places = [place for place, cell in enumerate(self.records.cells) if condition(cell)]
        if len(places) == len(self.records.cells):
            return self
        return _combine(self.ratings, self.records.keep(places, self.records.withheld))

    @cached_property
    def _extrapolation(self) -> Extrapolation:
        ratings = self.ratings
        sample = Sample(self.place, ratings.cluster, ratings.weight, ratings.counts)
        return Extrapolation(sample, self.records.population)


def load_rated_run(scope: JudgeScope, criterion: str | None = None) -> RatedRun:
    """Load the blind ratings of a criterion, or of the verdict (None), and the records of a scope.

    The run's records must all be counted: see `loading.why_not_counted`.
    """
    return combine(load_ratings(scope, criterion), load_cells(scope))


@computes_once
def combine(ratings: Ratings, records: CellRecords) -> RatedRun:
    """Combine ratings with the records of a scope. Ratings of other cells are left out."""
    return _combine(ratings, records)


def _combine(ratings: Ratings, records: CellRecords) -> RatedRun:
    place_of = {cell: place for place, cell in enumerate(records.cells)}
    unsampled = ratings.count(lambda kind: not kind.is_representative and kind.cell in place_of)
    kept = ratings.only(lambda kind: kind.is_representative and kind.cell in place_of)
    places = np.array([place_of[kind.cell] for kind in kept.kinds], dtype=np.int32)
    return RatedRun(records, kept, unsampled, places)


def totals_of_ratings(
    ratings: Ratings, values: FloatArray, *, domain: Callable[[Cell], int] = lambda _cell: 0
) -> ClusterTotals:
    """Add up values of each kind of rating by cluster and domain, for these ratings alone."""
    domains = np.array([domain(kind.cell) for kind in ratings.kinds], dtype=np.int32)
    sample = Sample(domains, ratings.cluster, ratings.weight, ratings.counts)
    return cluster_totals(sample, values, domains=np.arange(int(domains.max(initial=0)) + 1))

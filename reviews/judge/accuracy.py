"""Compare the judge with reviewers: scores and verdicts over the whole run, by flag, judge, prompt and model.

Figures from blind ratings estimate what an unaided reviewer would say about all records. Assisted figures
describe the decisions of reviewers who saw the judge's scores, and nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Literal, TypeVar

from cognireview.types import report_parts
from cognireview.types.encoding import members
from cognireview.types.estimates import Basis, Estimate, Part
from cognireview.types.report_parts import AfterReveal, GroupAccuracy, JudgeGroup
from reviews.judge import after_reveal
from reviews.judge.accuracy_figures import AccuracyFigures, Measured
from reviews.judge.assisted_figures import BY_FLAG, IS_IN, assisted_figures
from reviews.judge.cells import Cell, CellRecords, load_cells
from reviews.judge.computed_once import computes_once
from reviews.judge.criterion_ratings import load_blind_ratings
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import shares_loads, why_not_counted
from reviews.judge.rated_run import RatedRun, combine
from reviews.judge.ratings import (
    NO_RATINGS,
    Ratings,
    RatingTable,
    load_all_ratings,
    load_ratings,
    load_tables,
)
from reviews.judge.scope import JudgeScope
from reviews.judge.score_pairs import ScorePairs
from reviews.records.rubric import Rubric
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics import clusters, coefficients
from reviews.statistics.intervals import undefined
from reviews.statistics.score_categories import ScoreCategories, in_rubric_order
from reviews.statistics.totals import ClusterTotals

BASES: dict[Basis, str] = {
    "blind": "Blind: the reviewer scored before the judge's scores were shown.",
    "assisted": "Assisted: the reviewer saw the judge's scores. Such decisions may overstate the judge's "
    "accuracy, because people tend to agree with a score they see. The figures describe them only. Replaced, "
    "undone, reopened and outdated decisions do not count.",
}
PARTS: dict[Part, str] = {
    "run": "The ratings represent all records of the run: flagged and unflagged ones, weighted by their "
    "numbers.",
    "flagged": "Flagged records were marked for human review. They are harder than the rest, so the judge "
    "looks worse on them than on all records.",
    "unflagged": "Unflagged records are represented by a random sample of them.",
}
DEFINITIONS = coefficients.DEFINITIONS | {"changed": after_reveal.DEFINITION}

_NO_BLIND = "No blind scores were submitted yet."
_NO_VERDICTS = "The records have no verdict that could be compared."
_Group = TypeVar("_Group", str, tuple[str, str, str])
GroupField = Literal["judge", "template", "model"]


@dataclass(frozen=True, eq=False)
class JudgeVsHuman:
    """All figures of a scope.

    The verdict comes first, then the criteria in the order of the rubric; blind before assisted, the whole
    run before its parts. Combinations without ratings are absent.
    """

    scope: JudgeScope
    #: The blind ratings, by criterion.
    blind: "tuple[_Blind, ...]"
    #: The same as they were loaded, with the scores after the reveal.
    submitted: Mapping[str | None, RatingTable]
    #: The number of records, by part; empty while they are being counted.
    records: Mapping[Part, int]
    #: Blind ratings of unflagged records that were not sampled. No figure about the run counts them.
    unsampled: int = 0
    #: Why figures about all records are undefined, while they are being counted.
    unknown: str = ""
    #: The records that no figure counts, as a sentence.
    left_out: str = ""

    @property
    def held(self) -> int:
        """The number of ratings in memory."""
        return sum(len(one.ratings) for one in self.blind)

    @cached_property
    def rated(self) -> tuple[tuple[Basis, Part], ...]:
        """The bases and the parts that have ratings of the verdict: blind before assisted.

        If there are no blind ratings of the verdict, those of criteria count.
        """
        verdicts = [one.part for one in _verdict_parts(self.blind)]
        parts = verdicts or dict.fromkeys(one.part for one in self._blind_figures)
        blind: list[tuple[Basis, Part]] = [("blind", part) for part in parts]
        assisted = load_ratings(self.scope, basis="assisted").kinds
        found = [part for part, is_in in IS_IN.items() if any(is_in(kind.cell) for kind in assisted)]
        return (*blind, *(("assisted", part) for part in found))

    @cached_property
    def ratings(self) -> Mapping[tuple[Basis, Part], int]:
        """The number of ratings of the verdict, by basis and part."""
        numbers: dict[tuple[Basis, Part], int] = {
            ("blind", one.part): one.ratings for one in _verdict_parts(self.blind)
        }
        return numbers | {("assisted", one.part): one.ratings for one in self._assisted_verdicts}

    @cached_property
    def overall(self) -> tuple[AccuracyFigures, ...]:
        """All figures."""
        found = (*self._blind_figures, *self._assisted_figures)
        order = in_rubric_order(self._rubric, {one.criterion for one in found})
        return tuple(sorted(found, key=lambda one: order.index(one.criterion)))

    @cached_property
    def of_verdicts(self) -> tuple[AccuracyFigures, ...]:
        """The figures of the verdict alone, without loading assisted ratings of criteria."""
        return (*_verdict_parts(self.blind), *self._assisted_verdicts)

    @cached_property
    def _assisted_verdicts(self) -> tuple[AccuracyFigures, ...]:
        assisted = load_ratings(self.scope, basis="assisted")
        return assisted_figures(assisted, None, ScoreCategories.of_verdicts())

    @cached_property
    def _blind_figures(self) -> tuple[AccuracyFigures, ...]:
        return tuple(figures for one in self.blind for figures in one.parts)

    @cached_property
    def _assisted_figures(self) -> tuple[AccuracyFigures, ...]:
        found = load_all_ratings(self.scope, basis="assisted")
        return tuple(
            figures
            for name in in_rubric_order(self._rubric, found)
            for figures in assisted_figures(
                found[name], name, ScoreCategories.from_ratings(self._rubric, name, found[name].kinds)
            )
        )

    @property
    def _rubric(self) -> Rubric:
        return run_rubric(self.scope.run)

    def figures_of(self, basis: Basis, part: Part) -> list[AccuracyFigures]:
        """Return the figures of the verdict and of each criterion that has ratings."""
        found = self._blind_figures if basis == "blind" else self._assisted_figures
        return [one for one in found if one.part == part]

    @cached_property
    def groups(self) -> tuple[GroupAccuracy, ...]:
        """The accuracy by judge model, prompt template and evaluated model."""
        return tuple(group for one in self.blind for group in one.groups)

    def groups_of(self, criterion: str | None) -> list[GroupAccuracy]:
        """Return the accuracy of a criterion, or of the verdict (None), by the same."""
        return [group for one in self.blind if one.criterion == criterion for group in one.groups]

    def accuracy_by(self, field: GroupField, criterion: str | None) -> list[tuple[str, Part, Estimate]]:
        """Return the accuracy by one of judge, prompt and model: its name, the part and the estimate."""
        blind = (one for one in self.blind if one.criterion == criterion)
        return [found for one in blind for found in one.by(attrgetter(field))]

    @cached_property
    def after_reveal(self) -> tuple[AfterReveal, ...]:
        """Changes of the verdict, then of the criteria, in the order of the figures."""
        order = [one.criterion for one in self.blind]
        found = after_reveal.measure_changes(
            {criterion: table.batches for criterion, table in self.submitted.items()}
        )
        return tuple(sorted(found, key=lambda one: order.index(one.criterion)))

    @property
    def headline(self) -> AccuracyFigures | None:
        """The blind figures of the verdict over the whole run, if there are blind ratings."""
        return self.find(None, "blind", "run")

    def find(self, criterion: str | None, basis: Basis, part: Part) -> AccuracyFigures | None:
        """Return the figures of a criterion, or of the verdict (None), if there are ratings."""
        return next((one for one in self.figures_of(basis, part) if one.criterion == criterion), None)

    @shares_loads
    def as_json(self) -> dict[str, Any]:
        ratings = [
            {"basis": basis, "part": part, "ratings": ratings}
            for (basis, part), ratings in self.ratings.items()
        ]
        return members(report_parts.JudgeVsHuman, self, bases=BASES, parts=PARTS, ratings=ratings)


@cache_figures
@shares_loads
def compare_with_humans(scope: JudgeScope) -> JudgeVsHuman:
    """Compute all figures of a scope."""
    unknown = why_not_counted(scope.run)
    records = None if unknown else load_cells(scope)
    blind, rubric = load_blind_ratings(scope), run_rubric(scope.run)
    scales = {name: ScoreCategories.from_ratings(rubric, name, one.kinds) for name, one in blind.items()}
    rated = tuple(
        _rate(blind[name], name, scales[name], records, unknown) for name in in_rubric_order(rubric, blind)
    )
    return JudgeVsHuman(
        scope=scope,
        blind=rated,
        submitted=load_tables(scope),
        records={part: int(records.only(is_in).sizes.sum()) for part, is_in in IS_IN.items()}
        if records
        else {},
        unsampled=blind.get(None, NO_RATINGS).count(lambda kind: not kind.is_representative),
        unknown=unknown,
        left_out=records.sentence if records else "",
    )


@cache_figures
def estimate_accuracy(scope: JudgeScope) -> Estimate:
    """Estimate the accuracy of the verdict over the whole run: the figure of the headline alone."""
    unknown = why_not_counted(scope.run)
    records = None if unknown else load_cells(scope)
    rated = _rate(load_ratings(scope), None, ScoreCategories.of_verdicts(), records, unknown)
    why = _NO_VERDICTS if len(rated.ratings) else _NO_BLIND
    return next((part.accuracy for part in rated.parts), undefined(why))


def _verdict_parts(blind: Iterable["_Blind"]) -> Iterator[AccuracyFigures]:
    """Yield the blind figures of the verdict, by part."""
    return (one for figures in blind if figures.criterion is None for one in figures.parts)


@computes_once
def _rate(
    ratings: Ratings, criterion: str | None, scale: ScoreCategories, records: CellRecords | None, unknown: str
) -> "_Blind":
    return _Blind(
        criterion,
        scale,
        ratings.only(lambda kind: kind.is_representative),
        None if records is None else combine(ratings, records),
        unknown,
    )


@dataclass(frozen=True)
class _Blind:
    """The blind ratings of a criterion, or of the verdict."""

    criterion: str | None
    scale: ScoreCategories
    #: Without those of unflagged records that were not sampled.
    ratings: Ratings
    #: None while the records are being counted.
    rated: RatedRun | None
    unknown: str

    @cached_property
    def parts(self) -> tuple[AccuracyFigures, ...]:
        """The figures of the whole run, and of its parts, if they have ratings."""
        of_parts = {part: self._pairs.only(is_in) for part, is_in in IS_IN.items()}
        return tuple(
            AccuracyFigures(self.criterion, "blind", part, pairs, partial(self._measure, part, pairs))
            for part, pairs in of_parts.items()
            if pairs.ratings
        )

    @cached_property
    def _pairs(self) -> ScorePairs:
        ratings = self.rated.ratings if self.rated else self.ratings
        return ScorePairs(self.scale, ratings.kinds, ratings.counts)

    def _measure(self, part: Part, pairs: ScorePairs) -> Measured:
        if self.rated is None:
            return Measured(None, self.unknown)
        if part != "run":
            return Measured(pairs.confusion(self._totals_by_flag, BY_FLAG.index(part)))
        why = _why_not_covered(self._totals_by_flag, self._represented.ratings, self.criterion)
        if why:
            return Measured(None, why)
        totals, width = self._totals_by_flag, len(self.scale.categories) ** 2
        strata = tuple(pairs.confusion(totals, place) for place in range(len(totals.sums) // width))
        return Measured(replace(pairs.confusion(totals.join_domains(width)), strata=strata))

    @property
    def _represented(self) -> RatedRun:
        """The records that figures are about, with their ratings."""
        assert self.rated
        return self.rated.judged if self.criterion is None else self.rated

    @cached_property
    def _totals_by_flag(self) -> ClusterTotals:
        """The pairs of scores of the parts `BY_FLAG`. Ratings of one never represent records of another."""
        assert self.rated
        if self.criterion is None:
            return self.rated.verdicts_by_flag.totals
        return self.rated.totals_of(self._pairs.one_hot, domain=lambda cell: int(not cell.is_flagged))

    @cached_property
    def groups(self) -> tuple[GroupAccuracy, ...]:
        """The accuracy of each judge, prompt and model: over the run, or the part with ratings."""
        return tuple(
            GroupAccuracy(JudgeGroup(*group), self.criterion, part, found)
            for group, part, found in self.by(lambda cell: (cell.judge, cell.template, cell.model))
        )

    def by(self, group_of: Callable[[Cell], _Group]) -> Iterator[tuple[_Group, Part, Estimate]]:
        """Yield the accuracy of each group of cells that has ratings, with the part that it is about."""
        if self.rated is None:
            return
        represented = self._represented
        keys = sorted({(group_of(cell), cell.is_flagged) for cell in represented.records.cells})
        place_of = {key: place for place, key in enumerate(keys)}
        pairs = ScorePairs(self.scale, represented.ratings.kinds, represented.ratings.counts)
        totals = represented.totals_of(
            pairs.right_and_all, domain=lambda cell: place_of[group_of(cell), cell.is_flagged]
        )
        strata: dict[_Group, list[clusters.Share]] = {}
        for (group, _), place in place_of.items():
            strata.setdefault(group, []).append((2 * place, 2 * place + 1))
        part = _covered_part(totals, represented.ratings)
        found = clusters.stratified_ratios(totals, [*strata.values()])
        for group, accuracy in zip(strata, found, strict=True):
            if accuracy.n:
                yield group, part, accuracy


def _why_not_covered(totals: ClusterTotals, ratings: Ratings, criterion: str | None) -> str:
    """Return why figures about all records of a part are undefined, or an empty string."""
    if not totals.uncovered:
        return ""
    rated = {kind.cell.is_flagged for kind in ratings.kinds}
    missing = ("unflagged record" if True in rated else "flagged record") if rated else "record"
    with_verdict = " with a verdict by the judge" if criterion is None else ""
    return (
        f"No {missing}{with_verdict} has a blind rating, so nothing is known about "
        f"{totals.uncovered:,} of {totals.uncovered + totals.records:,} records."
    )


def _covered_part(totals: ClusterTotals, ratings: Ratings) -> Part:
    if not totals.uncovered:
        return "run"
    return "flagged" if any(kind.cell.is_flagged for kind in ratings.kinds) else "unflagged"

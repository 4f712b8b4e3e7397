"""The evaluated models in order: by the judge's pass rates, and by those that humans correct."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reviews.judge import population as judge_population
from reviews.judge.accuracy import JudgeScope
from reviews.judge.data_summary import counted
from reviews.judge.population import PopulationCell
from reviews.records.verdict import VERDICT_OF_LEVEL
from reviews.search import strata
from reviews.statistics import intervals
from reviews.statistics.intervals import Estimate, StratumSample, stratified_share, undefined

EstimateBasis = Literal["measured", "assumed", "nothing"]

_PASS = VERDICT_OF_LEVEL["yes"]
# Explanations by the names of the fields below.
DEFINITIONS = {
    "judge_rate": "Of all records of the model in which the judge came to a verdict, the share that it "
    "passes. A count, not an estimate: it has no interval.",
    "estimate": "Human-corrected pass rate: the share of all its records that humans would pass. Reviewed "
    "records stand for the others of the same judge, prompt and verdict, flagged ones for flagged ones, "
    "sampled ones for those that were not flagged, each weighted by how many there are "
    "(post-stratification: Cochran 1977, Sampling Techniques, chapter 5A). Where nobody reviewed one like "
    "it, the judge's word is taken, and the note says for how many. The interval is for further records of "
    "the same kind, so it has a width even where all are reviewed.",
    "rank": "Place by pass rate; equal rates share a place.",
    "swaps": "Pairs of models that the judge and humans put in the opposite order. A swap is real if the "
    "difference of the corrected rates is more than chance at the 5 % level, with all pairs of models asked "
    "at once (Holm 1979, Scandinavian Journal of Statistics 6:65). Models that answered the same tasks are "
    "compared as if they had not: real differences may be missed, none is made up.",
}


@dataclass(frozen=True)
class RankedModel:
    """`judged` records have a verdict by the judge, `passes` of these a Pass; `reviewed` have one by a human.

    The estimate is about `measured` records (reviewed, or like reviewed ones) and `assumed` ones, of which
    the judge's word is taken; `unknown` ones are left out: there is no verdict, and nobody reviewed any.
    Ranks are from 1, None where there is no rate.
    """

    name: str
    records: int
    judged: int
    passes: int
    reviewed: int
    measured: int
    assumed: int
    assumed_not_flagged: int
    unknown: int
    estimate: Estimate
    judge_rank: int | None = None
    rank: int | None = None

    @property
    def title(self) -> str:
        return self.name or "no model"

    @property
    def judge_rate(self) -> float | None:
        return self.passes / self.judged if self.judged else None

    @property
    def basis(self) -> EstimateBasis:
        if not self.reviewed:
            return "nothing"
        return "assumed" if self.assumed else "measured"

    @property
    def note(self) -> str:
        """What the estimate assumes and leaves out; empty where it does neither."""
        return " ".join(_notes(self)) if self.reviewed else ""

    def as_json(self) -> dict[str, Any]:
        names = ("records", "judged", "passes", "reviewed", "measured", "assumed", "unknown", "judge_rank")
        rate = self.judge_rate
        return (
            {"model": self.name}
            | {name: getattr(self, name) for name in names}
            | {
                "judge_rate": None if rate is None else round(rate, 6),
                "estimate": self.estimate.as_json(),
                "rank": self.rank,
                "basis": self.basis,
                "note": self.note,
            }
        )


@dataclass(frozen=True)
class RankingDisagreement:
    """The judge has one model ahead of another, and humans have it behind.

    `difference` is how far the corrected rate of `behind` lies above that of `ahead`.
    """

    ahead: str
    behind: str
    difference: Estimate
    p: float
    is_real: bool

    def as_json(self) -> dict[str, Any]:
        difference = self.difference.as_json()
        return {
            "ahead": self.ahead,
            "behind": self.behind,
            "difference": difference,
            "p": round(self.p, 6),
            "is_real": self.is_real,
        }


@dataclass(frozen=True)
class Leaderboard:
    """The models by their estimates, those without one last by the judge's rate. `pairs` were compared.

    While the records of the run are not all counted there are no models, and `unknown` says why. `left_out`
    says which records no figure counts.
    """

    scope: JudgeScope
    models: tuple[RankedModel, ...]
    swaps: tuple[RankingDisagreement, ...]
    pairs: int
    unknown: str = ""
    left_out: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(_sentences(self))

    def as_json(self) -> dict[str, Any]:
        return {
            "models": [model.as_json() for model in self.models],
            "swaps": [swap.as_json() for swap in self.swaps],
            "pairs": self.pairs,
            "sentences": list(self.sentences),
        }


def rank_models(scope: JudgeScope) -> Leaderboard:
    """The scoreboard of a run, by one judge or prompt if the scope has one, whoever reviewed."""
    if unknown := strata.why_not_counted(scope.run):
        return Leaderboard(scope, (), (), 0, unknown)
    by_model: dict[str, list[PopulationCell]] = defaultdict(list)
    population = judge_population.read_population(replace(scope, model=None))
    for cell in population.cells:
        by_model[cell.model].append(cell)
    models = _ranked([_model(name, cells) for name, cells in by_model.items()])
    compared = intervals.compare_pairs([model.estimate for model in models])
    swaps = [swap for pair in compared if (swap := _swap(models[pair.first], models[pair.second], pair))]
    swaps.sort(key=lambda swap: (swap.p, swap.ahead, swap.behind))
    return Leaderboard(scope, tuple(models), tuple(swaps), len(compared), left_out=population.sentence)


def _model(name: str, cells: Sequence[PopulationCell]) -> RankedModel:
    measured = [cell for cell in cells if cell.reviewed]
    assumed = [cell for cell in cells if not cell.reviewed and cell.verdict]
    judged = [cell for cell in cells if cell.verdict]
    reviewed = sum(cell.reviewed for cell in measured)
    return RankedModel(
        name=name,
        records=_records(cells),
        judged=_records(judged),
        passes=_records(cell for cell in judged if cell.verdict == _PASS),
        reviewed=reviewed,
        measured=_records(measured),
        assumed=_records(assumed),
        assumed_not_flagged=_records(cell for cell in assumed if not cell.is_flagged),
        unknown=_records(cell for cell in cells if not cell.reviewed and not cell.verdict),
        estimate=_estimate(measured, assumed, reviewed),
    )


def _records(cells: Iterable[PopulationCell]) -> int:
    return sum(cell.records for cell in cells)


def _estimate(
    measured: Sequence[PopulationCell], assumed: Sequence[PopulationCell], reviewed: int
) -> Estimate:
    if not reviewed:
        return undefined("No record of this model is reviewed yet.")
    parts = [
        StratumSample(cell.records, cell.reviewed, cell.said.get(_PASS, 0), cell.label) for cell in measured
    ]
    taken = [
        StratumSample(cell.records, cell.records, cell.records * (cell.verdict == _PASS)) for cell in assumed
    ]
    return replace(stratified_share([*parts, *taken], finite=False).share, n=reviewed)


def _ranked(models: Iterable[RankedModel]) -> list[RankedModel]:
    """In their order, with their ranks."""
    found = list(models)
    judged = _ranks([model.judge_rate for model in found])
    estimated = _ranks([model.estimate.value for model in found])
    ranked = [
        replace(model, judge_rank=by_judge, rank=rank)
        for model, by_judge, rank in zip(found, judged, estimated, strict=True)
    ]
    last = len(ranked) + 1
    return sorted(ranked, key=lambda model: (model.rank or last, model.judge_rank or last, model.name))


def _ranks(rates: Sequence[float | None]) -> list[int | None]:
    known = sorted((rate for rate in rates if rate is not None), reverse=True)
    return [None if rate is None else known.index(rate) + 1 for rate in rates]


def _swap(one: RankedModel, other: RankedModel, pair: intervals.PairComparison) -> RankingDisagreement | None:
    """The pair as a swap, if the judge has its models in the opposite order."""
    if one.judge_rate is None or other.judge_rate is None or pair.difference.value is None:
        return None
    by_judge = one.judge_rate - other.judge_rate
    if by_judge * pair.difference.value >= 0:
        return None
    ahead, behind = (one, other) if by_judge > 0 else (other, one)
    difference = intervals.difference(behind.estimate, ahead.estimate)
    return RankingDisagreement(ahead.title, behind.title, difference, pair.p, pair.is_real)


def _notes(model: RankedModel) -> Iterator[str]:
    if model.assumed_not_flagged:
        others = counted(model.assumed_not_flagged, "record")
        yield f"Assumes the judge to be right about {others} that nobody flagged: none like them was sampled."
    if flagged := model.assumed - model.assumed_not_flagged:
        yield f"Takes the judge's word for {counted(flagged, 'flagged record')}: none like them is reviewed."
    if model.unknown:
        yield f"Leaves out {counted(model.unknown, 'record')} without a verdict: none like them is reviewed."


def _sentences(board: Leaderboard) -> Iterator[str]:
    if board.unknown:
        yield board.unknown
        return
    if board.left_out:
        yield board.left_out
    estimated = [model for model in board.models if model.estimate.value is not None]
    if not estimated:
        yield "No record is reviewed yet: these are the judge's rates, and nothing corrects them."
        return
    if left := len(board.models) - len(estimated):
        yield f"{counted(left, 'model has', 'models have')} no reviewed record, and so no estimate."
    if any(model.assumed_not_flagged for model in estimated):
        yield (
            "Where no record was sampled that nobody flagged, the estimate corrects the flagged part only, "
            "and assumes the judge to be right about the rest."
        )
    if board.pairs:
        real = sum(swap.is_real for swap in board.swaps)
        swapped = f"{len(board.swaps):,} of {counted(board.pairs, 'pair')} of models"
        yield f"Humans have {swapped} in the opposite order of the judge's, {real:,} by more than chance."

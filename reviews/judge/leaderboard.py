"""Rank the evaluated models by the judge's pass rates, and by pass rates corrected with human verdicts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reviews.judge import population as judge_population
from reviews.judge.data_summary import counted
from reviews.judge.plain_json import members
from reviews.judge.population import PopulationCell
from reviews.judge.scope import JudgeScope
from reviews.records.verdict import VERDICT_OF_LEVEL
from reviews.search import strata
from reviews.statistics import intervals
from reviews.statistics.intervals import Estimate, StratumSample, stratified_share, undefined

EstimateBasis = Literal["measured", "assumed", "nothing"]

_PASS = VERDICT_OF_LEVEL["yes"]
DEFINITIONS = {
    "judge_rate": "The share of the model's records with a verdict that the judge passes. It is a count, "
    "not an estimate, so it has no interval.",
    "estimate": "The share of the model's records that humans would pass. Reviewed records represent the "
    "others with the same judge, prompt, verdict and flag, weighted by their number (post-stratification: "
    "Cochran 1977, Sampling Techniques, chapter 5A). Unflagged records are represented by sampled ones "
    "only. Records that no reviewed one represents keep the judge's verdict, and the note gives their "
    "number. The interval applies to further records of the same kind, so it has a width even if all "
    "records are reviewed.",
    "rank": "The rank by pass rate. Equal rates share a rank.",
    "ranking_disagreements": "Pairs of models that the judge and humans rank in opposite order. A "
    "disagreement is significant at the 5% level, adjusted for all pairs of models (Holm 1979, Scandinavian "
    "Journal of Statistics 6:65). The test treats models as if they had answered different tasks, so it may "
    "miss real differences between models that answered the same ones.",
}


@dataclass(frozen=True)
class RankedModel:
    """A model with its pass rates and ranks. Ranks start at 1. A model without a rate has no rank (None)."""

    name: str
    records: int
    #: Records with a verdict by the judge.
    judged: int
    #: Judged records that pass.
    passes: int
    #: Records with a verdict by a human.
    reviewed: int
    #: Records that are reviewed or represented by reviewed ones.
    measured: int
    #: Records for which the judge's verdict is assumed to be right.
    assumed: int
    assumed_not_flagged: int
    #: Records without any verdict. The estimate omits them.
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
        """The assumptions and omissions of the estimate, or empty."""
        return " ".join(_notes(self)) if self.reviewed else ""

    def as_json(self) -> dict[str, Any]:
        counts = ("records", "judged", "passes", "reviewed", "measured", "assumed", "unknown")
        figures = ("judge_rank", "estimate", "rank", "basis", "note")
        rate = None if self.judge_rate is None else round(self.judge_rate, 6)
        return {"model": self.name, "judge_rate": rate} | members(self, *counts, *figures)


@dataclass(frozen=True)
class RankingDisagreement:
    """A pair of models that the judge and humans rank in opposite order."""

    #: The model that the judge ranks higher.
    ahead: str
    #: The model that humans rank higher.
    behind: str
    #: The corrected rate of `behind` minus that of `ahead`.
    difference: Estimate
    #: Adjusted for all pairs (Holm 1979).
    p: float
    is_significant: bool

    def as_json(self) -> dict[str, Any]:
        return members(self, "ahead", "behind", "difference", "is_significant") | {"p": round(self.p, 6)}


@dataclass(frozen=True)
class Leaderboard:
    """The models by corrected pass rate. Models without an estimate come last, by the judge's rate."""

    scope: JudgeScope
    models: tuple[RankedModel, ...]
    ranking_disagreements: tuple[RankingDisagreement, ...]
    #: The number of pairs compared.
    pairs: int
    #: Why there are no models, while the run's records are being counted.
    unknown: str = ""
    #: The records that no figure counts, as a sentence.
    left_out: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(_sentences(self))

    def as_json(self) -> dict[str, Any]:
        return members(self, "models", "ranking_disagreements", "pairs", "sentences")


def rank_models(scope: JudgeScope) -> Leaderboard:
    """Rank the models of a run by any reviewer's decisions.

    The judge and prompt filters of the scope apply.
    """
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
        StratumSample(cell.records, cell.reviewed, cell.verdicts.get(_PASS, 0), cell.label)
        for cell in measured
    ]
    taken = [
        StratumSample(cell.records, cell.records, cell.records * (cell.verdict == _PASS)) for cell in assumed
    ]
    return replace(stratified_share([*parts, *taken], finite=False).share, n=reviewed)


def _ranked(models: Iterable[RankedModel]) -> list[RankedModel]:
    """Order the models and set their ranks."""
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
    """Return the pair as a disagreement, if the judge ranks its models in opposite order."""
    if one.judge_rate is None or other.judge_rate is None or pair.difference.value is None:
        return None
    by_judge = one.judge_rate - other.judge_rate
    if by_judge * pair.difference.value >= 0:
        return None
    ahead, behind = (one, other) if by_judge > 0 else (other, one)
    difference = intervals.difference(behind.estimate, ahead.estimate)
    return RankingDisagreement(ahead.title, behind.title, difference, pair.p, pair.is_significant)


def _notes(model: RankedModel) -> Iterator[str]:
    if model.assumed_not_flagged:
        others = counted(model.assumed_not_flagged, "unflagged record")
        yield f"Assumes that the judge is right about {others}: none like them was sampled."
    if flagged := model.assumed - model.assumed_not_flagged:
        yield (
            f"Keeps the judge's verdict on {counted(flagged, 'flagged record')}: none like them is reviewed."
        )
    if model.unknown:
        yield f"Omits {counted(model.unknown, 'record')} without a verdict: none like them is reviewed."


def _sentences(board: Leaderboard) -> Iterator[str]:
    if board.unknown:
        yield board.unknown
        return
    if board.left_out:
        yield board.left_out
    estimated = [model for model in board.models if model.estimate.value is not None]
    if not estimated:
        yield "No record is reviewed yet. These are the judge's rates, without correction."
        return
    if left := len(board.models) - len(estimated):
        yield f"{counted(left, 'model has', 'models have')} no reviewed record, and therefore no estimate."
    if any(model.assumed_not_flagged for model in estimated):
        yield (
            "Without sampled records, the estimate corrects the flagged part only. It assumes that the "
            "judge is right about unflagged records."
        )
    if board.pairs:
        real = sum(swap.is_significant for swap in board.ranking_disagreements)
        swapped = f"{len(board.ranking_disagreements):,} of {counted(board.pairs, 'pair')} of models"
        yield f"The judge and humans rank {swapped} in opposite order, {real:,} of them significantly."

"""Rank the evaluated models by the judge's pass rates, and by those that reviewers would give."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from cognireview.types import report_parts
from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import RankedModel, RankingDisagreement
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import why_not_counted
from reviews.judge.rated_run import RatedRun, load_rated_run
from reviews.judge.ratings import RatingKind
from reviews.judge.scope import JudgeScope
from reviews.records.rubric import VERDICT_OF_LEVEL
from reviews.records.wording import counted
from reviews.statistics import clusters
from reviews.statistics.intervals import SIGNIFICANT, holm, scale, undefined
from reviews.statistics.totals import ClusterTotals

# Models with fewer blind ratings are not ranked.
FEWEST = 10
_DIGITS = 9
NO_MODEL_TITLE = "no model"

_PASS = VERDICT_OF_LEVEL["yes"]
# Conditions of ratings: a pass, and any verdict.
_PASSES: tuple[Callable[[RatingKind], bool], ...] = (
    lambda kind: kind.human == _PASS,
    lambda kind: bool(kind.human),
)
DEFINITIONS = {
    "judge_rate": "How many of the model's records the judge passes. It says nothing about whether the judge "
    "is right.\n\n"
    "The share of the model's records with a verdict that is Pass. It is a count of all records, not an "
    "estimate, so it has no interval.",
    "estimate": "How many of the model's records a reviewer would pass without seeing the judge's scores. "
    "Compare models by this figure.\n\n"
    "The judge's verdicts on all records predict the share, and blind ratings correct the prediction "
    "(prediction-powered inference: Angelopoulos, Duchi & Zrnic 2023; stratified by judge, verdict and flag: "
    "Fisch et al. 2024). The interval is clustered by task and applies to further tasks of the same kind. It "
    "follows from those of the model's flagged and unflagged records (Zou & Donner 2008, Statistics in "
    "Medicine 27:1693).",
    "judge_rank": "The place of the model if you believe the judge. Models with equal rates share a place. "
    "\n\n"
    "The rank by the judge's pass rate, from the highest to the lowest.",
    "rank": "The places that the model may have among reviewers. A wide range means that more blind reviews "
    "are needed.\n\n"
    "A model is ranked above another one only if the difference of their pass rates by reviewers is "
    "significant at the 5% level, adjusted for all pairs of models (Holm 1979, Scandinavian Journal of "
    "Statistics 6:65).",
    "difference": "How much better reviewers rate the model that the judge ranks lower. If the interval "
    "includes 0, either model may be the better one.\n\n"
    "The difference of the reviewers' pass rates over the same tasks, with its t-interval.",
    "p": "How surprising the difference would be if both models were equal. Below 0.05, it is called "
    "significant.\n\n"
    "The p-value of a t-test over the tasks' differences, adjusted for all pairs of models (Holm 1979, "
    "Scandinavian Journal of Statistics 6:65).",
    "ranking_disagreements": "Pairs of models that the judge and reviewers rank in opposite order. Only a "
    "significant one shows that the judge's ranking is wrong.\n\n"
    "A disagreement is significant if a t-test over the tasks' differences, adjusted for all pairs of "
    "models, rejects equal pass rates at the 5% level (Holm 1979, Scandinavian Journal of Statistics 6:65).",
}


def model_title(model: str) -> str:
    return model or NO_MODEL_TITLE


@dataclass(frozen=True)
class Leaderboard(report_parts.Leaderboard):
    """The models by estimated pass rate. Models without an estimate come last, by the judge's rate.

    With a filter by model, it has that model alone. Ranks and adjusted p-values stay those among all models:
    a choice of models after their rates are known is no reason to test fewer pairs.
    """

    scope: JudgeScope
    #: The number of all models that have a rank.
    ranked: int = 0
    #: Why there are no models, while the run's records are being counted.
    unknown: str = ""
    #: The records that no figure counts, as a sentence.
    left_out: str = ""


@dataclass(frozen=True)
class _Pair:
    """Two models that have estimates, by their places."""

    first: int
    second: int
    #: The first estimate minus the second.
    difference: Estimate
    #: Adjusted for all pairs.
    p: float


def rank_models(scope: JudgeScope) -> Leaderboard:
    """Rank the models of a run by blind ratings. The filter by model chooses one after the ranking."""
    board = _rank_all(replace(scope, model=None))
    if scope.model is None:
        return board
    title = model_title(scope.model)
    return _with_sentences(
        replace(
            board,
            scope=scope,
            models=[one for one in board.models if one.model == scope.model],
            ranking_disagreements=[
                pair for pair in board.ranking_disagreements if title in {pair.ahead, pair.behind}
            ],
        )
    )


def _with_sentences(board: Leaderboard) -> Leaderboard:
    return replace(board, sentences=[*_sentences(board)])


@cache_figures
def _rank_all(scope: JudgeScope) -> Leaderboard:
    if unknown := why_not_counted(scope.run):
        return Leaderboard([], [], 0, [unknown], scope, unknown=unknown)
    rated = load_rated_run(scope)
    keys = sorted({(cell.model, cell.is_flagged) for cell in rated.records.cells})
    place_of = {key: place for place, key in enumerate(keys)}
    by_flag = rated.totals(*_PASSES, domain=lambda cell: place_of[cell.model, cell.is_flagged])
    places: dict[str, list[int]] = {}
    for (name, _), place in place_of.items():
        places.setdefault(name, []).append(place)
    estimates = _estimates(by_flag, [*places.values()])
    models = [_model(rated, name, estimate) for name, estimate in zip(places, estimates, strict=True)]
    totals = by_flag.join_domains(len(_PASSES), [first for first, *_ in places.values()])
    pairs = _compare(totals, [model.estimate.value is not None for model in models])
    swaps = [swap for pair in pairs if (swap := _swap(models[pair.first], models[pair.second], pair))]
    swaps.sort(key=lambda swap: (swap.p, swap.ahead, swap.behind))
    ranked = _ranked(models, pairs)
    return _with_sentences(
        Leaderboard(
            models=ranked,
            ranking_disagreements=swaps,
            pairs=len(pairs),
            sentences=[],
            scope=scope,
            ranked=sum(model.best_rank is not None for model in ranked),
            left_out=rated.records.sentence,
        )
    )


def _columns(place: int) -> tuple[int, int]:
    """Return the columns of a model, or of a stratum of one: `_PASSES`."""
    return 2 * place, 2 * place + 1


def _estimates(by_flag: ClusterTotals, strata: Sequence[Sequence[int]]) -> list[Estimate]:
    """Estimate the pass rate of each model. Its interval follows from its flagged and unflagged records."""
    if not by_flag.records:
        return [undefined("No record has a blind rating with a verdict yet.")] * len(strata)
    if by_flag.uncovered:
        why = (
            f"No blind rating represents {counted(by_flag.uncovered, 'record')} of the run: either no "
            f"flagged or no unflagged record is rated."
        )
        return [undefined(why)] * len(strata)
    few = f"Fewer than {FEWEST} blind ratings with a verdict."
    found = clusters.stratified_ratios(by_flag, [[*map(_columns, places)] for places in strata])
    return [one if one.n >= FEWEST else undefined(few, one.n) for one in found]


def _model(rated: RatedRun, name: str, estimate: Estimate) -> RankedModel:
    records = rated.records.only(lambda cell: cell.model == name)
    sizes = [(cell.verdict, int(size)) for cell, size in zip(records.cells, records.sizes, strict=True)]
    judged = sum(size for verdict, size in sizes if verdict)
    passes = sum(size for verdict, size in sizes if verdict == _PASS)
    return RankedModel(
        model=name,
        judge_rate=passes / judged if judged else None,
        records=sum(size for _, size in sizes),
        judged=judged,
        passes=passes,
        ratings=rated.ratings.count(lambda kind: kind.cell.model == name and bool(kind.human)),
        judge_rank=None,
        estimate=estimate,
        best_rank=None,
        worst_rank=None,
    )


def _compare(totals: ClusterTotals, is_estimated: Sequence[bool]) -> list[_Pair]:
    """Compare all pairs of models that have estimates."""
    places = list(combinations((place for place, known in enumerate(is_estimated) if known), 2))
    found = clusters.differences(totals, [(_columns(one), _columns(other)) for one, other in places])
    adjusted = holm([each.p for each in found])
    return [
        _Pair(one, other, each.difference, p)
        for (one, other), each, p in zip(places, found, adjusted, strict=True)
    ]


def _ranked(models: Sequence[RankedModel], pairs: Iterable[_Pair]) -> list[RankedModel]:
    """Set the ranks of models, and order them."""
    better, worse = [0] * len(models), [0] * len(models)
    for pair in pairs:
        if pair.p < SIGNIFICANT and pair.difference.value:
            first_is_ahead = pair.difference.value > 0
            ahead, behind = (pair.first, pair.second) if first_is_ahead else (pair.second, pair.first)
            worse[ahead] += 1
            better[behind] += 1
    estimated = sum(model.estimate.value is not None for model in models)
    by_judge = _ranks([model.judge_rate for model in models])
    ranked = [
        replace(model, judge_rank=rank)
        if model.estimate.value is None
        else replace(model, judge_rank=rank, best_rank=better[place] + 1, worst_rank=estimated - worse[place])
        for place, (model, rank) in enumerate(zip(models, by_judge, strict=True))
    ]
    return sorted(ranked, key=_best_first)


def _best_first(model: RankedModel) -> tuple[bool, float, float, str]:
    # Equal rates may differ by rounding.
    rate = None if model.estimate.value is None else round(model.estimate.value, _DIGITS)
    return rate is None, -(rate or 0), -(model.judge_rate or 0), model.model


def _ranks(rates: Sequence[float | None]) -> list[int | None]:
    known = sorted((rate for rate in rates if rate is not None), reverse=True)
    return [None if rate is None else known.index(rate) + 1 for rate in rates]


def _swap(one: RankedModel, other: RankedModel, pair: _Pair) -> RankingDisagreement | None:
    """Return the pair as a disagreement, if the judge ranks its models in opposite order."""
    value = pair.difference.value
    if one.judge_rate is None or other.judge_rate is None or value is None:
        return None
    by_judge = one.judge_rate - other.judge_rate
    if by_judge * value >= 0:
        return None
    ahead, behind, difference = other, one, pair.difference
    if by_judge > 0:
        ahead, behind, difference = one, other, scale(difference, -1)
    titles = model_title(ahead.model), model_title(behind.model)
    return RankingDisagreement(*titles, difference, pair.p < SIGNIFICANT, pair.p)


def _sentences(board: Leaderboard) -> Iterator[str]:
    if board.unknown:
        yield board.unknown
        return
    if board.left_out:
        yield board.left_out
    unranked = [model for model in board.models if model.estimate.value is None]
    if len(unranked) == len(board.models):
        is_judged = any(model.judge_rate is not None for model in unranked)
        if board.scope.model is None:
            rates = " These are the judge's rates, without correction." if is_judged else ""
            yield f"No model has an estimate yet.{rates}"
        else:
            rate = " Its pass rate is that of the judge, without correction." if is_judged else ""
            yield f"This model has no estimate yet.{rate}"
        yield from dict.fromkeys(model.estimate.why for model in unranked)
        return
    if unranked:
        yield (
            f"{counted(len(unranked), 'model has', 'models have')} fewer than {FEWEST} blind ratings, and "
            f"therefore no estimate and no rank."
        )
    if board.scope.model is not None:
        yield f"Ranks and comparisons are those among all {counted(board.ranked, 'model')} with a rank."
    elif board.pairs:
        yield _order_sentence(board)


def _order_sentence(board: Leaderboard) -> str:
    """Say how many pairs of models the judge and reviewers rank in opposite order."""
    if not board.ranking_disagreements:
        return "The judge and reviewers rank no pair of models in opposite order."
    real = sum(swap.is_significant for swap in board.ranking_disagreements)
    if board.pairs == 1:
        how = "and the difference is significant" if real else "but the difference is not significant"
        return f"The judge and reviewers rank the two models in opposite order, {how}."
    swapped = f"{len(board.ranking_disagreements):,} of {counted(board.pairs, 'pair')} of models"
    significantly = f"{f'{real:,}' if real else 'none'} of them significantly"
    return f"The judge and reviewers rank {swapped} in opposite order, {significantly}."

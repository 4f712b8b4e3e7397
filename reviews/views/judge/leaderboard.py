"""Show the models as ranked by the judge and by reviewers."""

from collections.abc import Iterator

from cognireview.types.report_parts import RankedModel, RankingDisagreement
from reviews.judge import leaderboard
from reviews.judge.leaderboard import Leaderboard, model_title
from reviews.judge.scope import NO_MODEL, JudgeScope
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge.filters import JudgeFilters, list_of_scope
from reviews.views.judge.sections import Section, linked
from reviews.views.judge.tables import estimate_column
from reviews.views.tables import NOTHING, Cell, Column, Table, count, percent, share, text_columns, words

_MOST_NAMES = 4
_MODELS = [
    Column("model", "Model", is_number=False),
    Column("records", "Records"),
    Column("judge_rate", "Judge's pass rate", leaderboard.DEFINITIONS["judge_rate"]),
    estimate_column("estimate", "Reviewers' pass rate", leaderboard.DEFINITIONS["estimate"]),
    Column("judge_rank", "Judge's rank", leaderboard.DEFINITIONS["judge_rank"]),
    Column("ranks", "Possible ranks", leaderboard.DEFINITIONS["rank"], is_number=False),
    Column("ratings", "Blind ratings"),
]


def models(found: Leaderboard) -> Table:
    return Table(
        "models",
        "Models",
        _MODELS,
        [_model(model, found.scope) for model in found.models],
        found.unknown or "This run has no records.",
    )


def _model(model: RankedModel, scope: JudgeScope) -> list[Cell]:
    return [
        words(model_title(model.model), url=list_of_scope(scope, model=model.model) if model.model else ""),
        count(model.records),
        percent(model.passes, model.judged),
        share(model.estimate),
        count(model.judge_rank),
        _ranks(model),
        count(model.ratings),
    ]


def _ranks(model: RankedModel) -> Cell:
    first, last = model.best_rank, model.worst_rank
    if first is None or last is None:
        return NOTHING
    return words(f"{first}" if first == last else f"{first} to {last}")


_DISAGREEMENTS = [
    *text_columns(ahead="Judge ranks higher", behind="Reviewers rank higher"),
    estimate_column("difference", "Difference", leaderboard.DEFINITIONS["difference"]),
    Column("p", "p", leaderboard.DEFINITIONS["p"]),
    Column(
        "is_significant", "Significant?", leaderboard.DEFINITIONS["ranking_disagreements"], is_number=False
    ),
]


def ranking_disagreements(found: Leaderboard) -> Table:
    none = (
        "The judge and reviewers agree on the order of all models."
        if found.pairs
        else "Not enough data to compare models."
    )
    rows = [_disagreement(pair) for pair in found.ranking_disagreements]
    return Table("ranking-disagreements", "Ranking disagreements", _DISAGREEMENTS, rows, none)


def _disagreement(pair: RankingDisagreement) -> list[Cell]:
    return [
        words(pair.ahead),
        words(pair.behind),
        share(pair.difference, sign="+"),
        Cell(f"{pair.p:.3f}" if pair.p >= 0.001 else "< 0.001", round(pair.p, 6)),
        words("Yes" if pair.is_significant else "No"),
    ]


def model_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the reviewers' pass rate of each model, and the pairs that the judge ranks the other way."""
    found = leaderboard.rank_models(filters.scope)
    table, disagreements = models(found), ranking_disagreements(found)
    dots = [_dot(model, filters) for model in found.models if model.estimate.value is not None]
    plot = DotPlot("Reviewers' pass rate by model", dots, other_title="the judge's pass rate")
    shown = [one for one in (table, disagreements) if one.rows]
    yield Section(
        "models",
        "Pass rate by model",
        answer=_answer(found) if table.rows else table.empty,
        help=leaderboard.DEFINITIONS["estimate"],
        plot=plot if dots else None,
        notes=[] if found.unknown else found.sentences,
        tables=[linked(one, filters) for one in shown],
    )


def _answer(found: Leaderboard) -> str:
    """Say which models may be the best."""
    known = [model for model in found.models if model.estimate.value is not None]
    if not known:
        return "No model is ranked yet." if found.scope.model is None else "This model has no rank yet."
    if found.scope.model is not None:
        [one] = known
        rate = share(one.estimate).words
        answer = f"Reviewers pass {rate} of the responses of {model_title(one.model)}."
        return f"{answer} Its rank: {_ranks(one).text} of {found.ranked:,}."
    first = [model for model in known if model.best_rank == 1]
    names, rate = [model_title(model.model) for model in first], share(first[0].estimate).words
    best = f"{names[0]} has the highest pass rate by reviewers: {rate}."
    if len(known) == 1:
        best = f"Reviewers pass {rate} of the responses of {names[0]}."
    elif len(first) > 1:
        others = f" and {len(first) - _MOST_NAMES} more" if len(first) > _MOST_NAMES else ""
        named = ", ".join(names[:_MOST_NAMES])
        best = f"By the scores of reviewers, any of {len(first)} models may be the best: {named}{others}."
    return best


def _dot(model: RankedModel, filters: JudgeFilters) -> Dot:
    chosen = {"basis": "blind", "part": "run", "model": model.model or NO_MODEL}
    url = filters.address("judge-decisions", **chosen)
    judged = 100 * model.passes / model.judged if model.judged else None
    return Dot(model_title(model.model), share(model.estimate, url), other=judged)

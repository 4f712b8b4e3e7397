"""Build the tables about flags, missed errors, models and causes."""

from collections.abc import Iterable

from django.urls import reverse

from reviews.judge import error_analysis, flag_precision, leaderboard, missed_errors
from reviews.judge.error_analysis import TemplateErrors
from reviews.judge.flag_precision import FlagPrecision, FlagReason
from reviews.judge.leaderboard import Leaderboard, RankedModel, RankingDisagreement
from reviews.judge.missed_errors import MissedErrors
from reviews.models import Run
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.tables import estimate_column
from reviews.views.tables import (
    NOTHING,
    Cell,
    Column,
    Table,
    count,
    figure,
    percent,
    share,
    text_columns,
    words,
)


def _explained(definitions: dict[str, str], name: str, title: str, *, series: str = "") -> Column:
    return Column(name, title, definitions[name], series=series)


_REASONS = [
    Column("reason", "Flag reason", is_number=False),
    _explained(flag_precision.DEFINITIONS, "flagged", "Flagged"),
    _explained(flag_precision.DEFINITIONS, "reviewed", "Reviewed"),
    _explained(flag_precision.DEFINITIONS, "changed", "Changed a score"),
    _explained(flag_precision.DEFINITIONS, "verdict_changed", "Changed the verdict"),
    estimate_column("precision", "Precision", flag_precision.DEFINITIONS["precision"], series="Precision"),
    _explained(flag_precision.DEFINITIONS, "minutes_per_error", "Active minutes per error"),
    Column("advice", "Advice", flag_precision.DEFINITIONS["advice"], is_number=False, notes="because"),
]


def reasons(found: FlagPrecision, run: Run) -> Table:
    return Table(
        "reasons",
        "Flag reasons",
        _REASONS,
        [_reason(family, run, found.unknown) for family in found.families],
        found.unknown or "No record of this run has a flag reason.",
        "A flag reason is worth its reviews if it leads to errors of the judge.",
        chart="bar",
        is_percent=True,
    )


def _reason(family: FlagReason, run: Run, unknown: str) -> list[Cell]:
    return [
        words(family.title, url=_run_list(run, reason=family.key)),
        Cell(NOTHING.text, why=unknown) if family.flagged is None else count(family.flagged),
        count(family.reviewed, _run_list(run, status="done", reason=family.key)),
        count(family.changed),
        count(family.verdict_changed),
        share(family.precision),
        _minutes(family),
        Cell(family.advice.capitalize(), family.advice, note=_because(family)),
    ]


def _because(family: FlagReason) -> str:
    """Return the reason for the advice, without the advice itself."""
    because = family.because.partition(": ")[2]
    return because[:1].upper() + because[1:]


def _minutes(family: FlagReason) -> Cell:
    minutes = family.minutes_per_error
    if minutes is None:
        return Cell(NOTHING.text, why=family.minutes_why)
    return Cell(f"{minutes:,.1f}", round(minutes, 2), note=f"{family.timed:,} timed")


def _run_list(run: Run, **filters: str) -> str:
    """Return the URL of the run's record list with filters."""
    return reverse("run", args=[run.pk], query=filters)


def flag_figures(found: MissedErrors) -> list[tuple[Column, Cell]]:
    """Return the figures about the flags, or nothing before the first review."""
    if not (found.reviewed or found.flagged_error_rate.share.n):
        return []
    definitions = missed_errors.DEFINITIONS
    return [
        (_explained(definitions, "miss_rate", "Miss rate"), share(found.miss_rate.share)),
        (_explained(definitions, "flag_recall", "Flag recall"), share(found.flag_recall)),
        (_explained(definitions, "missed", "Missed errors"), figure(found.missed, ",.0f")),
        (
            _explained(definitions, "flagged_error_rate", "Error rate among flagged"),
            share(found.flagged_error_rate.share),
        ),
    ]


def flag_figures_table(found: MissedErrors) -> Table:
    """Build the same figures as rows of a CSV file."""
    columns = [Column("figure", "Figure", is_number=False), estimate_column("value", "Value", "")]
    rows = [[words(column.title), cell] for column, cell in flag_figures(found)]
    return Table("missed-errors", "Missed errors", columns, rows, "")


def criterion_miss_rates(found: MissedErrors) -> Table:
    rows = [[words(one.title), share(one.miss_rate)] for one in found.criteria]
    column = estimate_column(
        "miss_rate",
        "Changed by a reviewer",
        missed_errors.DEFINITIONS["criteria"],
        series="Changed by a reviewer",
    )
    return Table(
        "missed-errors-by-criterion",
        "Errors in sampled records, by criterion",
        [Column("criterion", "Criterion", is_number=False), column],
        rows,
        "No sampled record is reviewed yet.",
        chart="bar",
        is_percent=True,
    )


_RESTS_ON = {
    "measured": "Reviews",
    "assumed": "Reviews and the judge",
    "nothing": "The judge alone",
}
_MODELS = [
    Column("model", "Model", is_number=False),
    Column("records", "Records", "All records of the model, reviewed or not."),
    _explained(leaderboard.DEFINITIONS, "judge_rate", "Judge's pass rate", series="Judge"),
    estimate_column(
        "estimate",
        "Corrected pass rate",
        leaderboard.DEFINITIONS["estimate"],
        series="Corrected",
    ),
    Column("judge_rank", "Judge's rank", leaderboard.DEFINITIONS["rank"]),
    Column("rank", "Corrected rank", leaderboard.DEFINITIONS["rank"]),
    Column("basis", "Based on", is_number=False, notes="note"),
]


def models(found: Leaderboard) -> Table:
    return Table(
        "models",
        "Models",
        _MODELS,
        [_model(model, found.scope.run) for model in found.models],
        found.unknown or "This run has no records.",
        chart="bar",
        is_percent=True,
    )


def _model(model: RankedModel, run: Run) -> list[Cell]:
    return [
        words(model.title, url=_run_list(run, model=model.name) if model.name else ""),
        count(model.records),
        percent(model.passes, model.judged),
        share(model.estimate),
        _rank(model.judge_rank),
        _rank(model.rank),
        Cell(_RESTS_ON[model.basis], model.basis, note=model.note),
    ]


def _rank(rank: int | None) -> Cell:
    return NOTHING if rank is None else count(rank)


_DISAGREEMENTS = [
    *text_columns(ahead="Judge ranks higher", behind="Humans rank higher"),
    estimate_column("difference", "Difference", "The difference of the corrected pass rates."),
    Column("p", "p", "Adjusted for all pairs of models (Holm 1979)."),
    Column(
        "is_significant", "Significant?", leaderboard.DEFINITIONS["ranking_disagreements"], is_number=False
    ),
]


def ranking_disagreements(found: Leaderboard) -> Table:
    none = (
        "The judge and humans agree on the order of all models."
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


_CAUSES = [
    Column("cause", "Cause", is_number=False),
    _explained(error_analysis.DEFINITIONS, "mentions", "Named", series="Named"),
    Column("criteria", "About", is_number=False),
]


def causes(template: TemplateErrors, filters: JudgeFilters, number: int) -> Table:
    """Build the table of one prompt template's causes. `number` distinguishes the tables of a page."""
    rows = [
        [
            words(cause.title),
            count(
                cause.mentions, filters.address("judge-decisions", cause=cause.word, template=template.path)
            ),
            words(", ".join(f"{one.title} ({one.mentions:,})" for one in cause.criteria)),
        ]
        for cause in template.causes
    ]
    return Table(f"causes-{number}", "Causes", _CAUSES, rows, "", chart="bar")


def all_causes(templates: Iterable[TemplateErrors]) -> Table:
    """Build the table of all templates, causes and criteria for a CSV file."""
    rows = [
        [words(template.path), words(cause.word), words(one.criterion), count(one.mentions)]
        for template in templates
        for cause in template.causes
        for one in cause.criteria
    ]
    columns = text_columns(template="Prompt", cause="Cause", criterion="Criterion")
    return Table("causes", "", [*columns, Column("mentions", "Named")], rows, "")

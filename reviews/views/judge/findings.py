"""What flags find and miss, models with and without people's corrections, and causes: in tables."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.urls import reverse

from reviews.judge import error_analysis, flag_precision, leaderboard, missed_errors
from reviews.judge.error_analysis import TemplateErrors
from reviews.judge.flag_precision import FlagPrecision, FlagReason
from reviews.judge.leaderboard import Leaderboard, RankedModel, RankingDisagreement
from reviews.judge.missed_errors import MissedErrors
from reviews.models import Run
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.tables import estimate_column
from reviews.views.tables import NOTHING, Cell, Column, Table, count, figure, percent, share, words


def _explained(definitions: dict[str, str], name: str, title: str, *, series: str = "") -> Column:
    return Column(name, title, definitions[name], series=series)


# Reasons

_REASONS = [
    Column("reason", "Reason", is_number=False),
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
        "Reasons why a human was asked",
        _REASONS,
        [_reason(family, run, found.unknown) for family in found.families],
        found.unknown or "No record of this run has a reason why a human is asked.",
        "A reason is worth its reviews if it leads to errors of the judge.",
        chart="bar",
        is_percent=True,
    )


def _reason(family: FlagReason, run: Run, unknown: str) -> list[Cell]:
    return [
        words(family.title, url=_listed(run, reason=family.key)),
        Cell(NOTHING.text, why=unknown) if family.flagged is None else count(family.flagged),
        count(family.reviewed, _listed(run, status="done", reason=family.key)),
        count(family.changed),
        count(family.verdict_changed),
        share(family.precision),
        _minutes(family),
        Cell(family.advice.capitalize(), family.advice, note=_because(family)),
    ]


def _because(family: FlagReason) -> str:
    """Without the advice itself, which stands above it."""
    because = family.because.partition(": ")[2]
    return because[:1].upper() + because[1:]


def _minutes(family: FlagReason) -> Cell:
    minutes = family.minutes_per_error
    if minutes is None:
        return Cell(NOTHING.text, why=family.minutes_why)
    return Cell(f"{minutes:,.1f}", round(minutes, 2), note=f"{family.timed:,} timed")


def _listed(run: Run, **filters: str) -> str:
    """The list of the run with filters on."""
    return f"{reverse('run', args=[run.pk])}?{urlencode(filters)}"


# What the flags miss


def escapes(found: MissedErrors) -> list[tuple[Column, Cell]]:
    """The figures, each with what it is; none while nothing is reviewed."""
    if not (found.reviewed or found.caught.share.n):
        return []
    definitions = missed_errors.DEFINITIONS
    return [
        (_explained(definitions, "rate", "Escape rate"), share(found.rate.share)),
        (_explained(definitions, "recall", "Recall of the flags"), share(found.recall)),
        (_explained(definitions, "escaped", "Wrong and not flagged"), figure(found.escaped, ",.0f")),
        (_explained(definitions, "caught", "Wrong among flagged"), share(found.caught.share)),
    ]


def escapes_table(found: MissedErrors) -> Table:
    """The same as rows, for a file."""
    columns = [Column("figure", "Figure", is_number=False), estimate_column("value", "Value", "")]
    rows = [[words(column.title), cell] for column, cell in escapes(found)]
    return Table("misses", "What the flags miss", columns, rows, "")


def escaped_criteria(found: MissedErrors) -> Table:
    rows = [[words(of.title), share(of.escaped)] for of in found.criteria]
    column = estimate_column(
        "escaped", "Changed by a human", missed_errors.DEFINITIONS["criteria"], series="Changed by a human"
    )
    return Table(
        "misses-by-criterion",
        "Errors in records that nobody flagged, by criterion",
        [Column("criterion", "Criterion", is_number=False), column],
        rows,
        "No such record is reviewed yet.",
        chart="bar",
        is_percent=True,
    )


# Models

_RESTS_ON = {
    "measured": "Reviews",
    "assumed": "Reviews and the judge's word",
    "nothing": "The judge's word alone",
}
_MODELS = [
    Column("model", "Model", is_number=False),
    Column("records", "Records", "All records of the model in the run, reviewed or not."),
    _explained(leaderboard.DEFINITIONS, "judge_rate", "Pass rate by the judge", series="By the judge"),
    estimate_column(
        "estimate",
        "Pass rate corrected by people",
        leaderboard.DEFINITIONS["estimate"],
        series="Corrected by people",
    ),
    Column("judge_rank", "Rank by the judge", leaderboard.DEFINITIONS["rank"]),
    Column("rank", "Corrected rank", leaderboard.DEFINITIONS["rank"]),
    Column("basis", "Rests on", is_number=False, notes="note"),
]


def models(found: Leaderboard) -> Table:
    return Table(
        "models",
        "Models, by the judge and corrected by people",
        _MODELS,
        [_model(of, found.scope.run) for of in found.models],
        found.unknown or "This run has no records.",
        chart="bar",
        is_percent=True,
    )


def _model(of: RankedModel, run: Run) -> list[Cell]:
    return [
        words(of.title, url=_listed(run, model=of.name) if of.name else ""),
        count(of.records),
        percent(of.passes, of.judged),
        share(of.estimate),
        _rank(of.judge_rank),
        _rank(of.rank),
        Cell(_RESTS_ON[of.basis], of.basis, note=of.note),
    ]


def _rank(rank: int | None) -> Cell:
    return NOTHING if rank is None else count(rank)


_SWAPS = [
    Column("ahead", "The judge puts first", is_number=False),
    Column("behind", "People put first", is_number=False),
    estimate_column("difference", "Ahead by", "By pass rates corrected by people."),
    Column("p", "p", "For all pairs of models together, corrected by Holm 1979."),
    Column("is_real", "Real?", leaderboard.DEFINITIONS["swaps"], is_number=False),
]


def swaps(found: Leaderboard) -> Table:
    none = (
        "People rank no two models the other way."
        if found.pairs
        else "Too little is known to compare models."
    )
    rows = [_swap(of) for of in found.swaps]
    return Table("swaps", "Models that people rank the other way", _SWAPS, rows, none)


def _swap(of: RankingDisagreement) -> list[Cell]:
    return [
        words(of.ahead),
        words(of.behind),
        share(of.difference, sign="+"),
        Cell(f"{of.p:.3f}" if of.p >= 0.001 else "< 0.001", round(of.p, 6)),
        words("Yes" if of.is_real else "May be chance"),
    ]


# Causes

_CAUSES = [
    Column("cause", "Cause", is_number=False),
    _explained(error_analysis.DEFINITIONS, "mentions", "Named", series="Named"),
    Column("criteria", "About", is_number=False),
]


def causes(template: TemplateErrors, filters: JudgeFilters, number: int) -> Table:
    """The causes of one prompt template, ranked. `number` tells it from others on the page."""
    rows = [
        [
            words(cause.title),
            count(
                cause.mentions, filters.address("judge-decisions", cause=cause.word, template=template.path)
            ),
            words(", ".join(f"{of.title} ({of.mentions:,})" for of in cause.criteria)),
        ]
        for cause in template.causes
    ]
    return Table(f"causes-{number}", "Causes", _CAUSES, rows, "", chart="bar")


def all_causes(templates: Iterable[TemplateErrors]) -> Table:
    """Every cause of every template and criterion, for a file."""
    rows = [
        [words(template.path), words(cause.word), words(of.criterion), count(of.mentions)]
        for template in templates
        for cause in template.causes
        for of in cause.criteria
    ]
    names = {"template": "Prompt", "cause": "Cause", "criterion": "Criterion"}
    columns = [Column(name, title, is_number=False) for name, title in names.items()]
    return Table("causes", "", [*columns, Column("mentions", "Named")], rows, "")

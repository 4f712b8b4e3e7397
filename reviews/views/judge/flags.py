"""Show the errors that flags miss, and whether each flag reason finds errors."""

from collections.abc import Iterator

from cognireview.types.report_parts import FlagChoice, FlagPrecision, FlagReason
from reviews.judge import flag_choice, flag_precision, missed_errors
from reviews.judge.accuracy_figures import figure_title
from reviews.judge.drilldown import ANY_SCORE, OTHER_SCORE
from reviews.judge.flag_precision import left_out_sentence
from reviews.judge.missed_errors import MissedErrors
from reviews.records.wording import counted
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Link, Section, linked
from reviews.views.judge.tables import estimate_column
from reviews.views.shortcuts import record_list
from reviews.views.tables import FEWEST, NOTHING, Cell, Column, Table, count, figure, prominent, share, words

_REASONS = [
    Column("reason", "Flag reason", is_number=False),
    Column("flagged", "Flagged", flag_precision.DEFINITIONS["flagged"]),
    Column("ratings", "Blind ratings", flag_precision.DEFINITIONS["ratings"]),
    Column("wrong", "Wrong verdicts", flag_precision.DEFINITIONS["wrong"]),
    estimate_column("precision", "Precision", flag_precision.DEFINITIONS["precision"]),
    estimate_column("recall", "Share of all errors", flag_precision.DEFINITIONS["recall"]),
    Column("minutes_per_error", "Active minutes per error", flag_precision.DEFINITIONS["minutes_per_error"]),
    Column("advice", "Advice", flag_precision.DEFINITIONS["advice"], is_number=False, notes="because"),
]


def reasons(found: FlagPrecision, filters: JudgeFilters) -> Table:
    return Table(
        "reasons",
        "Flag reasons",
        _REASONS,
        [_reason(family, filters, found.unknown) for family in found.families],
        found.unknown or "No record of this run has a flag reason.",
        "A flag reason is worth its reviews if it finds wrong verdicts.",
    )


def _reason(family: FlagReason, filters: JudgeFilters, unknown: str) -> list[Cell]:
    return [
        words(family.title, url=record_list(filters.scope.run, ("reason", family.key))),
        Cell(NOTHING.text, why=unknown) if family.flagged is None else count(family.flagged),
        count(family.ratings, _ratings(filters, family)),
        count(family.wrong, _ratings(filters, family, human_said=OTHER_SCORE)),
        share(family.precision),
        share(family.recall),
        _minutes(family),
        Cell(family.advice.capitalize(), family.advice, note=_because(family)),
    ]


def _ratings(filters: JudgeFilters, family: FlagReason, **said: str) -> str:
    """Return the URL of the blind ratings of a flag reason."""
    return filters.address("judge-decisions", basis="blind", part="flagged", reason=family.key, **said)


def _because(family: FlagReason) -> str:
    """Return the reason for the advice, without the advice itself."""
    because = family.because.partition(": ")[2]
    return because[:1].upper() + because[1:]


def _minutes(family: FlagReason) -> Cell:
    minutes = family.minutes_per_error
    if minutes is None:
        return Cell(NOTHING.text, why=family.minutes_why)
    return Cell(f"{minutes:,.1f}", round(minutes, 2), note=f"{family.timed:,} timed")


def flag_figures(found: MissedErrors, filters: JudgeFilters) -> list[tuple[Column, Cell]]:
    """Return the figures about the flags, or nothing before the first rating."""
    if not (found.ratings or found.flagged_error_rate.n):
        return []
    definitions = missed_errors.DEFINITIONS
    missed, caught, every = (_wrong(filters, part) for part in ("unflagged", "flagged", "run"))
    return [
        (Column("miss_rate", "Miss rate", definitions["miss_rate"]), share(found.miss_rate, missed)),
        (Column("flag_recall", "Flag recall", definitions["flag_recall"]), share(found.flag_recall, every)),
        (Column("missed", "Missed errors", definitions["missed"]), figure(found.missed, missed, digits=0)),
        (
            Column("flagged_error_rate", "Error rate among flagged", definitions["flagged_error_rate"]),
            share(found.flagged_error_rate, caught),
        ),
    ]


def _wrong(filters: JudgeFilters, part: str, criterion: str = "") -> str:
    """Return the URL of the blind ratings of a part that differ from the judge."""
    place = {"basis": "blind", "part": part, "criterion": criterion}
    return filters.address("judge-decisions", **place, judge_said=ANY_SCORE, human_said=OTHER_SCORE)


def flag_figures_table(found: MissedErrors, filters: JudgeFilters) -> Table:
    """Build the same figures as rows of a CSV file."""
    columns = [Column("figure", "Figure", is_number=False), estimate_column("value", "Value", "")]
    rows = [[words(column.title), cell] for column, cell in flag_figures(found, filters)]
    return Table("missed-errors", "Missed errors", columns, rows, "")


def criterion_miss_rates(found: MissedErrors) -> Table:
    rows = [[words(figure_title(one.criterion)), share(one.miss_rate)] for one in found.criteria]
    column = estimate_column("miss_rate", "Wrong score", missed_errors.DEFINITIONS["criteria"])
    return Table(
        "missed-errors-by-criterion",
        "Errors in unflagged records, by criterion",
        [Column("criterion", "Criterion", is_number=False), column],
        rows,
        "No sampled record has a blind rating yet.",
    )


def missed_error_sections(filters: JudgeFilters) -> Iterator[Section]:
    found = missed_errors.estimate_missed_errors(filters.scope)
    criteria = criterion_miss_rates(found)
    csv = Link("CSV", filters.address("judge-table", "missed-errors"))
    yield Section(
        "missed-errors",
        "Missed errors",
        figures=[(column, prominent(cell)) for column, cell in flag_figures(found, filters)],
        notes=found.sentences,
        links=[csv] if found.ratings else [],
        plot=DotPlot(
            "Wrong scores in unflagged records, by criterion",
            [
                Dot(
                    figure_title(one.criterion),
                    share(one.miss_rate, _wrong(filters, "unflagged", one.criterion)),
                )
                for one in sorted(found.criteria, key=lambda one: one.miss_rate.n < FEWEST)
            ],
        )
        if criteria.rows
        else None,
        tables=[linked(criteria, filters)] if criteria.rows else [],
    )


def reason_sections(filters: JudgeFilters) -> Iterator[Section]:
    found = flag_precision.measure_flag_precision(filters.scope)
    table = reasons(found, filters)
    dots = [
        Dot(family.title, share(family.precision, _ratings(filters, family, human_said=OTHER_SCORE)))
        for family in found.families
        if family.precision.value is not None
    ]
    yield Section(
        "reasons",
        "Flag reasons",
        answer=_advice(found) if table.rows else table.empty,
        help=flag_precision.DEFINITIONS["precision"],
        plot=DotPlot("Precision: share of wrong verdicts among records with the reason", dots)
        if dots
        else None,
        notes=[*filter(None, [found.rule, left_out_sentence(found.left_out)])] if table.rows else [],
        tables=[linked(table, filters)] if table.rows else [],
    )


def _advice(found: FlagPrecision) -> str:
    """Return the flag reasons to keep and to retire, and the number of the others."""
    named: dict[str, list[str]] = {}
    for family in found.families:
        named.setdefault(family.advice, []).append(f"“{family.title}”")
    sentences = [
        f"{advice.capitalize()} {', '.join(titles)}."
        for advice, titles in named.items()
        if advice in {"keep", "retire"}
    ]
    if others := sum(len(titles) for advice, titles in named.items() if advice not in {"keep", "retire"}):
        sentences.append(f"Not enough data for {counted(others, 'reason')}.")
    return " ".join(sentences)


_STEPS = [
    Column("dropped", "Dropped", is_number=False),
    Column("kept", "Kept", is_number=False),
    estimate_column("error_rate", "Error rate among unflagged", flag_choice.DEFINITION),
    Column("flagged", "Records to review", flag_choice.RECORDS),
    Column("is_shown", "Below the limit?", flag_choice.DEFINITION, is_number=False),
]


def choice_table(found: FlagChoice) -> Table:
    rows = [
        [
            words(step.dropped or "none"),
            words(", ".join(step.kept) or "none"),
            share(step.error_rate),
            count(step.flagged),
            words("Yes" if step.is_shown else "Not shown"),
        ]
        for step in found.steps
    ]
    return Table("flag-choice", "Flag reasons that can be dropped", _STEPS, rows, found.sentence)


def choice_sections(filters: JudgeFilters) -> Iterator[Section]:
    found = flag_choice.choose_flags(filters.scope, filters.limit)
    yield Section(
        "flag-choice",
        "Which flag reasons can be dropped?",
        answer=found.sentence,
        tone="ok" if any(step.is_shown for step in found.steps) else "",
        help=flag_choice.DEFINITION,
        notes=[left_out_sentence(found.left_out)] if found.left_out else [],
        tables=[linked(choice_table(found), filters)] if found.steps else [],
        template="judge/flag_choice.html",
        data=f"{100 * found.limit:g}",
    )


SECTIONS = (missed_error_sections, reason_sections, choice_sections)

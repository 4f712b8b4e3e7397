"""Print the judge's pages for a terminal or a pipe: their tables and sentences as text."""

from collections.abc import Iterable, Iterator

from django.utils.safestring import SafeString
from rich.console import RenderableType
from rich.text import Text

from reviews.judge.accuracy_figures import parts_sentence
from reviews.judge.comparison.drift import Drift
from reviews.judge.comparison.history import History
from reviews.judge.comparison.paired import PairedComparison
from reviews.judge.flag_precision import left_out_sentence
from reviews.judge.gold.measurement import GoldMeasurement
from reviews.judge.planning import JudgePlan
from reviews.judge.report import JudgeReport
from reviews.judge.scope import JudgeScope
from reviews.management.text_tables import TextTable, heading, sentences
from reviews.models import Run
from reviews.views.judge import (
    alt_test,
    causes,
    compare,
    drift,
    flags,
    gold,
    history,
    leaderboard,
    position_bias,
)
from reviews.views.judge import tables as judge_tables
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.plan import plan_section
from reviews.views.judge.sections import Section
from reviews.views.tables import LIMITS, Cell, Column, Table, without_columns

# Columns that only pages and CSV files have, so that the tables are not too wide for a terminal.
_LEFT_OUT = (
    "defects_caught",
    "weighted_kappa",
    "leniency",
    "kept",
    "first_rate",
    "second_rate",
)


def report_parts(report: JudgeReport) -> Iterator[RenderableType]:
    """Yield the sections of a report in reading order."""
    yield heading(f"Judge accuracy of {report.scope.run.name!r}, {report.at:%Y-%m-%d %H:%M} UTC")
    decided = f"{report.progress.done:,} of {report.progress.to_review:,} decided."
    yield sentences([*report.data.sentences, decided])
    if report.target:
        yield sentences([f"{report.target.sentence}.", report.target.explanation])
    yield from _accuracy(report)
    yield heading("Blind review")
    yield sentences(report.funnel.sentences)
    yield from _reviewers(report)
    yield from _flags(report)
    yield from table_parts(leaderboard.models(report.leaderboard), report.leaderboard.sentences)
    if report.leaderboard.ranking_disagreements:
        yield from table_parts(leaderboard.ranking_disagreements(report.leaderboard))
    yield from _causes(report)
    yield sentences(
        ["All intervals are 95%. --json prints every metric, and the reason if a metric has no value."]
    )


def section_parts(section: Section) -> Iterator[RenderableType]:
    """Yield a section of a page: its answer, figures, tables and notes."""
    yield heading(section.title)
    yield sentences([section.answer])
    yield sentences(f"{column.title}: {cell.words}" for column, cell in section.figures)
    for one in section.tables:
        table = one.table
        yield from table_parts(table._replace(title="") if table.title == section.title else table)
    yield sentences(section.notes)


def comparison_parts(found: PairedComparison, scope: JudgeScope, other: Run) -> Iterator[RenderableType]:
    yield from section_parts(compare.run_section(found, _filters(scope), other))
    yield sentences([f"{found.different:,} of {found.responses:,} common responses have different verdicts."])


def drift_parts(found: Drift, scope: JudgeScope, other: Run) -> Iterator[RenderableType]:
    for section in drift.shift_sections(found, _filters(scope), other):
        yield from section_parts(section)


def history_parts(found: History, scope: JudgeScope) -> Iterator[RenderableType]:
    """Yield the accuracy over runs as a table, then the judges and prompts of the first and the changes."""
    table = history.history_table(found, _filters(scope))
    yield text_table(without_columns(table, "judge", "template", "related_by", "changes"))
    for point in found.points:
        lines = [point.accuracy.why]
        if point is found.points[0]:
            lines += [f"Judge: {', '.join(point.judges)}", f"Prompt: {', '.join(point.templates)}"]
        lines += [f"Changed since the run before. {change.sentence}" for change in point.changes]
        if any(lines):
            yield heading(point.run.name)
            yield sentences(lines)


def plan_parts(plan: JudgePlan) -> Iterator[RenderableType]:
    section = plan_section(plan)
    yield from section_parts(section)
    if plan.cells:
        yield from table_parts(section.data, [f"Blind reviews to add: {plan.more:,}."])


def gold_parts(found: GoldMeasurement) -> Iterator[RenderableType]:
    yield heading(f"Judge of {found.scope.run.name!r} against the gold set {found.gold_set.name!r}")
    for basis, figures in found.figures.items():
        yield from table_parts(judge_tables.figures_table("", gold.TITLES[basis], figures))
    yield sentences([found.unknown, *found.notes])


def table_parts(table: Table, notes: Iterable[str] = ()) -> Iterator[RenderableType]:
    """Yield a table of a page with its title, or the sentence that it shows without rows, and the notes."""
    yield heading(table.title) if table.title else Text()
    yield text_table(table) if table.rows else sentences([table.empty])
    yield sentences(notes)


def text_table(table: Table) -> TextTable:
    """Lay out a table of a page. The number of cases of each row, n, is before its first estimate."""
    table = without_columns(table, *_LEFT_OUT)
    place = next((place for place, column in enumerate(table.columns) if _is_estimate(column)), None)
    titles = [column.title for column in table.columns]
    texts = [place for place, column in enumerate(table.columns) if not column.is_number]
    rows = [[_text(column, cell) for column, cell in line] for line in table.lines]
    if place is not None:
        titles.insert(place, "n")
        texts = [number + (number >= place) for number in texts]
        for row, line in zip(rows, table.lines, strict=True):
            row.insert(place, f"{line[place][1].n:,}")
    return TextTable(titles, rows, texts)


def _is_estimate(column: Column) -> bool:
    return len(column.parts) == len(LIMITS)


def _text(column: Column, cell: Cell) -> str:
    """Return a cell with its interval, and without notes that are sentences."""
    if _is_estimate(column):
        interval, _, _ = cell.note.rpartition(", ")
        return f"{cell.text} ({interval})" if interval else cell.text
    if isinstance(cell.text, SafeString):  # a time, which a browser shows in its own time zone
        return f"{cell.value} UTC"
    return cell.text if column.notes else cell.words


def _accuracy(report: JudgeReport) -> Iterator[RenderableType]:
    compared, filters = report.judge_vs_human, _filters(report.scope)
    yield heading("Judge vs reviewers")
    if not compared.overall:
        yield sentences([judge_tables.NONE_YET])
    for basis, part in compared.rated:
        yield from table_parts(judge_tables.section(compared, filters, basis, part))
    reasons = [one.accuracy.why for one in compared.figures_of("blind", "run")]
    yield sentences([compared.unknown, compared.left_out, parts_sentence(compared.overall), *reasons])


def _reviewers(report: JudgeReport) -> Iterator[RenderableType]:
    filters = _filters(report.scope)
    if report.reviewers:
        yield from table_parts(judge_tables.reviewers(report.reviewers))
    if report.alt_test:
        yield from table_parts(alt_test.answers_table(report.alt_test), alt_test.missing(report.alt_test))
    if found := report.position_bias:
        yield from table_parts(position_bias.orders_table(found, filters))
        notes = [note for one in found for note in one.notes]
        yield from table_parts(position_bias.choices_table(found, filters), notes)


def _flags(report: JudgeReport) -> Iterator[RenderableType]:
    reasons, choice, missed = report.flag_precision, report.flag_choice, report.missed_errors
    filters = _filters(report.scope)
    notes = [reasons.rule, left_out_sentence(reasons.left_out), reasons.unknown] if reasons.families else []
    yield from table_parts(flags.reasons(reasons, filters), notes)
    yield from table_parts(flags.choice_table(choice), [choice.sentence] if choice.steps else [])
    yield from table_parts(flags.flag_figures_table(missed, filters), missed.sentences)


def _causes(report: JudgeReport) -> Iterator[RenderableType]:
    filters = _filters(report.scope)
    yield heading("Why the judge was wrong")
    if not report.error_analysis.templates:
        yield sentences([causes.NONE_YET])
    for number, template in enumerate(report.error_analysis.templates, start=1):
        yield sentences([f"{template.template}:"])
        yield text_table(causes.causes(template, filters, number))


def _filters(scope: JudgeScope) -> JudgeFilters:
    """Return a scope as pages take it. Texts show no links, which need the chosen filters."""
    return JudgeFilters(scope, (), {})

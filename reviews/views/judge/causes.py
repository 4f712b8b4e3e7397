"""Show the causes that reviewers named, by prompt template, with examples."""

from collections.abc import Iterable, Iterator

from reviews.judge import error_analysis
from reviews.judge.error_analysis import TemplateErrors
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Link, Section
from reviews.views.tables import Column, Table, count, text_columns, words

_CAUSES = [
    Column("cause", "Cause", is_number=False),
    Column("mentions", "Named", error_analysis.DEFINITIONS["mentions"]),
    Column("criteria", "About", is_number=False),
]
NONE_YET = "No causes yet. Reviewers name a cause when they change a score."


def causes(template: TemplateErrors, filters: JudgeFilters, number: int) -> Table:
    """Build the table of one prompt template's causes. `number` distinguishes the tables of a page."""
    rows = [
        [
            words(cause.title),
            count(
                cause.mentions,
                filters.address("judge-decisions", cause=cause.cause, template=template.template),
            ),
            words(", ".join(f"{one.title} ({one.mentions:,})" for one in cause.criteria)),
        ]
        for cause in template.causes
    ]
    return Table(f"causes-{number}", "Causes", _CAUSES, rows, "")


def all_causes(templates: Iterable[TemplateErrors]) -> Table:
    """Build the table of all templates, causes and criteria for a CSV file."""
    rows = [
        [words(template.template), words(cause.cause), words(one.criterion), count(one.mentions)]
        for template in templates
        for cause in template.causes
        for one in cause.criteria
    ]
    columns = text_columns(template="Prompt", cause="Cause", criterion="Criterion")
    return Table("causes", "", [*columns, Column("mentions", "Named")], rows, "")


def cause_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the causes of each prompt template, the most frequent first."""
    templates = error_analysis.analyse_errors(filters.scope).templates
    if not templates:
        yield Section("causes", "Causes", NONE_YET)
    for number, template in enumerate(templates, start=1):
        yield Section(
            f"causes-of-{number}",
            f"Causes: {template.template}",
            help=error_analysis.DEFINITIONS["mentions"],
            links=_downloads(filters) if number == 1 else [],
            template="judge/causes.html",
            data={"causes": template.causes, "table": causes(template, filters, number)},
        )


def _downloads(filters: JudgeFilters) -> list[Link]:
    return [
        Link("Markdown", filters.address("judge-error-analysis-markdown")),
        Link("Few-shot examples (JSONL)", filters.address("judge-few-shot")),
        Link("CSV", filters.address("judge-table", "causes")),
    ]

"""Show the judge report on one page, and as JSON."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import report
from reviews.judge.error_analysis import TemplateErrors
from reviews.judge.report import JudgeReport
from reviews.views.access import replica_page
from reviews.views.judge import findings
from reviews.views.judge import tables as judge_tables
from reviews.views.judge.overview import load, page
from reviews.views.tables import Column, Table, figure, on_paper, share

# Columns that only the other pages show, to keep the report short.
_LEFT_OUT = ("weighted_kappa", "leniency", "changed", "verdict_changed", "judge_rank", "rank")
_MOST_CAUSES = 3


class Definition(NamedTuple):
    """The definition of a figure in the report."""

    title: str
    text: str


@replica_page
def judge_report(request: Request, run_pk: int) -> HttpResponse:
    """Show the report in reading order. The other pages have all tables."""
    filters = load(request, run_pk)
    found = report.build_report(filters.scope)
    best = judge_tables.best(found.judge_vs_human)
    tables = {
        "verdicts": judge_tables.verdicts(found.judge_vs_human),
        "reasons": findings.reasons(found.flag_precision, found.scope.run),
        "models": findings.models(found.leaderboard),
    }
    if best:
        tables["criteria"] = judge_tables.section(found.judge_vs_human, filters, *best)
    context: dict[str, Any] = {name: on_paper(table, *_LEFT_OUT) for name, table in tables.items()}
    context |= {
        "report": found,
        "headline": judge_tables.headline(found.judge_vs_human),
        "sentences": list(_sentences(found)),
        "figures": findings.flag_figures(found.missed_errors),
        "templates": _templates(found),
        "json_url": filters.address("judge-report-json"),
    }
    context["definitions"] = _definitions(context)
    return page(request, filters, "judge-report", context)


def _sentences(found: JudgeReport) -> Iterator[str]:
    """Summarise changes after the reveal and the agreement between reviewers."""
    for of in found.judge_vs_human.after_reveal:
        if of.criterion is None and of.population == "flagged" and of.changed.value is not None:
            changed = share(of.changed).words
            yield (
                f"After the judge's scores were revealed, reviewers changed {changed} of their blind "
                f"verdicts."
            )
    for one in found.reviewers:
        if one.criterion is None and one.unanimous.value is not None:
            agreed, alpha = share(one.unanimous).words, figure(one.alpha).words
            yield (
                f"Independent reviewers agree on the verdict of {agreed} of their records; Krippendorff's "
                f"alpha is {alpha}."
            )


def _templates(found: JudgeReport) -> list[TemplateErrors]:
    """Return the templates with their most frequent causes."""
    return [
        replace(template, causes=template.causes[:_MOST_CAUSES])
        for template in found.error_analysis.templates
    ]


def _definitions(context: dict[str, Any]) -> list[Definition]:
    """Return the definition of each figure in the report once."""
    tables = [value for value in context.values() if isinstance(value, Table) and value.rows]
    columns: list[Column] = [column for table in tables for column in table.columns]
    columns += [column for column, _ in context["figures"]]
    found = {column.help: Definition(column.title, column.help) for column in columns if column.help}
    return list(found.values())


@require_safe
def report_json(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the report as JSON."""
    filters = load(request, run_pk)
    found = orjson.dumps(report.build_report(filters.scope).as_json(), option=orjson.OPT_INDENT_2)
    name = f"{filters.scope.run.name}-judge-report.json"
    return download([found], name, size=len(found), content_type="application/json")

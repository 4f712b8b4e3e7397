"""All there is to say about a judge on one page: to print, to send, or as JSON."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.database.replica import read_from_replica
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import report
from reviews.judge.error_analysis import TemplateErrors
from reviews.judge.report import JudgeReport
from reviews.views.judge import findings
from reviews.views.judge import tables as judge_tables
from reviews.views.judge.overview import load, page
from reviews.views.tables import Column, Table, figure, on_paper, share

# Columns that stand on the other pages, so that a report is one to read.
_LEFT_OUT = ("weighted_kappa", "leniency", "changed", "verdict_changed", "judge_rank", "rank")
_MOST_CAUSES = 3


class Definition(NamedTuple):
    """What a figure of the report is."""

    title: str
    text: str


@require_safe
@never_cache
@read_from_replica
def judge_report(request: Request, run_pk: int) -> HttpResponse:
    """What a lead has to know of the judge, in reading order; the pages beside it have all tables."""
    filters = load(request, run_pk)
    found = report.build_report(filters.scope)
    told = judge_tables.best(found.judge)
    tables = {
        "verdicts": judge_tables.verdicts(found.judge),
        "reasons": findings.reasons(found.reasons, found.scope.run),
        "models": findings.models(found.scoreboard),
    }
    if told:
        tables["criteria"] = judge_tables.section(found.judge, filters, *told)
    context: dict[str, Any] = {name: on_paper(table, *_LEFT_OUT) for name, table in tables.items()}
    context |= {
        "report": found,
        "headline": judge_tables.headline(found.judge),
        "sentences": list(_sentences(found)),
        "figures": findings.escapes(found.escapes),
        "templates": _templates(found),
        "json_url": filters.address("judge-report-json"),
    }
    context["definitions"] = _definitions(context)
    return page(request, filters, "judge-report", context)


def _sentences(found: JudgeReport) -> Iterator[str]:
    """What else is known of the people who reviewed."""
    for of in found.judge.after_reveal:
        if of.criterion is None and of.population == "flagged" and of.changed.value is not None:
            changed = share(of.changed).words
            yield f"Of the verdicts given blind, {changed} are others since the judge's scores showed."
    for one in found.reviewers:
        if one.criterion is None and one.unanimous.value is not None:
            agreed, alpha = share(one.unanimous).words, figure(one.alpha).words
            yield (
                f"Of the records that several people reviewed, each on their own, they agree on {agreed}; "
                f"Krippendorff's alpha of the verdict is {alpha}."
            )


def _templates(found: JudgeReport) -> list[TemplateErrors]:
    """The templates with the causes that were named most often."""
    return [replace(template, causes=template.causes[:_MOST_CAUSES]) for template in found.defects.templates]


def _definitions(context: dict[str, Any]) -> list[Definition]:
    """What each figure of the report is, once."""
    tables = [value for value in context.values() if isinstance(value, Table) and value.rows]
    columns: list[Column] = [column for table in tables for column in table.columns]
    columns += [column for column, _ in context["figures"]]
    found = {column.help: Definition(column.title, column.help) for column in columns if column.help}
    return list(found.values())


@require_safe
def report_json(request: Request, run_pk: int) -> StreamingHttpResponse:
    """The same for programs."""
    filters = load(request, run_pk)

    def blocks() -> Iterator[bytes]:
        yield orjson.dumps(report.build_report(filters.scope).as_json(), option=orjson.OPT_INDENT_2)

    response = download(blocks(), f"{filters.scope.run.name}-judge-report.json")
    response.headers["Content-Type"] = "application/json"
    return response

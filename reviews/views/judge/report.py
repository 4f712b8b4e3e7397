"""Show the judge report on one page, and as JSON."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import report
from reviews.judge.accuracy_figures import parts_sentence
from reviews.judge.loading import shares_loads
from reviews.judge.report import JudgeReport
from reviews.judge.report_csv import report_csv
from reviews.views.judge import accuracy, alt_test, flags, leaderboard, position_bias
from reviews.views.judge import tables as judge_tables
from reviews.views.judge.filters import JudgeFilters, load
from reviews.views.judge.headline import headline
from reviews.views.judge.pages import render_page
from reviews.views.shortcuts import replica_view
from reviews.views.tables import Column, Table, on_paper, prominent

# Columns that only the other pages show, to keep the report short.
_LEFT_OUT = ("weighted_kappa", "leniency", "changed", "recall", "judge_rank")
_MOST_CAUSES = 3
# The style sheets of the downloaded report.
_STYLES = ("tokens", "components", "review", "pages", "dashboard", "judge")


class Definition(NamedTuple):
    title: str
    text: str


@replica_view
def judge_report(request: Request, run_pk: int) -> HttpResponse:
    """Show the report in reading order. The other pages have all tables."""
    return _page(request, load(request, run_pk), "judge/base.html")


@replica_view
def report_html(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the report as one HTML file that needs no server. Its links lead to this site."""
    filters = load(request, run_pk)
    page = _page(request, filters, "judge/report_file.html").content
    styles = b"".join(_style(name) for name in _STYLES)
    whole = page.replace(b"</head>", b"<style>%b</style></head>" % styles, 1)
    name = f"{filters.scope.run.name}-judge-report.html"
    return download([whole], name, size=len(whole), content_type="text/html; charset=utf-8")


def _style(name: str) -> bytes:
    path = finders.find(f"css/{name}.css")
    assert path
    return Path(path).read_bytes()


@shares_loads
def _page(request: Request, filters: JudgeFilters, base: str) -> HttpResponse:
    """Render the report inside a base template."""
    found = report.build_report(filters.scope)
    best = judge_tables.best(found.judge_vs_human)
    tables = {
        "verdicts": judge_tables.verdicts(found.judge_vs_human),
        "replaced": alt_test.answers_table([one for one in found.alt_test if one.criterion is None]),
        "reasons": flags.reasons(found.flag_precision, filters),
        "choice": flags.choice_table(found.flag_choice),
        "orders": position_bias.orders_table(found.position_bias, filters),
        "models": leaderboard.models(found.leaderboard),
    }
    if best:
        tables["criteria"] = judge_tables.section(found.judge_vs_human, filters, *best)
    context: dict[str, Any] = {name: on_paper(table, *_LEFT_OUT) for name, table in tables.items()}
    context |= {
        "report": found,
        "headline": headline(filters, found.judge_vs_human, found.funnel, found.target),
        "sentences": list(_sentences(found)),
        "figures": [
            (column, prominent(cell)) for column, cell in flags.flag_figures(found.missed_errors, filters)
        ],
        "templates": [
            replace(template, causes=template.causes[:_MOST_CAUSES])
            for template in found.error_analysis.templates
        ],
        "base": base,
        "site_url": f"{settings.PUBLIC_URL}/",
        "html_url": filters.address("judge-report-html"),
        "csv_url": filters.address("judge-report-csv"),
        "json_url": filters.address("judge-report-json"),
    }
    context["definitions"] = _definitions(context)
    return render_page(request, filters, "judge-report", context)


def _sentences(found: JudgeReport) -> Iterator[str]:
    """Summarise changes after the reveal and the agreement between reviewers, and name wide scales."""
    if changes := found.judge_vs_human.after_reveal:
        yield accuracy.changes_answer(changes)
    if found.reviewers:
        yield accuracy.agreement_answer(found.reviewers)
    if compared := parts_sentence(found.judge_vs_human.overall):
        yield compared


def _definitions(context: dict[str, Any]) -> list[Definition]:
    """Return the definition of each figure in the report once."""
    tables = [value for value in context.values() if isinstance(value, Table) and value.rows]
    columns: list[Column] = [column for table in tables for column in table.columns]
    columns += [column for column, _ in context["figures"]]
    found = {column.help: Definition(column.title, column.help) for column in columns if column.help}
    return list(found.values())


@require_safe
def report_json(request: Request, run_pk: int) -> StreamingHttpResponse:
    filters = load(request, run_pk)
    found = orjson.dumps(report.build_report(filters.scope).as_json(), option=orjson.OPT_INDENT_2)
    name = f"{filters.scope.run.name}-judge-report.json"
    return download([found], name, size=len(found), content_type="application/json")


@require_safe
def report_as_csv(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the report as one table."""
    filters = load(request, run_pk)
    found = b"".join(report_csv(report.build_report(filters.scope).as_json()))
    name = f"{filters.scope.run.name}-judge-report.csv"
    return download([found], name, size=len(found), content_type="text/csv; charset=utf-8")

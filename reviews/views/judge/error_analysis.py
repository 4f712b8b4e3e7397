"""Show the causes that reviewers named by prompt template, with examples, and export them."""

from collections.abc import Iterator
from typing import NamedTuple

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.database.replica import yield_from_replica
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import few_shot
from reviews.judge.error_analysis import Example, NamedCause, analyse_errors, to_markdown
from reviews.views.access import replica_page
from reviews.views.judge import findings
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.overview import load, page
from reviews.views.tables import Table


class TemplateView(NamedTuple):
    """A prompt template with its causes, as a table and with examples."""

    path: str
    table: Table
    causes: tuple[NamedCause, ...]


@replica_page
def show_error_analysis(request: Request, run_pk: int) -> HttpResponse:
    """Show the causes by prompt template."""
    filters = load(request, run_pk)
    context = {
        "templates": _templates(filters),
        "markdown_url": filters.address("judge-error-analysis-markdown"),
        "few_shot_url": filters.address("judge-few-shot"),
        "csv_url": filters.address("judge-table", "causes"),
    }
    return page(request, filters, "judge-error-analysis", context)


def _templates(filters: JudgeFilters) -> list[TemplateView]:
    found = analyse_errors(filters.scope).templates
    return [
        TemplateView(template.path, findings.causes(template, filters, number), template.causes)
        for number, template in enumerate(found, start=1)
    ]


@require_safe
def error_analysis_markdown(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download the analysis as Markdown, with links to the records."""
    filters = load(request, run_pk)

    def link(example: Example) -> str:
        return f"{settings.PUBLIC_URL}{reverse('evaluation', args=[example.evaluation])}"

    @yield_from_replica
    def blocks() -> Iterator[bytes]:
        for line in to_markdown(analyse_errors(filters.scope), link):
            yield line.encode()

    name = f"{filters.scope.run.name}-error-analysis.md"
    return download(blocks(), name, content_type="text/markdown; charset=utf-8")


@require_safe
def few_shot_examples(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Download corrected scores as JSON lines, to tune a judge with."""
    filters = load(request, run_pk)
    return download(few_shot.stream_examples(filters.scope), f"{filters.scope.run.name}-few-shot.jsonl")

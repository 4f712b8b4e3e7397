"""What to mend in the judge's prompt: causes that reviewers named, ranked, with examples to take along."""

from collections.abc import Iterator
from typing import NamedTuple

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.database.replica import read_from_replica, yield_from_replica
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import few_shot
from reviews.judge.error_analysis import Example, NamedCause, analyse_errors
from reviews.judge.error_document import markdown
from reviews.views.judge import findings
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.overview import load, page
from reviews.views.tables import Table


class OfTemplate(NamedTuple):
    """A prompt template: its causes as a table, and with their examples."""

    path: str
    table: Table
    causes: tuple[NamedCause, ...]


@require_safe
@never_cache
@read_from_replica
def defects(request: Request, run_pk: int) -> HttpResponse:
    """The causes by prompt template."""
    filters = load(request, run_pk)
    context = {
        "templates": _templates(filters),
        "markdown_url": filters.address("judge-error-analysis-markdown"),
        "few_shot_url": filters.address("judge-few-shot"),
        "csv_url": filters.address("judge-table", "causes"),
    }
    return page(request, filters, "judge-error-analysis", context)


def _templates(filters: JudgeFilters) -> list[OfTemplate]:
    found = analyse_errors(filters.scope).templates
    return [
        OfTemplate(template.path, findings.causes(template, filters, number), template.causes)
        for number, template in enumerate(found, start=1)
    ]


@require_safe
def defects_markdown(request: Request, run_pk: int) -> StreamingHttpResponse:
    """The same as a text to put beside the prompt, with links to the records."""
    filters = load(request, run_pk)

    def link(example: Example) -> str:
        return f"{settings.PUBLIC_URL}{reverse('evaluation', args=[example.evaluation])}"

    @yield_from_replica
    def blocks() -> Iterator[bytes]:
        for line in markdown(analyse_errors(filters.scope), link):
            yield line.encode()

    response = download(blocks(), f"{filters.scope.run.name}-defects.md")
    response.headers["Content-Type"] = "text/markdown; charset=utf-8"
    return response


@require_safe
def few_shot_examples(request: Request, run_pk: int) -> StreamingHttpResponse:
    """Corrected scores as JSONL, for a tool that tunes a judge."""
    filters = load(request, run_pk)
    return download(few_shot.stream_examples(filters.scope), f"{filters.scope.run.name}-few-shot.jsonl")

"""Download the error analysis: as Markdown for people, and as JSON lines for tools that tune judges."""

from collections.abc import Iterator

from django.conf import settings
from django.http import StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.database.replica import yield_from_replica
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.judge import few_shot
from reviews.judge.error_analysis import Example, analyse_errors, to_markdown
from reviews.views.judge.filters import load


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

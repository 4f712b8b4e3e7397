"""Runs: how far they are, and the file back."""

from typing import Any, Literal

from django.http import StreamingHttpResponse
from ninja import Router

from reviews import counts, exports
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSONL
from reviews.api.loading import run_named
from reviews.exports import Order
from reviews.views.download import download

router = Router(tags=["runs"])


@operation(router, "GET", "/runs", scope="read", response=list[shapes.RunOut])
def runs(request: ApiRequest) -> list[dict[str, Any]]:
    """All runs, newest first, each with its counts by state."""
    return [shapes.run_out(run, progress) for run, progress in counts.of_all()]


@operation(
    router,
    "GET",
    "/runs/{path:run}/export",
    scope="export",
    response={200: None},
    file=JSONL,
    problems=(404,),
)
def export(request: ApiRequest, run: str, only: Literal["all", "reviewed"] = "all") -> StreamingHttpResponse:
    """The run as JSONL with the decisions in it, streamed while it is made: all lines, or the reviewed ones.

    A line nobody reviewed is byte for byte as it came.
    """
    order = Order(run_named(run), only=only)
    return download(exports.stream(order, request.user), order.file_name)


@operation(router, "GET", "/runs/{path:run}", scope="read", response=shapes.RunOut, problems=(404,))
def run(request: ApiRequest, run: str) -> dict[str, Any]:
    """One run with its counts by state."""
    found = run_named(run)
    return shapes.run_out(found, counts.of(found))

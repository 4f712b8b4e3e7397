"""Runs: their progress, export, and judge report."""

from http import HTTPStatus
from typing import Any, Literal

from django.http import StreamingHttpResponse
from ninja import P, QueryEx, Router

from reviews.accounts.permissions import check
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSONL
from reviews.api.lookup import get_run
from reviews.api.problems import Problem
from reviews.exports import jobs
from reviews.exports.output import ExportOptions
from reviews.http.streaming import download
from reviews.judge import quality_gates, report
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.queue import progress as queue_progress

router = Router(tags=["runs"])


@operation(router, "GET", "/runs", scope="read", response=list[shapes.RunOut])
def runs(request: ApiRequest) -> list[dict[str, Any]]:
    """List the runs that you may see, newest first, with their counts by state."""
    found = queue_progress.all_progress(Run.objects.visible_to(request.user))
    return [shapes.run_out(run, progress) for run, progress in found]


@operation(
    router,
    "GET",
    "/runs/{run}/export",
    scope="export",
    response={200: None},
    file=JSONL,
    problems=(404, 503),
)
def export(request: ApiRequest, run: str, only: Literal["all", "reviewed"] = "all") -> StreamingHttpResponse:
    """Export a run with its decisions as JSONL: all lines, or only the reviewed ones.

    Lines without a decision are byte-identical to the imported ones.
    """
    order = ExportOptions(get_run(run, request.user), only=only)
    return download(jobs.stream_export(order, request.user), order.file_name)


@operation(router, "GET", "/runs/{run}/report", scope="read", response=shapes.ReportOut, problems=(404,))
def judge_report(
    request: ApiRequest,
    run: str,
    require: QueryEx[
        list[str],
        P(
            default=[],
            max_length=50,
            description="A required value: `blind flagged kappa of Clarity >= 0.6`.",
        ),
    ],
) -> dict[str, Any]:
    """Return the report on the accuracy of a run's judge. Leads and admins only.

    The same as `manage.py judge_report --json`. An estimate has value, low and high (the 95% interval), n,
    and why if the value is undefined.
    """
    check(request.user, "lead_review")
    found = report.build_report(JudgeScope(get_run(run, request.user)))
    return quality_gates.as_json(found, quality_gates.check_requirements(found, _required(require)))


def _required(texts: list[str]) -> list[quality_gates.Requirement]:
    try:
        return [quality_gates.parse_requirement(text) for text in texts]
    except quality_gates.InvalidRequirement as error:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        raise Problem(status, str(error), [("require", str(error))]) from error


@operation(router, "GET", "/runs/{run}", scope="read", response=shapes.RunOut, problems=(404,))
def run(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return a run with its counts by state."""
    found = get_run(run, request.user)
    return shapes.run_out(found, queue_progress.run_progress(found))

"""Runs: their progress, export, and judge report."""

from http import HTTPStatus
from pathlib import PurePath
from typing import Any, Literal, Self

from django.db import transaction
from django.http import StreamingHttpResponse
from ninja import Field, P, QueryEx, Router, Status
from pydantic import model_validator

from reviews.accounts.permissions import check
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSON, JSONL, ZIP, Body
from reviews.api.lookup import get_run
from reviews.api.problems import Problem
from reviews.exports import formats, jobs
from reviews.exports.documents import imported_format
from reviews.exports.output import ExportOptions
from reviews.http.streaming import download
from reviews.judge import quality_gates, report
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.queue import progress as queue_progress
from reviews.runs.changes import archive_run, rename_run, unarchive_run
from reviews.runs.deletion import request_deletion

router = Router(tags=["runs"])


class RunChange(Body):
    """Changes of a run. Members that are left out stay."""

    name: str | None = Field(None, description="The new name.")
    archived: bool | None = Field(None, description="True archives the run, false unarchives it.")

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if self.name is None and self.archived is None:
            raise ValueError("Send name or archived.")
        return self


@operation(router, "GET", "/runs", scope="read", response=list[shapes.RunOut])
def runs(request: ApiRequest, *, archived: bool = False) -> list[dict[str, Any]]:
    """List the runs that you may see, newest first, with their counts by state.

    Archived runs are listed only with `archived=true`, and without the others.
    """
    visible = Run.objects.visible_to(request.user)
    found = queue_progress.all_progress(visible.filter(archived_at__isnull=not archived))
    return [shapes.run_out(run, progress) for run, progress in found]


@operation(
    router,
    "GET",
    "/runs/{run}/export",
    scope="export",
    response={200: None},
    files=[JSONL, JSON, ZIP],
    problems=(404, 503),
)
def export(request: ApiRequest, run: str, only: Literal["all", "reviewed"] = "all") -> StreamingHttpResponse:
    """Export a run with its decisions, as JSONL or as its JSON document: all records or the reviewed ones.

    Lines without a decision are byte-identical to the imported ones.
    """
    exported = get_run(run, request.user)
    order = ExportOptions(exported, only=only, format=imported_format(exported, None, only))
    name = order.file_name
    kind = formats.CONTENT_TYPES[PurePath(name).suffix]
    return download(jobs.stream_export(order, request.user), name, content_type=kind)


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


@operation(
    router, "PATCH", "/runs/{run}", scope="configure", response=shapes.RunOut, problems=(400, 404, 409)
)
def change_run(request: ApiRequest, run: str, changes: RunChange) -> dict[str, Any]:
    """Rename, archive or unarchive a run.

    An archived run can be read and exported. Imports into it respond with 422, other operations with 409.
    """
    found = get_run(run, request.user)
    with transaction.atomic():
        if changes.archived is False:
            found = unarchive_run(run_id=found.pk, actor=request.user)
        if changes.name is not None:
            found = rename_run(run_id=found.pk, actor=request.user, name=changes.name)
        if changes.archived:
            found = archive_run(run_id=found.pk, actor=request.user)
    return shapes.run_out(found, queue_progress.run_progress(found))


@operation(router, "DELETE", "/runs/{run}", scope="configure", response={202: None}, problems=(404, 409))
def delete_run(request: ApiRequest, run: str, confirmation: str = "") -> Status[None]:
    """Delete a run with its files, records and decisions. Admins only. This cannot be undone.

    `confirmation` must repeat the name of the run. The run is hidden at once, and a job deletes it. The audit
    log keeps its events.
    """
    check(request.user, "delete_run")
    found = get_run(run, request.user)
    request_deletion(run_id=found.pk, actor=request.user, confirmation=confirmation)
    return Status(202, None)

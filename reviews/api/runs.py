"""Runs: their progress, export, judge report, and plan of blind reviews."""

from http import HTTPStatus
from pathlib import PurePath
from typing import Any, Literal, Self

from django.db import transaction
from django.http import Http404, HttpResponse, StreamingHttpResponse
from ninja import Field, P, Query, QueryEx, Router
from pydantic import model_validator

from cognireview.types import judge, operations
from cognireview.types.encoding import members
from cognireview.types.judge import Relation
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import CSV, JSON, JSONL, PARQUET, ZIP, Body
from reviews.api.lookup import get_run
from reviews.api.pagination import OptionalLimit, link
from reviews.api.problems import Problem, invalid_field
from reviews.api.scopes import ScopeQuery
from reviews.exports import downloads, formats
from reviews.exports.documents import imported_format
from reviews.exports.output import ExportOptions
from reviews.http.streaming import download
from reviews.judge import judge_data, planning, quality_gates, report, review_plan
from reviews.judge.comparison import drift, history, paired
from reviews.judge.judge_data import JudgeDataOptions
from reviews.judge.planning import USUAL_TARGET
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.queue import progress as queue_progress
from reviews.runs.changes import archive_run, rename_run, request_deletion, unarchive_run

router = Router(tags=["runs"])
_Earlier = QueryEx[str, P(description="The name of the run to compare with.")]


class RunChange(Body):
    """Changes of a run. Members that are left out stay."""

    name: str | None = Field(None, description="The new name.")
    archived: bool | None = Field(None, description="True archives the run, false unarchives it.")

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if self.name is None and self.archived is None:
            raise ValueError("Send name or archived.")
        return self


@operation(router, operations.RUNS, scope="read")
def list_runs(
    request: ApiRequest,
    response: HttpResponse,
    *,
    archived: bool = False,
    page: QueryEx[int, P(ge=1, le=1_000_000, description="The number of the page, with a limit.")] = 1,
    limit: OptionalLimit = None,
) -> list[dict[str, Any]]:
    """List the runs that you may see, newest first, with their counts by state.

    Archived runs are listed only with `archived=true`, and without the others.
    """
    runs = Run.objects.visible_to(request.user).filter(archived_at__isnull=not archived)
    if limit:
        keys = list(runs.order_by(*queue_progress.NEWEST_RUNS).values_list("pk", flat=True))
        shown = keys[(page - 1) * limit : page * limit]
        if len(keys) > page * limit:
            link(request, response, page=page + 1)
        runs = runs.filter(pk__in=shown)
    return [shapes.run_out(run, progress) for run, progress in queue_progress.all_progress(runs)]


@operation(router, operations.EXPORT_RUN, scope="export", files=[JSONL, ZIP, JSON], problems=(503,))
def export_run(
    request: ApiRequest, run: str, only: Literal["all", "reviewed"] = "all"
) -> StreamingHttpResponse:
    """Export a run with its decisions, as JSONL or as its JSON document: all records or the reviewed ones.

    Lines without a decision are byte-identical to the imported ones. `Accept-Encoding: zstd` alone compresses
    the transfer.
    """
    exported = get_run(run, request.user)
    order = ExportOptions(exported, only=only, format=imported_format(exported, None, only))
    name = order.file_name
    kind = formats.CONTENT_TYPES[PurePath(name).suffix]
    blocks = downloads.stream_export(options=order, actor=request.user)
    encoding = request.headers.get("Accept-Encoding", "")
    return download(blocks, name, content_type=kind, accept_encoding=encoding)


@operation(router, operations.JUDGE_DATA, scope="export", files=[JSONL, CSV, PARQUET], problems=(422,))
def export_judge_data_file(
    request: ApiRequest,
    run: str,
    table: Literal["ratings", "population"] = "ratings",
    format: Literal["jsonl", "csv", "parquet"] = "jsonl",  # noqa: A002 (the name of the parameter)
) -> StreamingHttpResponse:
    """Export the data behind the judge's metrics. Leads and admins only.

    `ratings` has a line for each blind rating and each assisted decision, `population` the number of records
    that they represent. Both show the judge's scores: later reviews of the token's owner in the run count as
    assisted.
    """
    options = JudgeDataOptions(get_run(run, request.user), table, format)
    blocks = judge_data.export_judge_data(options=options, reader=request.user)
    kind = formats.CONTENT_TYPES[formats.ENDINGS[options.format]]
    return download(blocks, options.file_name, content_type=kind)


@operation(router, operations.REPORT, scope="read", permission="lead_review")
def get_judge_report(
    request: ApiRequest,
    run: str,
    *,
    require: QueryEx[
        list[str],
        P(default=[], max_length=50, description="A required value: `flagged kappa of Clarity >= 0.6`."),
    ],
    filters: Query[ScopeQuery],
) -> dict[str, Any]:
    """Return the report on the accuracy of a run's judge. Leads and admins only.

    `judge`, `template`, `model`, `reviewer`, `task`, `since` and `until` choose the ratings that it counts.

    The same as `manage.py judge_report --json`. An estimate has value, low and high (the 95% interval), n,
    and why if the value is undefined.
    """
    found = report.build_report(filters.scope_of(get_run(run, request.user)))
    required = [quality_gates.parse_requirement(text) for text in require]
    return quality_gates.as_json(found, quality_gates.check_requirements(found, required, request.user))


@operation(router, operations.COMPARISON, scope="read", permission="lead_review", problems=(422,))
def compare_judges(
    request: ApiRequest, run: str, earlier: _Earlier, filters: Query[ScopeQuery]
) -> dict[str, Any]:
    """Compare the judge of a run with that of an earlier run on the same responses. Leads and admins only.

    The figures are about all responses that both judged, and blind ratings of either run represent them. The
    difference is the accuracy in `run` minus that in `earlier`.

    The filters are those of the report, and apply to both runs. A filter by what is compared is refused.
    """
    first, second = _two_runs(request, earlier, run)
    return members(judge.Comparison, paired.compare_runs(first, filters.shared_scope(first, second)))


@operation(router, operations.DRIFT, scope="read", permission="lead_review", problems=(422,))
def get_judge_drift(
    request: ApiRequest, run: str, earlier: _Earlier, filters: Query[ScopeQuery]
) -> dict[str, Any]:
    """Return the judge's shift since an earlier run on the same responses. Leads and admins only.

    The same as `manage.py judge_report RUN --drift EARLIER --json`. Models of the two runs are compared
    without the shift. The filters apply to both runs. Those by reviewer and date change nothing, because no
    ratings are needed.
    """
    first, second = _two_runs(request, earlier, run)
    return members(judge.Drift, drift.measure_drift(first, filters.shared_scope(first, second)))


def _two_runs(request: ApiRequest, earlier: str, run: str) -> tuple[Run, Run]:
    second = get_run(run, request.user)
    try:
        first = get_run(earlier, request.user)
    except Http404 as missing:
        raise Problem(HTTPStatus.NOT_FOUND, str(missing), [("earlier", str(missing))]) from missing
    if first == second:
        raise invalid_field("earlier", "Name another run than the compared one.")
    return first, second


@operation(router, operations.HISTORY, scope="read", permission="lead_review", problems=(422,))
def get_accuracy_over_runs(
    request: ApiRequest,
    run: str,
    by: QueryEx[
        Relation | None,
        P(
            default=None,
            description="The line has runs in which this is the same. Without it, two of the three.",
        ),
    ],
    filters: Query[ScopeQuery],
) -> dict[str, Any]:
    """Return the accuracy of the judge in the run and in related runs. Leads and admins only.

    The same as `manage.py judge_report RUN --history --json`, for the runs that you may see. The filters are
    those of the report. They choose the ratings of each run, which may be none.
    """
    visible = Run.objects.visible_to(request.user)
    scope = filters.scope_of(get_run(run, request.user))
    return members(judge.History, history.accuracy_over_runs(scope, visible, by=by))


@operation(router, operations.RUN, scope="read")
def read_run(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return a run with its counts by state."""
    found = get_run(run, request.user)
    return shapes.run_out(found, queue_progress.run_progress(found))


@operation(router, operations.CHANGE_RUN, scope="configure", problems=(409,))
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


@operation(
    router, operations.DELETE_RUN, scope="configure", permission="delete_run", status=202, problems=(409,)
)
def delete_run(request: ApiRequest, run: str, confirmation: str = "") -> None:
    """Delete a run with its files, records and decisions. Admins only. This cannot be undone.

    `confirmation` must repeat the name of the run. The run is hidden at once, and a job deletes it. The audit
    log keeps its events.
    """
    found = get_run(run, request.user)
    request_deletion(run_id=found.pk, actor=request.user, confirmation=confirmation)


_TARGET = "Half the width of the 95% interval to reach: 0.05 for ±5 percentage points."
_AIM = "run: the accuracy over all records. parts: on flagged and on unflagged records, each by itself."


class PlanIn(Body):
    """The plan to serve."""

    target: float = Field(USUAL_TARGET, description=_TARGET)
    aim: str = Field("run", description=_AIM)
    judge: str = Field("", description="Only records of this judge.")
    template: str = Field("", description="Only records of this prompt.")
    model: str = Field("", description="Only records of this model, or `-` without one.")


@operation(router, operations.PLAN, scope="read", permission="lead_review")
def get_plan(
    request: ApiRequest,
    run: str,
    *,
    target: QueryEx[float, P(default=USUAL_TARGET, description=_TARGET)],
    aim: QueryEx[str, P(default="run", description=_AIM)],
    judge: str = "",
    template: str = "",
    model: str = "",
) -> dict[str, Any]:
    """Return how many more blind reviews of which records a target needs. Leads and admins only.

    `judge`, `template` (the prompt) and `model` (`-` for records without one) choose the records.
    """
    wanted = review_plan.check_request(target, aim)
    values = {"judge": judge, "template": template, "model": model}
    scope = review_plan.read_filters(get_run(run, request.user), values)
    return planning.plan_reviews(scope, target, wanted).as_json()


@operation(router, operations.SERVE_PLAN, scope="configure")
def serve_plan(request: ApiRequest, run: str, sent: PlanIn) -> dict[str, Any]:
    """Serve a plan: the queue gives out the planned records first, and all reviews are blind.

    A plan that is served already is replaced. Shares of sampled records never decrease.
    """
    found = get_run(run, request.user)
    served = review_plan.serve_plan(
        run_id=found.pk,
        actor=request.user,
        target=sent.target,
        aim=sent.aim,
        filters={name: getattr(sent, name) for name in planning.PLAN_FILTERS},
    )
    found.refresh_from_db()
    return served.as_json() | {"served": planning.served_plan(found)}


@operation(router, operations.STOP_PLAN, scope="configure")
def stop_plan(request: ApiRequest, run: str) -> dict[str, Any]:
    """Stop serving a plan: the queue has its usual order. The shares of blind review and sampling stay."""
    found = get_run(run, request.user)
    run_without = review_plan.stop_plan(run_id=found.pk, actor=request.user)
    return planning.plan_reviews(JudgeScope(run_without)).as_json()

"""The site: its jobs and the state of the system."""

from typing import Any

from django.http import Http404, HttpResponse
from django.utils import timezone
from ninja import P, QueryEx, Router

from cognireview.types import operations, site
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.pagination import PAGE_SIZE, Limit, link
from reviews.maintenance import job_list, system
from reviews.maintenance.job_list import KINDS, Job
from reviews.models import Run, User
from reviews.records.conflicts import Conflict

router = Router(tags=["site"])


@operation(router, operations.JOBS, scope="manage", permission="manage_site")
def list_jobs(
    request: ApiRequest,
    response: HttpResponse,
    *,
    kind: site.Kind | None = None,
    state: site.State | None = None,
    page: QueryEx[int, P(ge=1, le=1_000_000)] = 1,
    limit: Limit = PAGE_SIZE,
) -> list[dict[str, Any]]:
    """List jobs of the site, failed ones first. Admins only."""
    found = job_list.list_jobs(kind=kind or "", state=state or "", offset=(page - 1) * limit, limit=limit + 1)
    if len(found) > limit:
        found = found[:limit]
        link(request, response, page=page + 1)
    runs = Run.objects.in_bulk({job.run for job in found if job.run})
    people = User.objects.in_bulk({job.owner for job in found if job.owner})
    return [_job(job, runs.get(job.run or 0), people.get(job.owner or 0)) for job in found]


@operation(router, operations.RETRY_JOB, scope="manage", permission="manage_site", problems=(409,))
def retry_job(request: ApiRequest, kind: str, job_id: int) -> None:
    """Run a failed job again. Admins only."""
    if kind not in KINDS:
        raise Http404
    if not job_list.retry(kind=kind, pk=job_id, actor=request.user):
        raise Conflict("This job cannot be repeated. Import another file if lines were rejected.")


@operation(router, operations.CANCEL_JOB, scope="manage", permission="manage_site", problems=(409,))
def cancel_job(request: ApiRequest, kind: str, job_id: int) -> None:
    """Cancel a job that has not finished. Admins only."""
    if kind not in KINDS:
        raise Http404
    if not job_list.cancel(kind=kind, pk=job_id, actor=request.user):
        raise Conflict("This job has started or finished and cannot be cancelled.")


@operation(router, operations.SYSTEM, scope="manage", permission="manage_site")
def get_system(request: ApiRequest) -> dict[str, Any]:
    """Return the state of the site. Admins only."""
    return members(site.System, system.describe_system(timezone.now()))


def _job(job: Job, run: Run | None, owner: User | None) -> dict[str, Any]:
    names = {"run": run.name if run else None, "owner": owner.username if owner else None}
    return members(site.Job, job, id=job.pk, title=job_list.title(job), **names)

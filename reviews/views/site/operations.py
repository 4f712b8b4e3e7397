"""The pages of jobs and of the system, for admins."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviews.database.pagination import parse_key
from reviews.http.redirects import SeeOther, sending_page
from reviews.http.request import Request
from reviews.maintenance import job_list, system
from reviews.maintenance.job_list import KINDS, STATES, Job
from reviews.models import Run, User
from reviews.views.shortcuts import requires

_PAGE_SIZE = 50
_PAGES = {"import": "import", "export": "export-page", "delivery": "webhook"}
_MINUTE, _HOUR = 60, 3600


@require_safe
@requires("manage_site")
def jobs_page(request: Request) -> HttpResponse:
    """List jobs, failed ones first."""
    kind, state = request.GET.get("kind", ""), request.GET.get("state", "")
    kind, state = kind if kind in KINDS else "", state if state in STATES else ""
    number = min(parse_key(request.GET.get("page", "")) or 1, 1_000_000)
    found = job_list.list_jobs(kind=kind, state=state, offset=(number - 1) * _PAGE_SIZE, limit=_PAGE_SIZE + 1)
    shown = found[:_PAGE_SIZE]
    runs = Run.objects.in_bulk({job.run for job in shown if job.run})
    people = User.objects.in_bulk({job.owner for job in shown if job.owner})

    def page(to: int) -> str:
        chosen = {"kind": kind, "state": state, "page": to if to > 1 else ""}
        return "?" + urlencode({name: value for name, value in chosen.items() if value})

    context = {
        "rows": [
            {
                "job": job,
                "title": job_list.title(job),
                "kind": KINDS[job.kind],
                "url": reverse(_PAGES[job.kind], args=[job.page]) if job.page and job.kind in _PAGES else "",
                "run": runs.get(job.run or 0),
                "owner": people.get(job.owner or 0),
                "duration": _duration(job),
            }
            for job in shown
        ],
        "kinds": KINDS,
        "states": STATES,
        "kind": kind,
        "state": state,
        "previous": page(number - 1) if number > 1 else "",
        "next": page(number + 1) if len(found) > _PAGE_SIZE else "",
        "periodic": job_list.periodic_jobs(),
    }
    return render(request, "site/operations/jobs.html", context)


@require_POST
@requires("manage_site")
def retry_job(request: Request, kind: str, pk: int) -> HttpResponse:
    if kind not in KINDS:
        raise Http404
    if job_list.retry(kind=kind, pk=pk, actor=request.user):
        messages.success(request, "The job is queued again.")
    else:
        messages.error(request, "This job cannot be repeated. Import another file if lines were rejected.")
    return _back(request)


@require_POST
@requires("manage_site")
def cancel_job(request: Request, kind: str, pk: int) -> HttpResponse:
    if kind not in KINDS:
        raise Http404
    if job_list.cancel(kind=kind, pk=pk, actor=request.user):
        messages.success(request, "The job is being cancelled.")
    else:
        messages.error(request, "This job has started or finished and cannot be cancelled.")
    return _back(request)


def _back(request: Request) -> HttpResponse:
    """Return to the list that sent the request, with its filters."""
    page = sending_page(request)
    return SeeOther(page) if page.startswith(reverse("jobs")) else redirect("jobs")


def _duration(job: Job) -> str:
    """Return the duration of a job in its two largest units; empty if it is unknown."""
    if job.duration is None:
        return ""
    seconds = job.duration.total_seconds()
    if seconds < _MINUTE:
        return f"{seconds:.0f} s" if seconds >= 1 else "< 1 s"
    minutes, rest = divmod(int(seconds), _MINUTE)
    return f"{minutes} min {rest} s" if seconds < _HOUR else f"{minutes // 60} h {minutes % 60} min"


@require_safe
@requires("manage_site")
def system_page(request: Request) -> HttpResponse:
    return render(request, "site/operations/system.html", {"system": system.describe_system(timezone.now())})

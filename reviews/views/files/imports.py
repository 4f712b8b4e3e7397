"""Show the progress of an import and the outcomes of its lines, and download rejected lines."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import can
from reviews.audit import reveals
from reviews.exports import jsonl
from reviews.http.request import Request
from reviews.http.streaming import download
from reviews.imports import jobs
from reviews.imports.exception_groups import group_exceptions
from reviews.inbox.place import place_of
from reviews.models import Export, Import, ImportLine, ImportProgress
from reviews.storage.decompression import base_name
from reviews.storage.errors import ImportRefused
from reviews.views import inbox_navigation
from reviews.views.shortcuts import load_in_run, render_part

Outcome = ImportLine.Outcome


@require_safe
def import_page(request: Request, pk: int) -> HttpResponse:
    """Show an import. htmx polls the changing part while the import runs."""
    return _page(request, pk)


def _page(request: Request, pk: int, *, new_run_error: str = "") -> HttpResponse:
    sources = Import.objects.select_related("run", "created_by", "progress")
    source = load_in_run(request, sources, pk, "review_evaluation")
    to_read = _outcomes_worth_reading(source)
    groups = group_exceptions(source, to_read)
    context = {
        "source": source,
        **_progress(source),
        "unfinished": source.state in Import.UNFINISHED,
        "seconds_to_next_look": poll_seconds(source),
        "exception_groups": groups,
        "more_exceptions": sum(to_read.values()) - sum(group.size for group in groups),
        "may_import": can(request.user, "import_file"),
        "can_retry": jobs.can_retry(source),
        "may_download_lines": can(request.user, "export_run"),
        "new_run_name": request.POST.get("run", base_name(source.file_name)),
        "new_run_error": new_run_error,
        "new_run_is_open": not settings.RESTRICT_NEW_RUNS,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if new_run_error else HTTPStatus.OK
    return render_part(request, "files/imports/page.html", "state", context, status)


def _progress(source: Import) -> dict[str, Any]:
    """Return the progress of the job. An import by a command has none."""
    progress: ImportProgress | None = getattr(source, "progress", None)
    if not progress:
        return {"progress": None, "so_far": [], "time_left": ""}
    so_far = [(name, progress.counts.get(name)) for name in Import.OUTCOMES if progress.counts.get(name)]
    return {"progress": progress, "so_far": so_far, "time_left": _time(progress.seconds_left)}


def _time(seconds: int | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"


def poll_seconds(job: Import | Export) -> float:
    """Return the pause before the next poll of a job's page: a tenth of the job's age."""
    waited = timezone.now() - job.created_at
    return round(min(max(waited.total_seconds() / 10, 0.5), 5), 1)


def _outcomes_worth_reading(source: Import) -> dict[str, int]:
    """Return the listed outcomes with their numbers of lines. A failed import lists its rejected lines."""
    if source.state == Import.State.FAILED:
        return {Outcome.REJECTED: source.rejected}
    return {
        Outcome.CONFLICT: source.conflicts,
        Outcome.REJECTED: source.rejected,
        Outcome.UPDATED: source.updated,
    }


@require_POST
def import_as_new_run(request: Request, pk: int) -> HttpResponse:
    """Import another judge's file again, as a run of its own."""
    source = load_in_run(request, Import.objects.select_related("run"), pk, "import_file")
    try:
        done = jobs.enqueue_as_new_run(
            source=source, run_name=request.POST.get("run", "").strip(), actor=request.user
        )
    except ImportRefused as refusal:
        return _page(request, source.pk, new_run_error=str(refusal))
    return redirect("import", done.pk)


@require_POST
def cancel(request: Request, pk: int) -> HttpResponse:
    source = load_in_run(request, Import.objects.all(), pk, "import_file")
    jobs.cancel_import(import_id=source.pk, actor=request.user)
    return redirect("import", source.pk)


@require_POST
def retry(request: Request, pk: int) -> HttpResponse:
    """Retry a failed import from its stored file."""
    source = load_in_run(request, Import.objects.all(), pk, "import_file")
    jobs.retry_import(import_id=source.pk, actor=request.user)
    if place := place_of(request):
        messages.success(request, f"Queued again: {source.file_name}.")
        return inbox_navigation.go_on(request, place)
    return redirect("import", source.pk)


@require_safe
def rejected(request: Request, pk: int) -> StreamingHttpResponse:
    """Download the rejected lines verbatim, to correct and import them again."""
    source = load_in_run(request, Import.objects.select_related("run"), pk, "export_run")
    if source.run and source.rejected:
        # A rejected line may be another version of a record of the run.
        with transaction.atomic():
            reveals.record_download(run=source.run, reader=request.user)
    return download(jsonl.rejected_lines(source), f"import-{source.pk}-rejected.jsonl")


@require_safe
def exceptions(request: Request, pk: int) -> StreamingHttpResponse:
    """Download every line that did not become a new record, with outcome, field and reason."""
    source = load_in_run(request, Import.objects.all(), pk, "review_evaluation")
    return download(jsonl.import_exceptions(source), f"import-{source.pk}-exceptions.jsonl")

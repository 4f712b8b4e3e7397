"""The list of runs."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import can, check
from reviews.http.request import Request
from reviews.models import Run
from reviews.queue import progress
from reviews.views.runs import landing, run_list
from reviews.views.runs.run_list import RunList


@require_safe
def runs(request: Request) -> HttpResponse:
    """Show the reader's own work and the runs with their progress: see `RunList`. `page` is a page number."""
    check(request.user, "review_evaluation")
    visible = Run.objects.visible_to(request.user)
    shown = RunList.parse(request.GET)
    context = run_list.load_page(shown, request.user, request.GET.get("page", ""))
    # The reader's own work is above the whole list only.
    is_start = not shown.is_filtered and context["page"].number == 1
    current = progress.all_progress(visible.filter(archived_at=None)) if is_start else []
    context |= {
        "landing": landing.load(request, dict(current)) if current else None,
        "has_runs": bool(context["rows"]) or visible.exists(),
        "may_import": can(request.user, "import_file"),
    }
    return render(request, "runs/home.html", context)

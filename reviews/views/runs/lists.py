"""Lists of records: saved views, and suggestions for task IDs."""

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.http.request import Request
from reviews.models import Run, SavedView
from reviews.search import filter_options, saved_views
from reviews.search.filters import Filters
from reviews.search.listing import RecordList
from reviews.views.shortcuts import load_in_run, load_run, refusal_shown

MOST_TASKS = 20


@require_safe
def tasks(request: Request, run_pk: int) -> HttpResponse:
    """Suggest task IDs that begin with `task`."""
    run = load_run(request, run_pk)
    beginning = Filters.parse({"task": request.GET.get("task", "")}).values_of("task")
    found = filter_options.task_ids(run, beginning[0], MOST_TASKS) if beginning else []
    return render(request, "runs/tasks.html", {"tasks": found})


@require_POST
def save_view(request: Request, run_pk: int) -> HttpResponse:
    """Save the posted `query` as a view called `name`; `shared` shares it with everybody."""
    run = load_run(request, run_pk)
    view = RecordList.parse(QueryDict(request.POST.get("query", "")))
    with refusal_shown(request, saved_views.SavedViewError):
        saved = saved_views.save(
            run=run,
            owner=request.user,
            name=request.POST.get("name", ""),
            query=view.query(),
            is_shared="shared" in request.POST,
        )
        messages.success(request, f"View “{saved.name}” saved.")
    return _to_list(run, view.query())


@require_POST
def remove_view(request: Request, pk: int) -> HttpResponse:
    seen = SavedView.objects.filter(Q(owner=request.user) | Q(is_shared=True))
    view = load_in_run(request, seen.select_related("run", "owner"), pk, "review_evaluation")
    saved_views.remove(view=view, actor=request.user)
    messages.success(request, f"View “{view.name}” removed.")
    return _to_list(view.run, view.query)


def _to_list(run: Run, query: str) -> HttpResponse:
    return redirect(reverse("run", args=[run.pk]) + (f"?{query}" if query else ""))

"""A reviewer's recent work in a run, with Undo."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.history.recent import load_page
from reviews.http.request import Request
from reviews.views.access import load_run
from reviews.views.review import screen


@require_safe
@never_cache
def recent(request: Request, run_pk: int) -> HttpResponse:
    """Show the reviewer's decisions (`?after=` is the cursor of a page), skips and escalations."""
    run = load_run(request, run_pk)
    after = request.GET.get("after", "")
    context = {
        "run": run,
        "page": load_page(reviewer=request.user, run=run, after=after),
        "after": after,
        "undoable": screen.undoable_action(request, run),
    }
    return render(request, "review/recent/page.html", context)

"""A reviewer's recent work in a run, with Undo."""

from django.http import HttpResponse
from django.shortcuts import render

from reviews.history.recent import load_page
from reviews.http.request import Request
from reviews.views.access import load_run, safe_page
from reviews.views.review import screen


@safe_page
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

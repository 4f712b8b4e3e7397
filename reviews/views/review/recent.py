"""What one did last in a run, and the ways to take it back."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.history import recent as history
from reviews.http.request import Request
from reviews.views.review import screen


@require_safe
@never_cache
def recent(request: Request, run_pk: int) -> HttpResponse:
    """One's decisions (`?after=` is the cursor of a page), skips and escalations."""
    run = screen.load_run(request, run_pk)
    after = request.GET.get("after", "")
    page = history.load_page(reviewer=request.user, run=run, after=after)
    # Undo takes back the last decision that was not taken back, whichever page it stands on.
    standing = (one for one in page.decisions if one.state != "undone")
    last = None if after else next(standing, None)
    return render(
        request, "review/recent/page.html", {"run": run, "page": page, "after": after, "last": last}
    )

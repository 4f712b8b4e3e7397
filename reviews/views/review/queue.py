"""The queue of a run: claim the next record, prefetch the one after it, and list the recent ones."""

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.database.statements import prepared_statements
from reviews.history.recent import load_page
from reviews.http.request import Request
from reviews.queue import claims
from reviews.views.review import screen
from reviews.views.shortcuts import load_run, page_links


@require_safe
def review(request: Request, run_pk: int) -> HttpResponse:
    """Show the reviewer's progress in the queue."""
    return screen.queue_screen(request, load_run(request, run_pk))


@require_POST
@prepared_statements()
def claim_next(request: Request, run_pk: int) -> HttpResponse:
    return screen.go_on(request, load_run(request, run_pk))


@require_POST
def unskip_all(request: Request, run_pk: int) -> HttpResponse:
    """Restore the records that the reviewer skipped, and show the next one."""
    run = load_run(request, run_pk)
    claims.unskip_all(run=run, reviewer=request.user)
    return screen.go_on(request, run)


@require_POST
@prepared_statements()
def prefetch_next(request: Request, run_pk: int) -> HttpResponse:
    """Prefetch the record after those on the page and send its screen; 204 if none is available.

    `after` is posted for each record on the page: the one on the screen, then those already prefetched.
    """
    run, after = load_run(request, run_pk), screen.posted_keys(request, "after")
    condition = screen.working_condition(request, run)
    found = claims.prefetch_next(run=run, reviewer=request.user, after=after, condition=condition)
    if found is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return screen.record_screen(request, screen.load(request, found.pk), is_prefetched=True)


@require_POST
def release_prefetched(request: Request, run_pk: int) -> HttpResponse:
    """Release the prefetched records when the page is closed."""
    claims.release_prefetched(run=load_run(request, run_pk), reviewer=request.user)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_safe
def recent(request: Request, run_pk: int) -> HttpResponse:
    """Show the reviewer's decisions (`?after=` is the cursor of a page), skips and escalations."""
    run = load_run(request, run_pk)
    after = request.GET.get("after", "")
    page = load_page(reviewer=request.user, run=run, after=after)
    context = {
        "run": run,
        "page": page,
        "after": after,
        **page_links(reverse("recent", args=[run.pk]), after, page.next_after),
        "undoable": screen.undoable_action(request, run),
    }
    return render(request, "review/recent/page.html", context)

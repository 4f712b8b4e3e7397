"""Lead a reviewer to the run to continue with."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.models import Run, User
from reviews.queue import progress


@require_safe
@never_cache
def start(request: Request) -> HttpResponse:
    """Redirect to the queue of the run to continue with, or to the list of runs if no records are left."""
    check(request.user, "review_evaluation")
    run = next_run(request.user)
    return redirect("review", run.pk) if run else redirect("runs")


def next_run(person: User) -> Run | None:
    """Return the run with a claim of the person, else the one they last reviewed, else the newest.

    Only runs with records left count. Returns None if every record is decided.
    """
    visible = Run.objects.visible_to(person).filter(archived_at=None)
    claimed = person.claims.claimed().filter(claim_is_prefetched=False, run__in=visible)
    last = person.reviews.order_by("-pk").values_list("run", flat=True)[:1]
    latest = claimed.order_by("-claimed_until").values_list("run", flat=True)[:1]
    run: Run
    for run in [*visible.filter(pk__in=[*latest]), *visible.filter(pk__in=[*last])]:
        if progress.run_progress(run).left:
            return run
    return next((run for run, counts in progress.all_progress(visible) if counts.left), None)

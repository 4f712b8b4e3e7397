"""Lead a reviewer to the run to continue with."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.dashboard import own_work
from reviews.http.request import Request
from reviews.models import Run
from reviews.queue import progress
from reviews.views.runs.landing import run_to_review


@require_safe
def start(request: Request) -> HttpResponse:
    """Redirect to the queue of the run that the home page offers, or to the home page if it offers none."""
    check(request.user, "review_evaluation")
    runs = Run.objects.visible_to(request.user).filter(archived_at=None)
    run = run_to_review(
        own_work.unfinished_records(request.user, runs),
        own_work.latest_run(request.user, runs),
        dict(progress.all_progress(runs)),
    )
    return redirect("review", run.pk) if run else redirect("runs")


@require_safe
def my_reviews(request: Request) -> HttpResponse:
    """Redirect to the reader's reviews in the run of their latest decision, else to their activity."""
    check(request.user, "review_evaluation")
    run = own_work.latest_run(request.user, Run.objects.visible_to(request.user))
    return redirect("recent", run.pk) if run else redirect("my-activity")

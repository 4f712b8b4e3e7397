"""Lead a reviewer to the run to continue with."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import check
from reviews.dashboard import own_work
from reviews.http.request import Request
from reviews.models import Run
from reviews.queue import progress
from reviews.queue.next_record import runs_with_records
from reviews.views.runs.landing import runs_to_review


@require_safe
def start(request: Request) -> HttpResponse:
    """Redirect to the queue of the first run with records for the reader.

    `after` is the key of a run to leave out. Without it, a run whose records all wait for others will do.
    Redirect to the home page if there is no run.
    """
    check(request.user, "review_evaluation")
    reader, after = request.user, request.GET.get("after")
    runs = Run.objects.visible_to(reader).filter(archived_at=None)
    found = runs_to_review(
        own_work.unfinished_records(reader, runs),
        own_work.latest_run(reader, runs),
        dict(progress.all_progress(runs)),
    )
    others = [run for run in found if str(run.pk) != after]
    offered = runs_with_records(runs=others, reviewer=reader) or ([] if after else others)
    run = next(iter(offered), None)
    return redirect("review", run.pk) if run else redirect("runs")


@require_safe
def my_reviews(request: Request) -> HttpResponse:
    """Redirect to the reader's reviews in the run of their latest decision, else to their activity."""
    check(request.user, "review_evaluation")
    run = own_work.latest_run(request.user, Run.objects.visible_to(request.user))
    return redirect("recent", run.pk) if run else redirect("my-activity")

"""The page of a run: how far it is, what is in it, and where it came from."""

from typing import NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from reviews import conflicts, queue
from reviews.models import Evaluation, Run
from reviews.permissions import can, check
from reviews.queue import Progress
from reviews.verdict import aggregate
from reviews.views.request import Request


class Tab(NamedTuple):
    """A part of the run: the state that `queue.page` takes, its name, how many evaluations are in it."""

    state: str
    name: str
    size: int


class Row(NamedTuple):
    """An evaluation in the list, with the judge's verdict and the one people came to (None: none yet)."""

    evaluation: Evaluation
    judge_verdict: str | None
    human_verdict: str | None
    held: bool


@require_safe
def run_page(request: Request, pk: int) -> HttpResponse:
    """A run, with a page of its evaluations: `?state=` one of the tabs, `?after=` the cursor of a page."""
    check(request.user, "review_evaluation")
    run = get_object_or_404(Run, pk=pk)
    state, after = request.GET.get("state", "queue"), request.GET.get("after", "")
    if state not in queue.STATES:
        raise Http404
    progress = queue.progress(run)
    page = queue.page(run, state=state, after=after)
    context = {
        "run": run,
        "progress": progress,
        "tabs": _tabs(progress),
        "state": state,
        "after": after,
        "rows": [_row(evaluation) for evaluation in page.rows],
        "next_after": page.next_after,
        "imports": run.imports.order_by("-pk"),
        "may_import": can(request.user, "import_file"),
        "may_export": can(request.user, "export_run"),
        "conflicts": conflicts.count(run) if can(request.user, "settle_conflict") else 0,
    }
    return render(request, "queue/page.html", context)


def _tabs(progress: Progress) -> list[Tab]:
    return [
        Tab("queue", "Queue", progress.waiting + progress.held),
        Tab("done", "Done", progress.done),
        Tab("not-required", "Not required", progress.not_required),
        Tab("all", "All", progress.total),
    ]


def _row(evaluation: Evaluation) -> Row:
    scores = evaluation.human_corrected_scores or {}
    human = aggregate(judged.get("score") for judged in scores.values() if isinstance(judged, dict))
    return Row(evaluation, evaluation.aggregated_score, human, queue.is_held(evaluation))

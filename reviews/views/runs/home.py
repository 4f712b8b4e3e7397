"""The home page: the reader's own work above the list of runs, and redirects to the run to continue with."""

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import can, check
from reviews.dashboard import own_work
from reviews.dashboard.own_work import DoneCounts, Unfinished, WaitingCounts
from reviews.http.request import Request
from reviews.http.time_zone import reader_zone
from reviews.models import Run
from reviews.queue import due_dates, progress
from reviews.queue.next_record import runs_with_records
from reviews.queue.progress import Progress
from reviews.views.runs import run_list
from reviews.views.runs.run_list import RunList

# Runs with something for a lead that the page lists.
MAX_LISTED = 5


class LeadItem(NamedTuple):
    """A run with records that wait for a lead."""

    run: Run
    escalated: int
    conflicts: int


class Landing(NamedTuple):
    """The reader's own work."""

    unfinished: list[Unfinished]
    #: Whether there are more unfinished records than listed.
    has_more: bool
    #: The run to review next, with a record for the reader: if possible the one worked on last. If there is
    #: none, a run with records that wait for other people or that the reader skipped.
    run: Run | None
    progress: Progress | None
    #: Whether that run has a record for the reader.
    has_record: bool
    done: DoneCounts
    left: WaitingCounts
    #: Assigned records that are overdue, and the earliest due date of assigned records.
    overdue: int
    first_due: dt.date | None
    #: Waiting records of all runs.
    waiting: int
    for_leads: list[LeadItem]
    #: Where counts end.
    most: int = own_work.MAX_COUNTED


def load_landing(request: Request, progress: Mapping[Run, Progress]) -> Landing:
    """Load the reader's own work in the runs that `progress` has."""
    reader = request.user
    runs = [*progress]
    unfinished = own_work.unfinished_records(reader, runs)
    with_work = runs_to_review(unfinished, own_work.latest_run(reader, runs), progress)
    offered = runs_with_records(runs=with_work, reviewer=reader)
    run = next(iter(offered or with_work), None)
    keys = {one.pk for one in progress}
    assigned = [one for one in due_dates.assigned_records(person=reader) if one.run in keys]
    return Landing(
        unfinished=unfinished[: own_work.MAX_LISTED],
        has_more=len(unfinished) > own_work.MAX_LISTED,
        run=run,
        progress=progress[run] if run else None,
        has_record=bool(offered),
        done=own_work.done_counts(reader, timezone.now().astimezone(reader_zone(request))),
        left=own_work.waiting_counts(reader, runs),
        overdue=sum(one.overdue for one in assigned),
        first_due=min((one.first_due for one in assigned if one.first_due), default=None),
        waiting=sum(counts.waiting for counts in progress.values()),
        for_leads=_for_leads(request, progress),
    )


def runs_to_review(
    unfinished: list[Unfinished], latest: Run | None, progress: Mapping[Run, Progress]
) -> list[Run]:
    """Return the runs with waiting or claimed records.

    Those with a record that the reader has claimed come first, then the latest run, then the others.
    """
    claimed = [one.evaluation.run for one in unfinished if one.is_claimed]
    ordered = dict.fromkeys([*claimed, *([latest] if latest else []), *progress])
    return [run for run in ordered if run in progress and (progress[run].waiting or progress[run].claimed)]


def _for_leads(request: Request, progress: Mapping[Run, Progress]) -> list[LeadItem]:
    if not can(request.user, "lead_review"):
        return []
    conflicts = own_work.open_conflicts([*progress])
    found = (LeadItem(run, one.escalated, conflicts.get(run.pk, 0)) for run, one in progress.items())
    return [one for one in found if one.escalated or one.conflicts][:MAX_LISTED]


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
        "landing": load_landing(request, dict(current)) if current else None,
        "has_runs": bool(context["rows"]) or visible.exists(),
        "may_import": can(request.user, "import_file"),
    }
    return render(request, "runs/home.html", context)


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

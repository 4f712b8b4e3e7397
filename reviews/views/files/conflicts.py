"""Let a lead resolve a run's conflicts: use the imported decision or keep the one made here."""

import re
from collections import Counter

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.history import file_conflicts
from reviews.http.request import Request
from reviews.inbox.place import place_of
from reviews.models import FileConflict, Run
from reviews.views import inbox_navigation
from reviews.views.shortcuts import load_run, page_links

# The most conflicts per request, so that it ends in reasonable time.
MOST_AT_ONCE = 1000
KEEP = (FileConflict.Outcome.THEIRS, FileConflict.Outcome.OURS)
_KEY = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


@require_safe
def conflict_list(request: Request, run_pk: int) -> HttpResponse:
    """List the open conflicts of a run, with cursor pagination (`?after=`)."""
    run = load_run(request, run_pk, "resolve_conflict")
    after = request.GET.get("after", "")
    page = file_conflicts.load_page(run, after=after)
    context = {
        "run": run,
        "open": file_conflicts.count_open(run),
        "most_at_once": MOST_AT_ONCE,
        "comparisons": page.rows,
        **page_links(reverse("conflicts", args=[run.pk]), after, page.next_after),
    }
    return render(request, "files/conflicts/page.html", context)


@require_POST
def resolve_conflicts(request: Request, run_pk: int) -> HttpResponse:
    """Resolve the posted conflicts: keep the decision made here (`ours`) or the imported one (`theirs`).

    `one` is a single conflict as KEEP-KEY-VERSION. Otherwise `keep` applies to the selected conflicts
    (`which`, as KEY-VERSION), or with `all` to the first `MOST_AT_ONCE` open conflicts of the run.
    """
    run = load_run(request, run_pk, "resolve_conflict")
    keep, keys = _posted(request, run)
    if keep not in KEEP:
        raise BadRequest
    if not keys:
        messages.error(request, "Select at least one conflict.")
    theirs = keep == FileConflict.Outcome.THEIRS
    refused = file_conflicts.resolve_all(run=run, conflicts=keys, theirs=theirs, actor=request.user)
    if resolved := len(keys) - len(refused):
        messages.success(request, f"{resolved:,} resolved: {FileConflict.Outcome(keep).label}.")
    for reason, number in Counter(reason for _, reason in refused).items():
        messages.error(request, f"{number:,} not resolved. {reason}")
    place = place_of(request)
    if place and not file_conflicts.count_open(run):
        return inbox_navigation.go_on(request, place)
    return redirect(reverse("conflicts", args=[run.pk], query={"inbox": str(place)} if place else {}))


def _posted(request: Request, run: Run) -> tuple[str, list[tuple[int, int]]]:
    if one := request.POST.get("one", ""):
        keep, _, key = one.partition("-")
        return keep, [_key(key)]
    keep = request.POST.get("keep", "")
    if "all" in request.POST:
        return keep, file_conflicts.oldest_open(run, limit=MOST_AT_ONCE)
    return keep, [_key(key) for key in request.POST.getlist("which")]


def _key(text: str) -> tuple[int, int]:
    found = _KEY.fullmatch(text)
    if not found:
        raise BadRequest
    return int(found[1]), int(found[2])

"""Let a lead resolve a run's conflicts: use the imported decision or keep the one made here."""

import re
from collections.abc import Iterable

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check
from reviews.history import file_conflicts
from reviews.http.request import Request
from reviews.models import FileConflict, Run
from reviews.records.conflicts import Conflict
from reviews.review import decisions

# The most conflicts per request, so that it ends in reasonable time.
MOST_AT_ONCE = 1000
HOLDS = (FileConflict.Outcome.THEIRS, FileConflict.Outcome.OURS)
_KEY = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")


@require_safe
@never_cache
def conflict_list(request: Request, run_pk: int) -> HttpResponse:
    """List the open conflicts of a run, with cursor pagination (`?after=`)."""
    check(request.user, "settle_conflict")
    run = get_object_or_404(Run, pk=run_pk)
    after = request.GET.get("after", "")
    page = file_conflicts.page(run, after=int(after) if re.fullmatch("[0-9]{1,18}", after) else 0)
    context = {
        "run": run,
        "open": file_conflicts.count(run),
        "most_at_once": MOST_AT_ONCE,
        "comparisons": page.comparisons,
        "next_after": page.next_after,
        "after": after,
    }
    return render(request, "files/conflicts/page.html", context)


@require_POST
def settle_conflicts(request: Request, run_pk: int) -> HttpResponse:
    """Settle the posted conflicts: `one` is a single one and `which` of them are ticked, as KEY-VERSION.

    `holds` is theirs or ours, for `one` part of its value. With `all` every open conflict of the run is
    settled, as far as one request goes.
    """
    check(request.user, "settle_conflict")
    run = get_object_or_404(Run, pk=run_pk)
    holds, keys = _posted(request, run)
    if holds not in HOLDS:
        raise BadRequest
    if not keys:
        messages.error(request, "Select at least one conflict.")
    settled, refused = _settle(request, keys, theirs=holds == FileConflict.Outcome.THEIRS)
    if settled:
        messages.success(request, f"{settled:,} resolved: {FileConflict.Outcome(holds).label}.")
    for reason in dict.fromkeys(refused):
        messages.error(request, f"{refused.count(reason):,} not resolved. {reason}")
    return redirect("conflicts", run.pk)


def _posted(request: Request, run: Run) -> tuple[str, list[tuple[int, int]]]:
    one = request.POST.get("one", "")
    if one:
        holds, _, key = one.partition("-")
        return holds, [_key(key)]
    holds = request.POST.get("holds", "")
    if "all" in request.POST:
        return holds, file_conflicts.oldest(run, limit=MOST_AT_ONCE)
    return holds, [_key(key) for key in request.POST.getlist("which")]


def _key(text: str) -> tuple[int, int]:
    found = _KEY.fullmatch(text)
    if not found:
        raise BadRequest
    return int(found[1]), int(found[2])


def _settle(request: Request, keys: Iterable[tuple[int, int]], *, theirs: bool) -> tuple[int, list[str]]:
    """Resolve conflicts. Return how many were resolved, and the reason for each of the others."""
    settled, refused = 0, []
    for key, version in keys:
        try:
            decisions.settle_conflict(conflict_id=key, version=version, theirs=theirs, actor=request.user)
        except Conflict as conflict:
            refused.append(conflict.reason)
        except FileConflict.DoesNotExist:
            refused.append("The conflict does not exist.")
        else:
            settled += 1
    return settled, refused

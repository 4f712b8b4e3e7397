"""Search for runs, records and people by a name or id, for the palette of every page."""

from typing import NamedTuple

from django.db.models import F, Q
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from reviews.accounts.permissions import can, check, people_with_role
from reviews.http.request import Request
from reviews.models import Evaluation, Run
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.views.shortcuts import render_part

# Found rows of each kind.
MOST = 8
_LONGEST = 300


class Found(NamedTuple):
    title: str
    url: str
    #: Tells rows with the same title apart; may be empty.
    note: str = ""


class MatchingRows(NamedTuple):
    title: str
    rows: list[Found]


@require_safe
def palette(request: Request) -> HttpResponse:
    """Show the runs, records and people that match `?q=`; without it, the newest runs."""
    check(request.user, "review_evaluation")
    words = _readable(request.GET.get("q", ""))
    groups = [_runs(request, words)]
    if words:
        groups += [_records(request, words), _people(request, words)]
    context = {"words": words, "groups": [group for group in groups if group.rows]}
    return render_part(request, "site/palette.html", "found", context)


def _readable(text: str) -> str:
    """Return the start of the text without characters that PostgreSQL refuses."""
    return text[:_LONGEST].encode("utf-8", "ignore").decode().replace("\0", "").strip()


def _runs(request: Request, words: str) -> MatchingRows:
    runs = Run.objects.visible_to(request.user).filter(name__icontains=words)
    newest = runs.order_by(F("archived_at").desc(nulls_first=True), "-created_at", "-pk")[:MOST]
    return MatchingRows(
        "Runs",
        [Found(run.name, _url("run", run.pk), "archived" if run.archived_at else "") for run in newest],
    )


def _records(request: Request, words: str) -> MatchingRows:
    """Find records by their evaluation id or task id, exactly, each by its index."""
    named = words.lower().removeprefix("task").strip()
    task = words[len(words) - len(named) :] if named else words
    runs = list(Run.objects.visible_to(request.user).values_list("pk", flat=True))
    rows = Evaluation.objects.filter(run__in=runs).select_related("run").defer(*LARGE_COLUMNS)
    found = [*rows.filter(evaluation_id=words).order_by("-run")[:MOST]]
    found += (
        rows.filter(task_id=task)
        .exclude(pk__in=[one.pk for one in found])
        .order_by("-run", "model_id")[:MOST]
    )
    return MatchingRows(
        "Records", [Found(one.title, _url("evaluation", one.pk), one.run.name) for one in found[:MOST]]
    )


def _people(request: Request, words: str) -> MatchingRows:
    """Find people, for leads and admins."""
    if not can(request.user, "lead_review"):
        return MatchingRows("People", [])
    page = "person" if can(request.user, "manage_people") else "reviewer-activity"
    people = people_with_role().filter(Q(username__icontains=words))[:MOST]
    return MatchingRows("People", [Found(person.name, _url(page, person.pk)) for person in people])


def _url(name: str, key: int) -> str:
    return reverse(name, args=[key])

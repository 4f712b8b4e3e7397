"""Lists of records: saved views, and bulk actions of leads."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from reviews.accounts.permissions import check, people_in
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, BulkPreview, Kind
from reviews.http.request import Request
from reviews.models import BulkChange, Run, SavedView, User
from reviews.search import filter_options, listing, saved_views
from reviews.search.filters import FILTERS, NOBODY, Filters
from reviews.search.listing import RecordList
from reviews.views.access import load_in_run, load_run

MOST_TASKS = 20


@require_safe
def tasks(request: Request, run_pk: int) -> HttpResponse:
    """Suggest task IDs that begin with `task`."""
    run = load_run(request, run_pk)
    beginning = Filters.parse({"task": request.GET.get("task", "")}).values_of("task")
    found = filter_options.task_ids(run, beginning[0], MOST_TASKS) if beginning else []
    return render(request, "runs/tasks.html", {"tasks": found})


# Views


@require_POST
def save_view(request: Request, run_pk: int) -> HttpResponse:
    """Save the posted `query` as a view called `name`; `shared` shares it with everybody."""
    run = load_run(request, run_pk)
    view = RecordList.parse(QueryDict(request.POST.get("query", "")))
    try:
        saved = saved_views.save(
            run=run,
            owner=request.user,
            name=request.POST.get("name", ""),
            query=view.query(),
            is_shared="shared" in request.POST,
        )
    except saved_views.SavedViewError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"View “{saved.name}” saved.")
    return _to_list(run, view.query())


@require_POST
def remove_view(request: Request, pk: int) -> HttpResponse:
    check(request.user, "review_evaluation")
    seen = SavedView.objects.filter(Q(owner=request.user) | Q(is_shared=True))
    view = load_in_run(request, seen.select_related("run", "owner"), pk)
    saved_views.remove(view=view, actor=request.user)
    messages.success(request, f"View “{view.name}” removed.")
    return _to_list(view.run, view.query)


def _to_list(run: Run, query: str) -> HttpResponse:
    return redirect(reverse("run", args=[run.pk]) + (f"?{query}" if query else ""))


# Bulk actions


@require_http_methods(["GET", "HEAD", "POST"])
def bulk_change(request: Request, run_pk: int) -> HttpResponse:
    """Preview a bulk action (GET) or apply it (POST): `kind`, `to` or `priority`, and the filters `list`."""
    run = load_run(request, run_pk, "lead_review")
    sent = request.POST if request.method == "POST" else request.GET
    filters = Filters.from_query_string(sent.get("list", ""))
    order = _parse_order(run, filters, sent.get("kind", ""), sent.get("to", ""), sent.get("priority", ""))
    status = HTTPStatus.OK
    if request.method == "POST":
        if order:
            messages.success(request, _confirmation(bulk_changes.apply(order, request.user)))
            return redirect(_change_address(run, filters))
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "runs/bulk_change.html", _context(run, filters, order), status=status)


@require_POST
def undo_bulk_change(request: Request, pk: int) -> HttpResponse:
    check(request.user, "lead_review")
    done = load_in_run(request, BulkChange.objects.select_related("run"), pk)
    try:
        outcome = bulk_changes.undo(change_id=done.pk, actor=request.user)
    except bulk_changes.UndoRefused as refused:
        messages.error(request, refused.reason)
    else:
        stayed = f" Changed since, not restored: {_records(outcome.stayed)}." if outcome.stayed else ""
        messages.success(request, f"Undone: {_records(outcome.restored)} restored.{stayed}")
    return redirect(_change_address(done.run, Filters.from_query_string(done.query)))


def _change_address(run: Run, filters: Filters) -> str:
    return reverse("bulk-change", args=[run.pk], query={"list": filters.query_string} if filters else None)


def _parse_order(run: Run, filters: Filters, kind: str, to: str, priority: str) -> BulkOrder | None:
    """Return the requested action, or None if the request is invalid."""
    priorities = {str(bulk_changes.PRIORITY_FIRST), str(bulk_changes.PRIORITY_NORMAL)}
    if kind == Kind.ASSIGN:
        person = None if to == NOBODY else people_in(run).filter(username=to).first()
        return BulkOrder(run, filters, Kind.ASSIGN, person) if person or to == NOBODY else None
    if kind == Kind.PRIORITISE and priority in priorities:
        return BulkOrder(run, filters, Kind.PRIORITISE, priority=int(priority))
    return BulkOrder(run, filters, Kind.RELEASE) if kind == Kind.RELEASE else None


def _context(run: Run, filters: Filters, order: BulkOrder | None = None) -> dict[str, Any]:
    context: dict[str, Any] = {
        "run": run,
        "filters": filters,
        "notes": listing.hidden_record_notes(run, filters),
        "list_query": urlencode({"list": filters.query_string}),
        "named": [(FILTERS[name].title, value) for name, value in filters.values],
        "people": people_in(run),
        "nobody": NOBODY,
        "changes": bulk_changes.latest_changes(run),
        "order": order,
        "plan": None,
        "announcement": "",
    }
    if order:
        try:
            context["plan"] = plan = bulk_changes.preview(order)
            context["announcement"] = _description(order, plan)
        except listing.QueryTooSlow:
            context["announcement"] = str(listing.QueryTooSlow())
    return context


def _description(order: BulkOrder, plan: BulkPreview) -> str:
    """Describe the effect of an action in a sentence."""
    claimed = _claimed_elsewhere(plan.claimed)
    if plan.changes == 0:
        return f"No records to {_verb(order)}{claimed}."
    records = _records(bulk_changes.MOST_AT_ONCE if plan.changes is None else plan.changes)
    to = f" to {_name(order.assigned_to)}" if order.kind == Kind.ASSIGN else ""
    more = "" if plan.changes is not None else " (the first of more; repeat the action for the rest)"
    return f"This will {_verb(order)} {records}{to}{more}{claimed}."


def _claimed_elsewhere(number: int) -> str:
    if not number:
        return ""
    return (
        f"; {number:,} are claimed by others and stay as they are"
        if number > 1
        else "; 1 is claimed by someone else and stays as it is"
    )


def _verb(order: BulkOrder) -> str:
    if order.kind == Kind.PRIORITISE:
        return "give priority to" if order.priority else "set to normal priority"
    return str(order.kind)


def _name(person: User | None) -> str:
    return person.name if person else "nobody"


def _records(number: int) -> str:
    return f"{number:,} record" if number == 1 else f"{number:,} records"


def _confirmation(change: BulkChange) -> str:
    records = _records(change.evaluations)
    if change.kind == Kind.ASSIGN:
        return f"Assigned {records} to {_name(change.assigned_to)}."
    if change.kind == Kind.RELEASE:
        return f"Released {records}."
    return f"Gave {records} priority." if change.priority else f"Set {records} to normal priority."

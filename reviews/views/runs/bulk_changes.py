"""The page of bulk actions: choose what to do with the records of a list, preview it, apply it, undo it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from reviews.accounts.permissions import people_in
from reviews.dashboard import bulk_changes, spot_checks, workload
from reviews.dashboard.bulk_changes import BulkOrder, BulkPreview, Kind, SplitPreview
from reviews.dashboard.splitting import Share, Split, SplitRefused
from reviews.dashboard.workload import Workload
from reviews.days import read_day
from reviews.http.request import Request
from reviews.models import BulkChange, Run, User
from reviews.records.wording import counted
from reviews.search import listing
from reviews.search.filters import FILTERS, NOBODY, Filters
from reviews.views.shortcuts import form_page, load_in_run, load_run, refusal_shown

# Records that can be selected one by one.
MAX_SELECTED = 1_000
MAX_NOTE = 2_000
# The latest changes on the page.
_SHOWN = 20
# Parameter prefixes of a split: a person's number of records.
NUMBER = "number:"
# The actions of the page: a kind, the end of assignments, or spot checks of selected records.
UNASSIGN, CHECK = "unassign", "check"
ACTIONS = {
    Kind.ASSIGN: "Assign",
    Kind.SPLIT: "Split",
    UNASSIGN: "Take off assignment",
    Kind.PRIORITISE: "Priority",
    Kind.DUE: "Due date",
    Kind.ESCALATE: "Escalate",
    Kind.RELEASE: "Release",
    CHECK: "Spot check",
}


class ShareRow(NamedTuple):
    """A person in the table of a split."""

    work: Workload
    is_chosen: bool
    #: The number as entered; empty for an even share.
    number: str
    #: The records that the person gets, and then has; None without a preview.
    given: int | None
    then: int | None
    #: The working days that these take at the person's pace.
    days: float | None


class EnteredOrder(NamedTuple):
    action: str
    #: None if the entries are incomplete or invalid.
    order: BulkOrder | None
    #: Why there is no order; empty if nothing was entered yet.
    problem: str = ""


@form_page
def bulk_change(request: Request, run_pk: int) -> HttpResponse:
    """Preview a bulk action (GET) or apply it (POST) to records of the list with the filters `list`.

    `record` is given for each selected record; without one, or with `all`, the action is for the whole list.
    """
    run = load_run(request, run_pk, "lead_review")
    sent = request.POST if request.method == "POST" else request.GET
    filters = Filters.from_query_string(sent.get("list", ""))
    if request.method == "POST" and sent.get("kind") == CHECK:
        return _select_checks(request, run, filters)
    entered = _read(run, filters, sent)
    status = HTTPStatus.OK
    if request.method == "POST":
        if entered.order:
            try:
                change = bulk_changes.apply(order=entered.order, actor=request.user)
            except SplitRefused as refused:
                entered = EnteredOrder(entered.action, None, str(refused))
            else:
                messages.success(request, _confirmation(change))
                return redirect(_change_address(run, filters))
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    context = _context(request, run, filters, entered, sent)
    return render(request, "runs/bulk_change.html", context, status=status)


def _select_checks(request: Request, run: Run, filters: Filters) -> HttpResponse:
    """Create spot checks of the selected records and open the first one. Without any, go back."""
    if made := spot_checks.select(run=run, records=_selected(request.POST) or (), actor=request.user):
        messages.success(request, f"Selected {counted(len(made), 'record')} for spot checks.")
        return redirect("spot-check", made[0].pk)
    messages.info(request, "No record with somebody else's decision that was not checked before is selected.")
    return redirect(_change_address(run, filters))


@require_POST
def undo_bulk_change(request: Request, pk: int) -> HttpResponse:
    done = load_in_run(request, BulkChange.objects.select_related("run"), pk, "lead_review")
    with refusal_shown(request, bulk_changes.UndoRefused):
        outcome = bulk_changes.undo(change_id=done.pk, actor=request.user)
        unrestored = counted(outcome.stayed, "record")
        stayed = f" Changed since, not restored: {unrestored}." if outcome.stayed else ""
        messages.success(request, f"Undone: {counted(outcome.restored, 'record')} restored.{stayed}")
    return redirect(_change_address(done.run, Filters.from_query_string(done.query)))


def _change_address(run: Run, filters: Filters) -> str:
    return reverse("bulk-change", args=[run.pk], query={"list": filters.query_string} if filters else None)


# Entries


class _Invalid(Exception):
    """The entries are invalid. The message is a sentence, or empty if something is missing."""


def _read(run: Run, filters: Filters, sent: QueryDict) -> EnteredOrder:
    action = sent.get("kind", "")
    if action not in ACTIONS:
        return EnteredOrder(Kind.ASSIGN, None)
    if action == CHECK:
        return EnteredOrder(CHECK, None)
    if action == Kind.ASSIGN and sent.get("to") == NOBODY:
        action = UNASSIGN
    kind = Kind.ASSIGN if action == UNASSIGN else Kind(action)
    try:
        values = _READERS[action](run, sent) if action in _READERS else {}
    except _Invalid as invalid:
        return EnteredOrder(action, None, str(invalid))
    return EnteredOrder(action, BulkOrder(run, filters, kind, selected=_selected(sent), **values))


def _selected(sent: QueryDict) -> tuple[int, ...] | None:
    """Return the keys of the selected records; None for all of the list."""
    keys = sent.getlist("record")
    if "all" in sent or not keys:
        return None
    return tuple(int(key) for key in keys[:MAX_SELECTED] if key.isascii() and key.isdigit() and len(key) < 19)


def _read_person(run: Run, sent: QueryDict) -> dict[str, Any]:
    found = {person.username: person for person in people_in(run)}
    person = found.get(sent.get("to", ""))
    if person is None:
        raise _Invalid
    return {"assigned_to": person}


def _read_split(run: Run, sent: QueryDict) -> dict[str, Any]:
    shares, chosen = [], {*sent.getlist("to")}
    for person in people_in(run):
        number = sent.get(f"{NUMBER}{person.username}", "").strip()
        if number and not (number.isascii() and number.isdigit() and len(number) <= 6):
            raise _Invalid(f"Enter a whole number of records for {person.name}.")
        if number or person.username in chosen:
            shares.append(Share(person, int(number) if number else None))
    if not shares:
        raise _Invalid
    return {"split": Split(tuple(shares), sent.get("tasks") != "divided")}


def _read_priority(_: Run, sent: QueryDict) -> dict[str, Any]:
    words = {str(one): one for one in (bulk_changes.PRIORITY_FIRST, bulk_changes.PRIORITY_NORMAL)}
    if sent.get("priority", "1") not in words:
        raise _Invalid
    return {"priority": words[sent.get("priority", "1")]}


def _read_due(_: Run, sent: QueryDict) -> dict[str, Any]:
    text = sent.get("due", "").strip()
    if sent.get("due-none") == "yes":
        return {"due_on": None}
    if not text:
        raise _Invalid
    try:
        return {"due_on": read_day(text)}
    except ValueError as error:
        raise _Invalid(str(error)) from None


def _read_note(_: Run, sent: QueryDict) -> dict[str, Any]:
    note = sent.get("note", "").replace("\0", "").strip()
    if not note:
        raise _Invalid
    if len(note) > MAX_NOTE:
        raise _Invalid(f"Enter at most {MAX_NOTE:,} characters.")
    return {"note": note}


_READERS: dict[str, Callable[[Run, QueryDict], dict[str, Any]]] = {
    Kind.ASSIGN: _read_person,
    Kind.SPLIT: _read_split,
    Kind.PRIORITISE: _read_priority,
    Kind.DUE: _read_due,
    Kind.ESCALATE: _read_note,
}


# The page


def _context(
    request: Request, run: Run, filters: Filters, entered: EnteredOrder, sent: QueryDict
) -> dict[str, Any]:
    selected = _selected(sent)
    scope = [("list", filters.query_string), *(("record", str(key)) for key in selected or ())]
    plan: BulkPreview | SplitPreview | None = None
    announcement, can_apply = entered.problem, False
    if entered.order:
        try:
            announcement, can_apply, plan = _preview(entered.order)
        except listing.QueryTooSlow as slow:
            announcement = str(slow)
    people = list(people_in(run))
    is_split = entered.action == Kind.SPLIT
    return {
        "run": run,
        "filters": filters,
        "selected": len(selected) if selected is not None else None,
        "scope": scope,
        "actions": [(name, title, urlencode([*scope, ("kind", name)])) for name, title in ACTIONS.items()],
        "action": entered.action,
        "title": ACTIONS.get(entered.action, ""),
        "notes": [] if selected is not None else listing.hidden_record_notes(run, filters),
        "named": [(FILTERS[name].title, value) for name, value in filters.values],
        "people": people,
        "rows": _share_rows(people, request.user, sent, plan) if is_split else [],
        "keeps_tasks": sent.get("tasks") != "divided",
        "sent": {name: sent.get(name, "") for name in ("to", "priority", "due", "note")},
        "due_none": sent.get("due-none") == "yes",
        "changes": bulk_changes.changes_of(run)[:_SHOWN],
        "announcement": announcement,
        "is_problem": bool(announcement and not plan),
        "can_apply": can_apply,
        "pace_definition": workload.PACE_DEFINITION,
        "max_note": MAX_NOTE,
    }


def _preview(order: BulkOrder) -> tuple[str, bool, BulkPreview | SplitPreview | None]:
    """Return a sentence about the effect of an action, whether it can be applied, and the effect."""
    if order.kind != Kind.SPLIT:
        plan = bulk_changes.preview(order)
        return _description(order, plan), plan.changes != 0, plan
    try:
        shares = bulk_changes.preview_split(order)
    except SplitRefused as refused:
        return str(refused), False, None
    return _split_description(shares), bool(shares.given), shares


def _share_rows(
    people: list[User], reader: User, sent: QueryDict, plan: BulkPreview | SplitPreview | None
) -> list[ShareRow]:
    chosen, shares = {*sent.getlist("to")}, plan if isinstance(plan, SplitPreview) else None
    rows = []
    for work in workload.workloads(people, reader=reader):
        person = work.person
        number = sent.get(f"{NUMBER}{person.username}", "").strip()
        given = shares.given[person] if shares else None
        then = work.records - shares.had[person.pk] + shares.given[person] if shares else None
        days = work.days_of_work(then) if then is not None else None
        is_chosen = bool(number) or person.username in chosen
        rows.append(ShareRow(work, is_chosen, number[:10], given, then, days))
    return rows


# Sentences


def _description(order: BulkOrder, plan: BulkPreview) -> str:
    """Describe the effect of an action in a sentence."""
    claimed = _claimed_elsewhere(plan.claimed)
    if plan.changes == 0:
        return f"No records to {_verb(order)}{claimed}."
    records = counted(order.most if plan.changes is None else plan.changes, "record")
    to = f" to {order.assigned_to.name}" if order.assigned_to else ""
    more = "" if plan.changes is not None else " (the first of more; repeat the action for the rest)"
    return f"This will {_verb(order)} {records}{to}{more}{claimed}."


def _split_description(plan: SplitPreview) -> str:
    claimed = _claimed_elsewhere(plan.claimed)
    if plan.records == 0:
        return f"No records to split{claimed}."
    given = sum(plan.given.values())
    people = sum(1 for number in plan.given.values() if number)
    more = "" if plan.records is not None else " (the first of more; repeat the action for the rest)"
    left = f" {counted(plan.left, 'record stays', 'records stay')} as now." if plan.left else ""
    among = counted(people, "person", "people")
    return f"This will split {counted(given, 'record')} among {among}{more}{claimed}.{left}"


def _claimed_elsewhere(number: int) -> str:
    one, many = "is claimed by someone else and stays as it is", "are claimed by others and stay as they are"
    return f"; {counted(number, one, many)}" if number else ""


def _verb(order: BulkOrder) -> str:
    match order.kind:
        case Kind.PRIORITISE:
            return "give priority to" if order.priority else "set to normal priority"
        case Kind.DUE:
            return f"set the due date {order.due_on} for" if order.due_on else "remove the due date of"
        case Kind.ASSIGN if not order.assigned_to:
            return "unassign"
    return str(order.kind)


def _confirmation(change: BulkChange) -> str:
    records = counted(change.evaluations, "record")
    match change.kind:
        case Kind.ASSIGN:
            return (
                f"Assigned {records} to {change.assigned_to.name}."
                if change.assigned_to
                else f"Unassigned {records}."
            )
        case Kind.SPLIT:
            return f"Split {records}."
        case Kind.RELEASE:
            return f"Released {records}."
        case Kind.ESCALATE:
            return f"Escalated {records}."
        case Kind.DUE:
            return (
                f"Set the due date of {records}." if change.due_on else f"Removed the due date of {records}."
            )
    return f"Gave {records} priority." if change.priority else f"Set {records} to normal priority."

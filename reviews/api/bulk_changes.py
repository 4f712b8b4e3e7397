"""Change the order of work for many records: assign, split, prioritise, set due dates, escalate, release."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Field, Router
from pydantic import StringConstraints

from cognireview.types import leading, operations
from cognireview.types.encoding import members
from reviews.accounts.permissions import people_in
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.evaluations import FilterValues, read_filters, record_keys
from reviews.api.lookup import get_run, load
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import invalid_field
from reviews.api.values import Day
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, Kind
from reviews.dashboard.splitting import Share, Split
from reviews.models import BulkChange, Run, User

router = Router(tags=["bulk changes"])
_MOST_SELECTED = 1_000


class ShareIn(Body):
    """The part of one person in a split."""

    person: str = Field(description="The username.")
    number: int | None = Field(
        default=None, ge=0, le=999_999, description="Records for this person; null for an even share."
    )


class BulkChangeIn(Body):
    """An action, and the records in the queue that it is for: those of the filters, or the selected ones."""

    kind: Literal["assign", "split", "prioritise", "due", "escalate", "release"]
    filters: FilterValues = Field(default={}, description="Filters as on the page of the run.")
    evaluation_ids: list[str] | None = Field(
        default=None, max_length=_MOST_SELECTED, description="Records instead of those of the filters."
    )
    assigned_to: str | None = Field(default=None, description="assign: a username; null for nobody.")
    shares: list[ShareIn] = Field(default=[], max_length=1_000, description="split: the people.")
    keeps_tasks: bool = Field(default=True, description="split: all records of a task go to one person.")
    priority: Literal[0, 1] = Field(default=1, description="prioritise: 1 is first, 0 is normal.")
    due_on: Day | None = Field(default=None, description="due: the date; null for none.")
    note: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000, pattern="^[^\x00]*$")] = (
        Field(default="", description="escalate: the question.")
    )


@operation(router, operations.BULK_CHANGES, scope="read", permission="lead_review")
def list_bulk_changes(
    request: ApiRequest, run: str, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the bulk changes of a run, the newest first. Leads and admins only."""
    found = bulk_changes.changes_of(get_run(run, request.user))
    return [_shape(change) for change in list_by_key(request, response, found, after=after, limit=limit)]


@operation(router, operations.APPLY_BULK_CHANGE, scope="configure", permission="lead_review", problems=(409,))
def apply_bulk_change(request: ApiRequest, run: str, sent: BulkChangeIn) -> dict[str, Any]:
    """Change at most 10,000 records of the queue at once, or escalate at most 200. Scores never change.

    Records that others have claimed stay as they are when records are assigned, split or escalated.
    """
    order = _order(get_run(run, request.user), sent)
    return _shape(bulk_changes.apply(order=order, actor=request.user))


@operation(router, operations.PREVIEW_BULK_CHANGE, scope="configure", permission="lead_review")
def preview_bulk_change(request: ApiRequest, run: str, sent: BulkChangeIn) -> dict[str, Any]:
    """Count the records that a bulk change would affect. Nothing changes."""
    order = _order(get_run(run, request.user), sent)
    if order.kind != Kind.SPLIT:
        plan = bulk_changes.preview(order)
        return {"evaluations": plan.changes, "claimed": plan.claimed, "given": {}}
    shares = bulk_changes.preview_split(order)
    given = {person.username: number for person, number in shares.given.items()}
    return {"evaluations": shares.records, "claimed": shares.claimed, "given": given}


@operation(router, operations.UNDO_BULK_CHANGE, scope="configure", permission="lead_review", problems=(409,))
def undo_bulk_change(request: ApiRequest, change_id: int) -> dict[str, int]:
    """Restore the records of a bulk change, except those that have changed since."""
    change = load(BulkChange, change_id, request.user)
    return asdict(bulk_changes.undo(change_id=change.pk, actor=request.user))


def _order(run: Run, sent: BulkChangeIn) -> BulkOrder:
    """Return the change to make. Raises `Problem` for invalid entries."""
    kind, people = Kind(sent.kind), {person.username: person for person in people_in(run)}
    split, assigned_to = None, None
    if kind == Kind.ASSIGN and sent.assigned_to is not None:
        assigned_to = _person(people, sent.assigned_to, "assigned_to")
    if kind == Kind.SPLIT:
        names = [share.person for share in sent.shares]
        if not names or len({*names}) < len(names):
            raise invalid_field("shares", "Name at least one person, and each only once.")
        shares = [Share(_person(people, one.person, "shares"), one.number) for one in sent.shares]
        split = Split(tuple(shares), sent.keeps_tasks)
    if kind == Kind.ESCALATE and not sent.note:
        raise invalid_field("note", "Enter the question.")
    return BulkOrder(
        run,
        read_filters(sent.filters),
        kind,
        selected=None if sent.evaluation_ids is None else record_keys(run, sent.evaluation_ids),
        assigned_to=assigned_to,
        priority=sent.priority,
        due_on=sent.due_on if kind == Kind.DUE else None,
        note=sent.note,
        split=split,
    )


def _person(people: dict[str, User], name: str, field: str) -> User:
    if name not in people:
        raise invalid_field(field, f"No person with the username {name!r} can see this run.")
    return people[name]


def _shape(change: BulkChange) -> dict[str, Any]:
    return members(leading.AppliedBulkChange, change, by=change.actor.username)

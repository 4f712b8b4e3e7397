"""Change the order of work for many records at once: assign, split, prioritise, release or escalate them.

Scores never change. Each change stores the previous values of every record, so that it can be undone.
"""

import datetime as dt
from collections import Counter
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from cognireview.types.leading import UndoneBulkChange
from reviews.accounts.permissions import Denied, check, people_in
from reviews.audit import events
from reviews.dashboard.splitting import Split
from reviews.models import BulkChange, BulkChangeItem, Escalation, Evaluation, Run, User
from reviews.models.evaluations import CLAIMED, IN_QUEUE, UNCLAIMED
from reviews.queue.claim_columns import clear_claims, restore_claims
from reviews.queue.claims import check_not_archived
from reviews.records.conflicts import RecordUnavailable
from reviews.review import escalations
from reviews.search import listing
from reviews.search.filters import Filters

MOST_AT_ONCE = 10_000
# Each escalation is a question to a lead, so there are few.
MOST_ESCALATED = 200
PRIORITY_FIRST, PRIORITY_NORMAL = 1, 0
Kind = BulkChange.Kind


class UndoRefused(Exception):
    """The change cannot be undone. The message is a sentence."""


class BulkOrder(NamedTuple):
    """A change to make, and the records to change.

    The filters exclude records that are hidden from somebody, because everybody sees the change.
    """

    run: Run
    filters: Filters
    kind: Kind
    #: None for nobody.
    assigned_to: User | None = None
    priority: int = PRIORITY_NORMAL
    #: None for the due date of the run.
    due_on: dt.date | None = None
    split: Split | None = None
    #: The note of the escalations.
    note: str = ""
    #: The keys of the selected records; None for all records that the filters find.
    selected: tuple[int, ...] | None = None

    @property
    def most(self) -> int:
        """How many records it changes at most."""
        return MOST_ESCALATED if self.kind == Kind.ESCALATE else MOST_AT_ONCE


class BulkPreview(NamedTuple):
    """The effect of a change."""

    #: None for more than `BulkOrder.most`.
    changes: int | None
    claimed: int


class SplitPreview(NamedTuple):
    """The effect of a split."""

    #: Records to divide. None for more than `MOST_AT_ONCE`.
    records: int | None
    claimed: int
    #: By person: the records that they get.
    given: Counter[User]
    #: By the key of a person: the records that they have of these now.
    had: Counter[int]
    #: Records that nobody gets.
    left: int


def preview(order: BulkOrder) -> BulkPreview:
    """Count the records that a change would affect. Raises `listing.QueryTooSlow`."""
    with listing.time_limit():
        changes = _changing(order)[: order.most + 1].count()
        claimed = _claimed_by_others(order)
    return BulkPreview(changes if changes <= order.most else None, claimed)


def preview_split(order: BulkOrder) -> SplitPreview:
    """Divide the records without saving. Raises `SplitRefused` and `listing.QueryTooSlow`."""
    assert order.split
    with listing.time_limit():
        rows = _changing(order).order_by(*_FILE_ORDER)
        found = list(rows.values_list("task_id", "assigned_to")[: order.most + 1])
        claimed = _claimed_by_others(order)
    rows_at_once = found[: order.most]
    given = Counter(order.split.divide([task for task, _ in rows_at_once]))
    had = Counter(pk for _, pk in rows_at_once if pk)
    left = given.pop(None, 0)
    people = Counter({person: number for person, number in given.items() if person})
    return SplitPreview(len(found) if len(found) <= order.most else None, claimed, people, had, left)


@transaction.atomic
def apply(*, order: BulkOrder, actor: User) -> BulkChange:
    """Change at most `BulkOrder.most` records. Records locked by another transaction are skipped.

    Raises `RunArchived`, `SplitRefused`, and `Denied` if they are to be assigned to somebody who may not see
    the run.
    """
    check(actor, "lead_review")
    check_not_archived(order.run)
    recipients = order.split.people if order.split else [order.assigned_to] if order.assigned_to else []
    allowed = _lock_people(order.run, User.objects.filter(pk__in=[person.pk for person in recipients]))
    for person in recipients:
        if person.pk not in allowed:
            raise Denied(f"{person.name} has no access to this run.")
    change = BulkChange.objects.create(
        run=order.run,
        actor=actor,
        kind=order.kind,
        query=order.filters.query_string,
        is_selection=order.selected is not None,
        assigned_to=order.assigned_to,
        priority=order.priority if order.kind == Kind.PRIORITISE else None,
        due_on=order.due_on,
    )
    items = [_item(change, evaluation) for evaluation in _locked(_changing(order), order.most)]
    if order.split:
        given = order.split.divide([item.evaluation.task_id for item in items])
        for item, recipient in zip(items, given, strict=True):
            item.given_to = recipient
        items = [item for item in items if item.given_to]
    BulkChangeItem.objects.bulk_create(items, batch_size=1000)
    _change(order, change, actor)
    change.evaluations = change.items.count()
    change.save(update_fields=["evaluations"])
    shares = Counter(item.given_to.username for item in items if item.given_to)
    _record(change, change.kind, actor, evaluations=change.evaluations, given=shares)
    return change


def _change(order: BulkOrder, change: BulkChange, actor: User) -> None:
    """Change the locked records of the items."""
    item = change.items.filter(evaluation=OuterRef("pk"))
    rows = Evaluation.objects.filter(pk__in=change.items.values("evaluation"))
    match order.kind:
        case Kind.ASSIGN:
            rows.update(assigned_to=order.assigned_to)
        case Kind.SPLIT:
            rows.update(assigned_to=Subquery(item.values("given_to")))
        case Kind.PRIORITISE:
            rows.update(priority=order.priority)
        case Kind.DUE:
            rows.update(due_on=order.due_on)
        case Kind.ESCALATE:
            question = {"kind": Escalation.Kind.QUESTION, "reason": "question", "note": order.note}
            for key in rows.order_by(*_FILE_ORDER).values_list("pk", flat=True):
                try:
                    escalations.escalate(evaluation_id=key, reviewer=actor, **question)
                except RecordUnavailable:  # such as one that the lead has reviewed independently
                    change.items.filter(evaluation=key).delete()
        case _:
            clear_claims(rows)


@transaction.atomic
def undo(*, change_id: int, actor: User) -> UndoneBulkChange:
    """Restore the previous values of each record, unless it was changed since.

    Nothing is assigned to or claimed for people who have lost access to the run since. Raises `UndoRefused`
    and `RunArchived`.
    """
    check(actor, "lead_review")
    change = BulkChange.objects.select_for_update(of=("self",)).select_related("run").get(pk=change_id)
    check_not_archived(change.run)
    if change.undone_at:
        raise UndoRefused("This change was already undone.")
    item = change.items.filter(evaluation=OuterRef("pk"))
    unchanged = [evaluation.pk for evaluation in _locked(_as_changed(change), MOST_AT_ONCE)]
    restored = Evaluation.objects.filter(pk__in=unchanged)
    match change.kind:
        case Kind.ASSIGN | Kind.SPLIT:
            restored.update(assigned_to=Subquery(item.values("assigned_to")))
        case Kind.PRIORITISE:
            restored.update(priority=Subquery(item.values("priority")))
        case Kind.DUE:
            restored.update(due_on=Subquery(item.values("due_on")))
        case Kind.ESCALATE:
            for raised in Escalation.objects.filter(_escalated_by(change), evaluation__in=unchanged):
                escalations.cancel(escalation_id=raised.pk, actor=actor)
        case _:
            restore_claims(restored, change.run, claimed_by=Subquery(item.values("claimed_by")))
    change.undone_at = timezone.now()
    change.save(update_fields=["undone_at"])
    outcome = UndoneBulkChange(len(unchanged), change.evaluations - len(unchanged))
    _record(change, f"undo {change.kind}", actor, restored=outcome.restored, stayed=outcome.stayed)
    return outcome


def _lock_people(run: Run, people: QuerySet[User]) -> set[int]:
    """Lock people, and return the keys of those who may see the run. Changes of its members wait."""
    locked = set(people.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    allowed = people_in(Run.objects.get(pk=run.pk)).filter(pk__in=locked)
    return set(allowed.values_list("pk", flat=True))


def changes_of(run: Run) -> QuerySet[BulkChange]:
    """Return the bulk changes of a run, newest first."""
    return run.bulk_changes.select_related("actor", "assigned_to").order_by("-pk")


def _changing(order: BulkOrder) -> QuerySet[Evaluation]:
    """Return the records that a change affects."""
    found = _chosen(order)
    match order.kind:
        case Kind.PRIORITISE:
            return found.exclude(priority=order.priority)
        case Kind.DUE:
            return found.exclude(due_on=order.due_on) if order.due_on else found.exclude(due_on=None)
        case Kind.RELEASE:
            return found.filter(CLAIMED)
        case Kind.SPLIT | Kind.ESCALATE:
            return found.filter(UNCLAIMED)
    if order.assigned_to is None:
        return found.filter(UNCLAIMED, assigned_to__isnull=False)
    theirs = Q(assigned_to=order.assigned_to)
    return found.filter(UNCLAIMED | Q(claimed_by=order.assigned_to)).filter(Q(assigned_to=None) | ~theirs)


def _chosen(order: BulkOrder) -> QuerySet[Evaluation]:
    """Return the selected records, or those that the filters find, which wait in the queue."""
    if order.selected is None:
        found = listing.matching_records(order.run, order.filters, None)
    else:
        found = order.run.evaluations.filter(pk__in=order.selected)
    return found.filter(IN_QUEUE, is_escalated=False)


def _claimed_by_others(order: BulkOrder) -> int:
    """Count the claimed records that a change leaves as they are."""
    if order.kind not in {Kind.ASSIGN, Kind.SPLIT, Kind.ESCALATE}:
        return 0
    claimed = _chosen(order).filter(CLAIMED)
    if order.assigned_to:
        claimed = claimed.exclude(claimed_by=order.assigned_to)
    return claimed[: order.most + 1].count()


def _as_changed(change: BulkChange) -> QuerySet[Evaluation]:
    """Return the records that are still as the change left them."""
    rows = Evaluation.objects.filter(pk__in=_restorable(change).values("evaluation"))
    match change.kind:
        case Kind.ASSIGN:
            return rows.filter(assigned_to=change.assigned_to)
        case Kind.SPLIT:
            return rows.filter(
                Exists(change.items.filter(evaluation=OuterRef("pk"), given_to=OuterRef("assigned_to")))
            )
        case Kind.PRIORITISE:
            return rows.filter(Q(priority=change.priority))
        case Kind.DUE:
            return rows.filter(due_on=change.due_on)
        case Kind.ESCALATE:
            since = Escalation.objects.filter(evaluation=OuterRef("pk"), raised_at__gte=change.at)
            ended = since.exclude(outcome=Escalation.Outcome.OPEN)
            return rows.filter(Exists(since.filter(_escalated_by(change))), ~Exists(ended), UNCLAIMED)
        case _:
            return rows.filter(IN_QUEUE, is_escalated=False, claimed_by=None)


def _escalated_by(change: BulkChange) -> Q:
    """Return the condition on the open escalations that a change has raised."""
    return Q(
        outcome=Escalation.Outcome.OPEN,
        kind=Escalation.Kind.QUESTION,
        raised_by=change.actor_id,
        raised_at__gte=change.at,
    )


def _restorable(change: BulkChange) -> QuerySet[BulkChangeItem]:
    """Return the items without those of people who may no longer see the run."""
    items = change.items.all()
    if change.kind in {Kind.ASSIGN, Kind.SPLIT}:
        allowed = _lock_people(change.run, User.objects.filter(pk__in=items.values("assigned_to")))
        return items.filter(Q(assigned_to=None) | Q(assigned_to__in=allowed))
    if change.kind == Kind.RELEASE:
        allowed = _lock_people(change.run, User.objects.filter(pk__in=items.values("claimed_by")))
        return items.filter(claimed_by__in=allowed)
    return items


_FILE_ORDER = ("first_import", "first_line")


def _locked(rows: QuerySet[Evaluation], most: int) -> list[Evaluation]:
    # Skip locked records: waiting for a record of a running import, which may wait for one of these, would be
    # a deadlock.
    rows = rows.order_by(*_FILE_ORDER).only("task_id", "assigned_to", "priority", "due_on", "claimed_by")
    return list(rows.select_for_update(of=("self",), no_key=True, skip_locked=True)[:most])


def _item(change: BulkChange, evaluation: Evaluation) -> BulkChangeItem:
    return BulkChangeItem(
        change=change,
        evaluation=evaluation,
        assigned_to_id=evaluation.assigned_to_id,
        priority=evaluation.priority,
        due_on=evaluation.due_on,
        claimed_by_id=evaluation.claimed_by_id,
    )


def _record(change: BulkChange, action: str, actor: User, **numbers: Any) -> None:
    events.record(
        f"bulk {action}",
        actor=actor,
        run=change.run,
        change=change.pk,
        query=change.query,
        assigned_to=change.assigned_to.username if change.assigned_to else None,
        priority=change.priority,
        due_on=change.due_on.isoformat() if change.due_on else None,
        **numbers,
    )

"""Change the order of work for many records at once: assignment, priority or release. Scores never change.

Each change stores the previous values of every record, so that it can be undone.
"""

from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from reviews.accounts.permissions import Denied, check, people_in
from reviews.audit import events
from reviews.models import BulkChange, BulkChangeItem, Evaluation, Run, User
from reviews.models.evaluations import CLAIMED, IN_QUEUE, UNCLAIMED
from reviews.queue.claim_columns import clear_claims, restore_claims
from reviews.queue.claims import check_not_archived
from reviews.search import listing
from reviews.search.filters import Filters

MOST_AT_ONCE = 10_000
PRIORITY_FIRST, PRIORITY_NORMAL = 1, 0
Kind = BulkChange.Kind


class UndoRefused(Exception):
    """The change cannot be undone. The reason is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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


class BulkPreview(NamedTuple):
    """The effect of a change."""

    #: None for more than `MOST_AT_ONCE`.
    changes: int | None
    claimed: int


class UndoResult(NamedTuple):
    """The effect of an undo."""

    #: Records restored.
    restored: int
    #: Records that were changed since.
    stayed: int


def preview(order: BulkOrder) -> BulkPreview:
    """Count the records that a change would affect. Raises `listing.TooSlow`."""
    with listing.time_limit():
        changes = _changing(order)[: MOST_AT_ONCE + 1].count()
        claimed = _claimed_by_others(order)[: MOST_AT_ONCE + 1].count() if order.kind == Kind.ASSIGN else 0
    return BulkPreview(changes if changes <= MOST_AT_ONCE else None, claimed)


@transaction.atomic
def apply(order: BulkOrder, actor: User) -> BulkChange:
    """Change at most `MOST_AT_ONCE` records. Records locked by another transaction are skipped.

    Raises `RunArchived`, and `Denied` if they are to be assigned to somebody who may not see the run.
    """
    check(actor, "lead_review")
    check_not_archived(order.run)
    if order.assigned_to and not _lock_people(order.run, User.objects.filter(pk=order.assigned_to.pk)):
        raise Denied(f"{order.assigned_to.name} has no access to this run.")
    change = BulkChange.objects.create(
        run=order.run,
        actor=actor,
        kind=order.kind,
        query=order.filters.query_string,
        assigned_to=order.assigned_to,
        priority=order.priority if order.kind == Kind.PRIORITISE else None,
    )
    items = [_item(change, evaluation) for evaluation in _locked(_changing(order))]
    BulkChangeItem.objects.bulk_create(items, batch_size=1000)
    changed = Evaluation.objects.filter(pk__in=change.items.values("evaluation"))
    if order.kind == Kind.ASSIGN:
        changed.update(assigned_to=order.assigned_to)
    elif order.kind == Kind.PRIORITISE:
        changed.update(priority=order.priority)
    else:
        clear_claims(changed)
    change.evaluations = len(items)
    change.save(update_fields=["evaluations"])
    _record(change, change.kind, actor, evaluations=change.evaluations)
    return change


@transaction.atomic
def undo(*, change_id: int, actor: User) -> UndoResult:
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
    unchanged = [evaluation.pk for evaluation in _locked(_as_changed(change))]
    restored = Evaluation.objects.filter(pk__in=unchanged)
    if change.kind == Kind.ASSIGN:
        restored.update(assigned_to=Subquery(item.values("assigned_to")))
    elif change.kind == Kind.PRIORITISE:
        restored.update(priority=Subquery(item.values("priority")))
    else:
        restore_claims(restored, change.run, claimed_by=Subquery(item.values("claimed_by")))
    change.undone_at = timezone.now()
    change.save(update_fields=["undone_at"])
    outcome = UndoResult(len(unchanged), change.evaluations - len(unchanged))
    _record(change, f"undo {change.kind}", actor, restored=outcome.restored, stayed=outcome.stayed)
    return outcome


def _lock_people(run: Run, people: QuerySet[User]) -> set[int]:
    """Lock people, and return the keys of those who may see the run. Changes of its members wait."""
    locked = set(people.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    allowed = people_in(Run.objects.get(pk=run.pk)).filter(pk__in=locked)
    return set(allowed.values_list("pk", flat=True))


def latest_changes(run: Run) -> QuerySet[BulkChange]:
    """Return the latest changes of a run, newest first."""
    return run.bulk_changes.select_related("actor", "assigned_to").order_by("-pk")[:20]


def _changing(order: BulkOrder) -> QuerySet[Evaluation]:
    """Return the records that a change affects."""
    found = listing.matching_records(order.run, order.filters, None).filter(IN_QUEUE, is_escalated=False)
    if order.kind == Kind.PRIORITISE:
        return found.exclude(priority=order.priority)
    if order.kind == Kind.RELEASE:
        return found.filter(CLAIMED)
    if order.assigned_to is None:
        return found.filter(UNCLAIMED, assigned_to__isnull=False)
    theirs = Q(assigned_to=order.assigned_to)
    return found.filter(UNCLAIMED | Q(claimed_by=order.assigned_to)).filter(Q(assigned_to=None) | ~theirs)


def _claimed_by_others(order: BulkOrder) -> QuerySet[Evaluation]:
    claimed = listing.matching_records(order.run, order.filters, None).filter(
        IN_QUEUE, CLAIMED, is_escalated=False
    )
    return claimed.exclude(claimed_by=order.assigned_to) if order.assigned_to else claimed


def _as_changed(change: BulkChange) -> QuerySet[Evaluation]:
    """Return the records that are still as the change left them."""
    rows = Evaluation.objects.filter(pk__in=_restorable(change).values("evaluation"))
    if change.kind == Kind.ASSIGN:
        return rows.filter(assigned_to=change.assigned_to)
    if change.kind == Kind.PRIORITISE:
        return rows.filter(Q(priority=change.priority))
    return rows.filter(IN_QUEUE, is_escalated=False, claimed_by=None)


def _restorable(change: BulkChange) -> QuerySet[BulkChangeItem]:
    """Return the items without those of people who may no longer see the run."""
    items = change.items.all()
    if change.kind == Kind.ASSIGN:
        allowed = _lock_people(change.run, User.objects.filter(pk__in=items.values("assigned_to")))
        return items.filter(Q(assigned_to=None) | Q(assigned_to__in=allowed))
    if change.kind == Kind.RELEASE:
        allowed = _lock_people(change.run, User.objects.filter(pk__in=items.values("claimed_by")))
        return items.filter(claimed_by__in=allowed)
    return items


def _locked(rows: QuerySet[Evaluation]) -> list[Evaluation]:
    # Skip locked records: waiting for a record of a running import, which may wait for one of these, would be
    # a deadlock.
    rows = rows.order_by("first_import", "first_line").only("assigned_to", "priority", "claimed_by")
    return list(rows.select_for_update(of=("self",), no_key=True, skip_locked=True)[:MOST_AT_ONCE])


def _item(change: BulkChange, evaluation: Evaluation) -> BulkChangeItem:
    return BulkChangeItem(
        change=change,
        evaluation=evaluation,
        assigned_to_id=evaluation.assigned_to_id,
        priority=evaluation.priority,
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
        **numbers,
    )

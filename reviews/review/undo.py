"""Undo a person's last action in a run, whatever it was.

The audit log gives the order of the actions, also after the browser was restarted. The rows that an action
left say whether it was undone already. An action that cannot be undone blocks those before it: Undo says why
and changes nothing.
"""

import datetime as dt
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.utils import timezone

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.models import AuditEvent, Escalation, Evaluation, Review, Run, Skip, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RunArchived
from reviews.review import decisions, escalations

#: How far Undo reaches back.
WINDOW = dt.timedelta(hours=24)

# Audit action -> its past tense before the title of a record.
_DECISIONS = {
    "submit": "submitted",
    "adjudicate": "adjudicated",
    "independent review": "submitted",
    "resolve": "submitted",
    "revise": "revised",
    "restore": "restored a version of",
    "close": "closed",
}
_PUT_OFF = {"skip": "skipped", "release": "released"}
_LASTING = {
    "reopen": "reopened",
    "resolve escalation": "answered the escalation of",
    "resolve conflict": "resolved a conflict on",
}
_VERBS = {**_DECISIONS, **_PUT_OFF, "escalate": "escalated", **_LASTING}
_INSTEAD = {
    "reopen": "Review the record to decide it again.",
    "resolve escalation": "The answer was sent to the reviewer.",
    "resolve conflict": "Revise the record, or restore another version.",
}


@dataclass(frozen=True, slots=True)
class Action:
    event: AuditEvent

    @property
    def record(self) -> Evaluation:
        """The record, without its large columns, as it was when the action was looked up."""
        assert self.event.evaluation
        return self.event.evaluation

    @property
    def is_decision(self) -> bool:
        return self.event.action in _DECISIONS

    @property
    def label(self) -> str:
        """The action in words, such as "skipped Task 7 · o1"."""
        verb = _VERBS[self.event.action]
        if self.event.detail.get("kind") == Escalation.Kind.QUESTION:
            verb = "asked a lead about"
        return f"{verb} {self.record.title}"


@dataclass(frozen=True, slots=True)
class Undone:
    action: Action
    #: The record after it.
    evaluation: Evaluation
    #: Whether the person has claimed the record.
    is_claimed: bool


class UndoRefused(Conflict):
    """The action can no longer be undone."""

    def __init__(self, action: Action, reason: str) -> None:
        super().__init__(f"Can't undo: {action.label}. {reason}")
        self.action = action


def last_action(*, run: Run, actor: User, evaluation: Evaluation | None = None) -> Action | None:
    """Return the person's last action in a run, or on one record of it, that was not undone.

    Returns None if there is none in the last 24 hours. With `evaluation`, this takes one query. For a run, it
    takes two, and one or two more each time the number of actions undone since then doubles from 20.
    """
    events = _events(run, actor)
    since = timezone.now() - WINDOW
    if evaluation:
        event = _remaining(events.filter(evaluation=evaluation)).first()
        return Action(event) if event and event.at > since else None
    size = 20
    while True:
        keys = list(events.filter(at__gt=since).values_list("pk", flat=True)[:size])
        event = _remaining(events.filter(pk__in=keys)).first() if keys else None
        if event or len(keys) < size:
            return Action(event) if event else None
        events, size = events.filter(pk__lt=keys[-1]), 2 * size


@transaction.atomic
def undo(*, run: Run, actor: User, event: int | None = None) -> Undone:
    """Undo the person's last action in a run, or the one with this audit event.

    The person gets the record back with the entries as a draft, if the record is free. Raises `UndoRefused`
    if the action can no longer be undone, and `Conflict` if there is no such action or it was undone before.
    """
    check(actor, "review_evaluation")
    claims.check_not_archived(run)
    # The undos of one person take turns, so that two of them undo two actions.
    User.objects.select_for_update(no_key=True).only("pk").get(pk=actor.pk)
    action = _find(run, actor, event)
    try:
        evaluation = _reverse(action, actor)
    except RunArchived:
        raise
    except Conflict as conflict:
        raise UndoRefused(action, conflict.reason) from conflict
    return Undone(action, evaluation, evaluation.claimed_by_id == actor.pk and evaluation.is_claimed)


def _find(run: Run, actor: User, event: int | None) -> Action:
    if event is None:
        action = last_action(run=run, actor=actor)
        if action is None:
            raise Conflict("You have nothing to undo in this run from the last 24 hours.")
        return action
    found = _remaining(_events(run, actor).filter(pk=event)).first()
    if found is None:
        raise Conflict("This was already undone.")
    return Action(found)


def _events(run: Run, actor: User) -> "QuerySet[AuditEvent]":
    """Return the events of the person's actions on records of a run, the last one first."""
    found = AuditEvent.objects.filter(run=run, actor=actor, action__in=_VERBS).order_by("-pk")
    # Closing a record is a decision with an event of its own.
    return found.exclude(action="resolve escalation", detail__outcome=Escalation.Outcome.CLOSED)


def _remaining(actions: "QuerySet[AuditEvent]") -> "QuerySet[AuditEvent]":
    """Return the actions that were not undone. For few events: it looks up the rows of each."""
    same_record = {"evaluation": OuterRef("evaluation")}
    version = Cast(OuterRef("detail__version"), IntegerField())
    escalation = Cast(OuterRef("detail__escalation"), IntegerField())
    reviews = Review.objects.filter(**same_record, version=version, withdrawal=None)
    skips = Skip.objects.filter(**same_record, reviewer=OuterRef("actor"))
    raised = Escalation.objects.filter(pk=escalation).exclude(outcome=Escalation.Outcome.WITHDRAWN)
    claims_since = AuditEvent.objects.filter(
        **same_record, actor=OuterRef("actor"), action="claim", pk__gt=OuterRef("pk")
    ).order_by()
    remaining = (
        Q(action__in=_LASTING)
        | Q(action__in=_DECISIONS) & Q(Exists(reviews))
        | Q(action="skip") & Q(Exists(skips))
        | Q(action="escalate") & Q(Exists(raised))
        | Q(action="release") & ~Q(Exists(claims_since))
    )
    found = actions.filter(remaining, evaluation__run=F("run")).select_related("evaluation")
    return found.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))


def _reverse(action: Action, actor: User) -> Evaluation:
    """Reverse an action with an audit event. Raises `Conflict` if that is no longer possible."""
    event, record = action.event, action.record
    if event.action in _DECISIONS:
        return decisions.undo(
            review=record.reviews.select_related("reviewer").get(version=event.detail["version"])
        )
    if event.action == "escalate":
        return escalations.withdraw(escalation_id=event.detail["escalation"], actor=actor)
    if event.action in _LASTING:
        raise Conflict(_INSTEAD[event.action])
    if event.detail.get("claimed_by", actor.username) != actor.username:
        raise Conflict(f"The claim was {event.detail['claimed_by']}'s, who can claim the record again.")
    evaluation = claims.claim(evaluation_id=record.pk, reviewer=actor)
    events.record(f"undo {event.action}", actor=actor, evaluation=evaluation)
    return evaluation

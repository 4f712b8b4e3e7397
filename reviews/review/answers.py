"""Show people the answers to their escalations until they have read them."""

from functools import cache
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from reviews.audit import events
from reviews.database.compiled_queries import with_constants
from reviews.database.statements import fetch_all, prepared_statements
from reviews.models import Escalation, User
from reviews.models.runs import in_visible_runs, sees_every_run

_OUTCOMES = (
    Escalation.Outcome.RETURNED,
    Escalation.Outcome.DECIDED,
    Escalation.Outcome.CLOSED,
    Escalation.Outcome.UPHELD,
)
# Answers in the notice.
_SHOWN = 3
#: Questions on My activity.
LISTED = 20
# It stands for the person in the compiled statement.
_PERSON = -1
# Those of the notice and of My activity.
_COLUMNS = (
    *("outcome", "note", "answer", "raised_at", "resolved_at", "run__name"),
    *("evaluation__evaluation_id", "evaluation__task_id", "evaluation__model_id"),
    *("resolved_by__username", "resolved_by__first_name", "resolved_by__last_name"),
)


def unread_answers(person: User) -> list[Escalation]:
    """Return the oldest answers that a person has not read, in runs that they may see."""
    statement, values = _unread_statement(sees_all=sees_every_run(person))
    with prepared_statements():
        keys = [key for (key,) in fetch_all(statement, [person.pk for _ in values])]
    return list(_own(person).filter(pk__in=keys).order_by("pk")) if keys else []


@cache
def _unread_statement(*, sees_all: bool) -> tuple[str, list[Any]]:
    """Return the statement for the keys of unread answers, and its parameters, all of which are `_PERSON`.

    Every page of a reviewer sends it, and compiling it takes longer than all other work on it.
    """
    # An inactive person has no permissions, a superuser has all of them: neither takes a query.
    person = User(pk=_PERSON, is_active=sees_all, is_superuser=sees_all)
    statement, values = unread_keys(person)[:_SHOWN].query.sql_with_params()
    return with_constants(statement, values, parameters=[_PERSON])


def unread_keys(person: User) -> QuerySet[Escalation, int]:
    """Return the keys of the answers that a person has not read, in runs that they may see, oldest first."""
    unread = _own(person).filter(outcome__in=_OUTCOMES, answer_read_at=None)
    return unread.order_by("pk").values_list("pk", flat=True)


def own_questions(person: User) -> QuerySet[Escalation]:
    """Return all records that a person escalated, newest first."""
    return _own(person).order_by("-pk")


@transaction.atomic
def mark_read(*, escalation_id: int, actor: User) -> None:
    """Record that the person who escalated a record has read the answer. Raises `Escalation.DoesNotExist`."""
    escalation = Escalation.objects.select_for_update().get(pk=escalation_id, raised_by=actor)
    if escalation.answer_read_at or escalation.outcome not in _OUTCOMES:
        return
    escalation.answer_read_at = timezone.now()
    escalation.save(update_fields=["answer_read_at"])
    events.record("read answer", actor=actor, evaluation=escalation.evaluation, escalation=escalation.pk)


def _own(person: User) -> QuerySet[Escalation]:
    own = Escalation.objects.filter(in_visible_runs(person), raised_by=person)
    own = own.exclude(kind=Escalation.Kind.DISAGREEMENT)
    return own.select_related("evaluation", "run", "resolved_by").only(*_COLUMNS)

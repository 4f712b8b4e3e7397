"""Verify the audit log in a job, and keep the results for the page of the log."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.audit import events, log
from reviews.audit.hash_chain import ChainVerifier, Head
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import AuditSeal, ChainCheck, User

JOB = "reviews.tasks.check_audit_log"
# The first differences to keep.
KEPT = 100
# An unfinished check that is older was lost with its job.
_LOST_AFTER = dt.timedelta(hours=6)


class ChainStatus(NamedTuple):
    """The state of the audit log for the page."""

    events: int
    #: None for an empty log.
    sealed_at: dt.datetime | None
    #: The last finished check.
    last: ChainCheck | None
    #: A check that waits or runs.
    running: ChainCheck | None


def chain_status() -> ChainStatus:
    """Return the state of the log without reading its events."""
    seal = AuditSeal.objects.select_related("event").order_by("-position").first()
    checks = ChainCheck.objects.select_related("requested_by")
    return ChainStatus(
        seal.position if seal else 0,
        seal.event.at if seal else None,
        checks.filter(finished_at__isnull=False).order_by("-finished_at").first(),
        _running(),
    )


@transaction.atomic
def request_check(*, actor: User | None) -> ChainCheck:
    """Enqueue a check of the whole log, unless one is already waiting or running. Return it."""
    locks.acquire(Lock.CHAIN_CHECK)
    if running := _running():
        return running
    check = ChainCheck.objects.create(requested_by=actor)
    events.record("check requested", actor=actor, check=check.pk)
    jobs.configure_task(JOB).defer(check_id=check.pk)
    return check


def run_check(check_id: int) -> None:
    """Verify the log for a requested check, and record the result."""
    chain = ChainVerifier()
    problems = list(log.verify(chain))
    finish_check(check_id=check_id, head=chain.head, problems=problems)


@transaction.atomic
def finish_check(*, check_id: int, head: Head, problems: Sequence[str]) -> None:
    check = ChainCheck.objects.get(pk=check_id)
    check.finished_at, check.error = timezone.now(), ""
    check.events, check.head = head.position, str(head)
    check.differences, check.problems = len(problems), list(problems[:KEPT])
    check.save()
    events.record(
        "log checked",
        actor=check.requested_by,
        check=check.pk,
        events=check.events,
        head=check.head,
        differences=check.differences,
    )


@transaction.atomic
def fail_check(*, check_id: int, error: str) -> None:
    check = ChainCheck.objects.get(pk=check_id)
    check.finished_at, check.error = timezone.now(), error
    check.save()
    events.record("log check failed", actor=check.requested_by, check=check.pk, error=error)


def _running() -> ChainCheck | None:
    recent = ChainCheck.objects.filter(finished_at=None, created_at__gt=timezone.now() - _LOST_AFTER)
    return recent.order_by("-pk").first()

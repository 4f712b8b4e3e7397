"""Notify webhooks when a run is reviewed, and retry each message for a day.

A run is reviewed when its queue has become empty: nothing is waiting, claimed or escalated. Triggers record
in `QueueFilled` that a queue was filled, in the same transaction. A job finds filled runs with an empty
queue, and deletes their rows together with creating the messages. Emptying a queue therefore costs nothing,
is notified once, and survives the death of a worker.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.accounts.encryption import cipher
from reviews.audit import events as audit_events
from reviews.models import AuditEvent, Run, User, Webhook, WebhookAttempt, WebhookDelivery
from reviews.queue import progress
from reviews.queue.progress import Progress
from reviews.records.status import QUEUE_STATUSES
from reviews.webhooks import allowlist, sender
from reviews.webhooks.sender import DeliveryResult

JOB = "reviews.tasks.deliver_message"
REVIEWED, TEST = "run.reviewed", "test"
SHOWN = 50
# The arguments of `encryption.cipher` for the secrets of webhooks.
PURPOSE = ("reviews.webhooks.deliveries", "secret")
# The pauses after failed attempts: ten attempts in a day.
PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 8, 8)),
)
State = WebhookDelivery.State

# One statement, and so one snapshot: a queue that is filled concurrently leaves a row that this does not see.
# If two run at once, the second finds the rows deleted.
_TAKE_FILLED = """
    WITH reviewed AS (
        SELECT run_id FROM (SELECT DISTINCT run_id FROM queue_filled) filled
        WHERE 0 = (
            SELECT coalesce(sum(evaluations), 0) FROM run_count
            WHERE run_count.run_id = filled.run_id AND status = ANY(%s)
        )
    ), taken AS (
        DELETE FROM queue_filled USING reviewed
        WHERE queue_filled.run_id = reviewed.run_id RETURNING queue_filled.run_id
    )
    SELECT DISTINCT run_id FROM taken
"""
# The events that take records out of a queue.
_EMPTYING = ("submit", "resolve", "close", "resolve conflict", "draw sample", "import")


class NewWebhook(NamedTuple):
    """A new webhook and its secret, which is shown once."""

    webhook: Webhook
    secret: str


@transaction.atomic
def add_webhook(*, url: str, run: Run | None, actor: User) -> NewWebhook:
    """Add a webhook for a run, or for every run. Raises `TargetNotAllowed`."""
    target = allowlist.parse_target(url)
    secret = sender.new_secret()
    sealed = cipher(*PURPOSE).encrypt(secret.encode()).decode()
    webhook = Webhook.objects.create(url=url, run=run, secret=sealed, created_by=actor)
    # Not the whole URL: its path may be a secret.
    audit_events.record("webhook added", actor=actor, run=run, webhook=webhook.pk, host=target.host)
    return NewWebhook(webhook, secret)


@transaction.atomic
def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Remove a webhook and give up its waiting deliveries. Its past deliveries stay."""
    if active_webhooks().filter(pk=webhook.pk).update(removed_at=timezone.now()):
        waiting = webhook.deliveries.filter(state=State.WAITING)
        waiting.update(state=State.GIVEN_UP, next_attempt_at=None)
        audit_events.record("webhook removed", actor=actor, run=webhook.run, webhook=webhook.pk)


@transaction.atomic
def send_test(*, webhook: Webhook, actor: User) -> WebhookDelivery:
    """Enqueue a test message."""
    delivery = _enqueue(webhook, TEST, webhook.run, {"run": webhook.run.name if webhook.run else None})
    audit_events.record("webhook tested", actor=actor, run=webhook.run, webhook=webhook.pk)
    return delivery


@transaction.atomic
def notify_reviewed_runs() -> int:
    """Enqueue messages about runs that have been reviewed. Return the number of messages."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_FILLED, [list(QUEUE_STATUSES)])
        keys = [pk for (pk,) in cursor.fetchall()]
    if not keys or not allowlist.is_enabled():
        return 0
    runs = Run.objects.filter(pk__in=keys, deletion_requested_at=None)
    return sum(len(_notify(run)) for run in runs)


def _notify(run: Run) -> list[WebhookDelivery]:
    webhooks = list(active_webhooks().filter(Q(run=None) | Q(run=run)))
    if not webhooks:
        return []
    counted = dict(zip(Progress._fields, progress.run_progress(run), strict=True))
    data = {"run": run.name, "counts": counted, "completed_at": _stamp(_emptied_at(run))}
    return [_enqueue(webhook, REVIEWED, run, data) for webhook in webhooks]


def _emptied_at(run: Run) -> datetime:
    """Return when the last record left the queue."""
    events = AuditEvent.objects.filter(run=run, action__in=_EMPTYING).order_by("-pk")
    return events.values_list("at", flat=True).first() or timezone.now()


def _enqueue(webhook: Webhook, event: str, run: Run | None, data: dict[str, Any]) -> WebhookDelivery:
    now = timezone.now()
    delivery = WebhookDelivery.objects.create(
        webhook=webhook,
        message_id=f"msg_{uuid.uuid4().hex}",
        event=event,
        run=run,
        body=orjson.dumps({"type": event, "timestamp": _stamp(now), "data": data}).decode(),
        next_attempt_at=now,
    )
    jobs.configure_task(JOB).defer(delivery_id=delivery.pk, attempt=1)
    return delivery


def attempt_delivery(delivery_id: int, attempt: int) -> None:
    """Attempt a delivery. A recorded attempt is not repeated. The delivery may be deleted with its run."""
    delivery = WebhookDelivery.objects.select_related("webhook").filter(pk=delivery_id).first()
    if delivery and delivery.state == State.WAITING and _made(delivery) == attempt - 1:
        _record_attempt(delivery_id, attempt, _attempt(delivery))


def _attempt(delivery: WebhookDelivery) -> DeliveryResult:
    try:
        secret = cipher(*PURPOSE).decrypt(delivery.webhook.secret.encode()).decode()
    except InvalidToken:
        return DeliveryResult(
            None, "The secret cannot be decrypted: the site's secret key has changed. Add the webhook again."
        )
    return sender.send_message(
        delivery.webhook.url,
        message_id=delivery.message_id,
        timestamp=int(timezone.now().timestamp()),
        body=delivery.body.encode(),
        secret=secret,
    )


@transaction.atomic
def _record_attempt(delivery_id: int, attempt: int, answer: DeliveryResult) -> None:
    """Record the result of an attempt, and enqueue the next attempt if it failed."""
    delivery = WebhookDelivery.objects.select_for_update().filter(pk=delivery_id).first()
    if delivery is None or _made(delivery) != attempt - 1:
        return
    WebhookAttempt.objects.create(
        delivery=delivery, number=attempt, status=answer.status, reason=answer.reason[:300]
    )
    if delivery.state != State.WAITING:  # the webhook was removed concurrently
        return
    pause = PAUSES[attempt - 1] if attempt <= len(PAUSES) else None
    delivery.next_attempt_at = None
    if answer.is_taken:
        delivery.state = State.DELIVERED
    elif pause is None:
        delivery.state = State.GIVEN_UP
    else:
        delivery.next_attempt_at = timezone.now() + pause
        again = jobs.configure_task(JOB, schedule_at=delivery.next_attempt_at)
        again.defer(delivery_id=delivery.pk, attempt=attempt + 1)
    delivery.save(update_fields=["state", "next_attempt_at"])


def _made(delivery: WebhookDelivery) -> int:
    return delivery.attempts.count()


def remove_old_messages() -> None:
    """Remove finished messages older than `KEEP_MESSAGES`, with their attempts."""
    over = WebhookDelivery.objects.exclude(state=State.WAITING)
    over.filter(created_at__lt=timezone.now() - settings.KEEP_MESSAGES).delete()


def active_webhooks() -> QuerySet[Webhook]:
    """Return the webhooks that were not removed, newest first, with their runs and authors."""
    return Webhook.objects.filter(removed_at=None).select_related("run", "created_by").order_by("-pk")


def latest_deliveries(webhooks: Iterable[Webhook]) -> dict[int, WebhookDelivery]:
    """Return the newest delivery of each webhook, by the webhook's key."""
    newest = WebhookDelivery.objects.filter(webhook__in=webhooks).order_by("webhook", "-pk")
    return {delivery.webhook_id: delivery for delivery in newest.distinct("webhook")}


def webhook_deliveries(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """Return the last `SHOWN` deliveries of a webhook, newest first, each with its attempts in order."""
    attempts = Prefetch("attempts", WebhookAttempt.objects.order_by("number"))
    return webhook.deliveries.select_related("run").prefetch_related(attempts).order_by("-pk")[:SHOWN]


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

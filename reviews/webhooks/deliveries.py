"""Webhooks: addresses that are told when a run is reviewed, each by messages that are tried for a day.

A run is reviewed when its queue has become empty: nothing waits, is held or is with a lead. Triggers note
whatever fills a queue (`QueueFilled`), in the transaction that does; a job looks for runs of which that is
noted and whose queue is empty, and takes the note away with making the messages. So emptying a queue costs
nothing, whichever way it goes, each time it is emptied is told once, and a worker that dies loses none.
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
# The arguments of `ciphers.cipher` for the secrets of webhooks.
PURPOSE = ("reviews.webhooks.deliveries", "secret")
# After an attempt that failed, the pause before the next one: ten attempts in a day.
PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 8, 8)),
)
# How long what became of a message can be looked at.
State = WebhookDelivery.State

# One statement, and so one moment: who fills a queue meanwhile leaves a note that this does not see. Of two
# that run at once the second finds the rows of the first gone.
_TAKE_NOTES = """
    WITH reviewed AS (
        SELECT run_id FROM (SELECT DISTINCT run_id FROM queue_filled) noted
        WHERE 0 = (
            SELECT coalesce(sum(evaluations), 0) FROM run_count
            WHERE run_count.run_id = noted.run_id AND status = ANY(%s)
        )
    ), taken AS (
        DELETE FROM queue_filled USING reviewed
        WHERE queue_filled.run_id = reviewed.run_id RETURNING queue_filled.run_id
    )
    SELECT DISTINCT run_id FROM taken
"""
# What takes records out of a queue, by the events that tell of it.
_EMPTYING = ("submit", "resolve", "close", "settle conflict", "draw sample", "import")


class NewWebhook(NamedTuple):
    """A new webhook and its secret, which is shown once."""

    webhook: Webhook
    secret: str


@transaction.atomic
def add_webhook(*, url: str, run: Run | None, actor: User) -> NewWebhook:
    """Have an address told of a run, or of each. Raises `webhook_targets.NotAllowed`."""
    target = allowlist.parse_target(url)
    secret = sender.new_secret()
    sealed = cipher(*PURPOSE).encrypt(secret.encode()).decode()
    webhook = Webhook.objects.create(url=url, run=run, secret=sealed, created_by=actor)
    # Not the whole URL: what follows the host may be known to few.
    audit_events.record("webhook added", actor=actor, run=run, webhook=webhook.pk, host=target.host)
    return NewWebhook(webhook, secret)


@transaction.atomic
def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Send nothing more to a webhook. What it was sent stays; one that is removed is left alone."""
    if active_webhooks().filter(pk=webhook.pk).update(removed_at=timezone.now()):
        waiting = webhook.deliveries.filter(state=State.WAITING)
        waiting.update(state=State.GIVEN_UP, next_attempt_at=None)
        audit_events.record("webhook removed", actor=actor, run=webhook.run, webhook=webhook.pk)


@transaction.atomic
def send_test(*, webhook: Webhook, actor: User) -> WebhookDelivery:
    """Send a message that tells nothing, to see whether it arrives."""
    delivery = _enqueue(webhook, TEST, webhook.run, {"run": webhook.run.name if webhook.run else None})
    audit_events.record("webhook tested", actor=actor, run=webhook.run, webhook=webhook.pk)
    return delivery


@transaction.atomic
def notify_reviewed_runs() -> int:
    """Make the messages about runs that have become reviewed; returns how many messages."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_NOTES, [list(QUEUE_STATUSES)])
        keys = [pk for (pk,) in cursor.fetchall()]
    if not keys or not allowlist.is_enabled():
        return 0
    runs = Run.objects.filter(pk__in=keys)
    return sum(len(_tell(run)) for run in runs)


def _tell(run: Run) -> list[WebhookDelivery]:
    told = list(active_webhooks().filter(Q(run=None) | Q(run=run)))
    if not told:
        return []
    counted = dict(zip(Progress._fields, progress.run_progress(run), strict=True))
    data = {"run": run.name, "counts": counted, "completed_at": _stamp(_emptied_at(run))}
    return [_enqueue(webhook, REVIEWED, run, data) for webhook in told]


def _emptied_at(run: Run) -> datetime:
    """When the last record left the queue."""
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
    """Make an attempt: the work of the job. One that was made, and noted, is not made again."""
    delivery = WebhookDelivery.objects.select_related("webhook").get(pk=delivery_id)
    if delivery.state == State.WAITING and _made(delivery) == attempt - 1:
        _note(delivery_id, attempt, _attempt(delivery))


def _attempt(delivery: WebhookDelivery) -> DeliveryResult:
    try:
        secret = cipher(*PURPOSE).decrypt(delivery.webhook.secret.encode()).decode()
    except InvalidToken:
        return DeliveryResult(
            None, "Its secret cannot be read: the site's secret key is another by now. Add it anew."
        )
    return sender.send_message(
        delivery.webhook.url,
        message_id=delivery.message_id,
        timestamp=int(timezone.now().timestamp()),
        body=delivery.body.encode(),
        secret=secret,
    )


@transaction.atomic
def _note(delivery_id: int, attempt: int, answer: DeliveryResult) -> None:
    """Keep what came of an attempt, and enqueue the next one with it if there is to be one."""
    delivery = WebhookDelivery.objects.select_for_update().get(pk=delivery_id)
    if _made(delivery) != attempt - 1:
        return
    WebhookAttempt.objects.create(
        delivery=delivery, number=attempt, status=answer.status, reason=answer.reason[:300]
    )
    if delivery.state != State.WAITING:  # its webhook was removed meanwhile
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
    """Remove the messages that are over and were made more than `KEEP_MESSAGES` ago, with their attempts."""
    over = WebhookDelivery.objects.exclude(state=State.WAITING)
    over.filter(created_at__lt=timezone.now() - settings.KEEP_MESSAGES).delete()


def active_webhooks() -> QuerySet[Webhook]:
    """The webhooks that are not removed, the newest first, with their runs and who added them."""
    return Webhook.objects.filter(removed_at=None).select_related("run", "created_by").order_by("-pk")


def latest_deliveries(webhooks: Iterable[Webhook]) -> dict[int, WebhookDelivery]:
    """The newest delivery of each of these webhooks, by the webhook's key."""
    newest = WebhookDelivery.objects.filter(webhook__in=webhooks).order_by("webhook", "-pk")
    return {delivery.webhook_id: delivery for delivery in newest.distinct("webhook")}


def webhook_deliveries(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """The last deliveries of a webhook, the newest first, each with its attempts in order."""
    attempts = Prefetch("attempts", WebhookAttempt.objects.order_by("number"))
    return webhook.deliveries.select_related("run").prefetch_related(attempts).order_by("-pk")[:SHOWN]


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

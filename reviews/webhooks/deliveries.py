"""Notify webhooks of events, and retry each message for a day.

A run is reviewed when its queue has become empty: nothing is waiting, claimed or escalated. Triggers record
in `QueueFilled` that a queue was filled, in the same transaction. A job finds filled runs with an empty
queue, and deletes their rows together with creating the messages. Emptying a queue therefore costs nothing,
is notified once, and survives the death of a worker.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.audit import events as audit_events
from reviews.database.statements import fetch_all
from reviews.models import AuditEvent, Run, User, Webhook, WebhookAttempt, WebhookDelivery
from reviews.queue import progress
from reviews.queue.progress import Progress
from reviews.records.status import QUEUE_STATUSES
from reviews.webhooks import allowlist, sender, signing_secrets
from reviews.webhooks.sender import DeliveryResult

JOB = "reviews.tasks.deliver_message"
REVIEWED, TEST = "run.reviewed", "test"
# The pauses after failed attempts: ten attempts in a day.
PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 8, 8)),
)
# After all other jobs, whose priority is 0: imports must not wait for many messages to a slow receiver.
_PRIORITY = -1
# So many attempts run at once, fewer than a worker's jobs: slow receivers leave room for imports and exports.
MOST_AT_ONCE = 2
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
_EMPTYING = ("submit", "adjudicate", "resolve", "close", "resolve conflict", "draw sample", "import")


class NewWebhook(NamedTuple):
    """A new webhook and its secret, which is shown once."""

    webhook: Webhook
    secret: str


@transaction.atomic
def add_webhook(*, url: str, run: Run | None, actor: User, events: Sequence[str] = (REVIEWED,)) -> NewWebhook:
    """Add a webhook for events of a run, or of every run. Raises `TargetNotAllowed`."""
    target = allowlist.parse_target(url)
    webhook = Webhook.objects.create(url=url, run=run, events=list(events), created_by=actor)
    secret = signing_secrets.create(webhook=webhook, actor=actor).text
    # Not the whole URL: its path may be a secret.
    audit_events.record(
        "webhook added",
        actor=actor,
        run=run,
        webhook=webhook.pk,
        host=target.host,
        before=None,
        after={"events": webhook.events},
    )
    return NewWebhook(webhook, secret)


@transaction.atomic
def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Remove a webhook and its secrets, and give up its waiting deliveries. Its past deliveries stay."""
    if active_webhooks().filter(pk=webhook.pk).update(removed_at=timezone.now()):
        webhook.secrets.all().delete()
        waiting = webhook.deliveries.filter(state=State.WAITING)
        waiting.update(state=State.GIVEN_UP, next_attempt_at=None, dismissed_at=timezone.now())
        audit_events.record(
            "webhook removed",
            actor=actor,
            run=webhook.run,
            webhook=webhook.pk,
            host=urlsplit(webhook.url).hostname,
            before={"events": webhook.events},
            after=None,
        )


@transaction.atomic
def send_test(*, webhook: Webhook, actor: User) -> WebhookDelivery:
    delivery = _enqueue(webhook, TEST, webhook.run, {"run": webhook.run.name if webhook.run else None})
    audit_events.record("webhook tested", actor=actor, run=webhook.run, webhook=webhook.pk)
    return delivery


@transaction.atomic
def notify_reviewed_runs() -> int:
    """Enqueue messages about runs that have been reviewed. Return the number of messages."""
    keys = [pk for (pk,) in fetch_all(_TAKE_FILLED, [list(QUEUE_STATUSES)])]
    runs = Run.objects.filter(pk__in=keys, deletion_requested_at=None) if keys else Run.objects.none()
    return sum(len(_notify(run)) for run in runs)


def _notify(run: Run) -> list[WebhookDelivery]:
    # People are notified by this event: see `notifications.audit_walk`.
    audit_events.record("run reviewed", actor=None, run=run)
    if not _webhooks_for(REVIEWED, run):
        return []
    counted = dict(zip(Progress._fields, progress.run_progress(run), strict=True))
    data = {"run": run.name, "counts": counted, "completed_at": _stamp(_emptied_at(run))}
    return enqueue_event(REVIEWED, run, data)


def enqueue_event(event: str, run: Run | None, data: dict[str, Any]) -> list[WebhookDelivery]:
    """Enqueue messages for the webhooks that are called about an event, in the caller's transaction."""
    return [_enqueue(webhook, event, run, data) for webhook in _webhooks_for(event, run)]


def has_webhooks() -> bool:
    """Return whether any webhook is called."""
    return allowlist.is_enabled() and active_webhooks().exists()


def _webhooks_for(event: str, run: Run | None) -> list[Webhook]:
    if not allowlist.is_enabled():
        return []
    wanted = active_webhooks().filter(events__contains=[event])
    return list(wanted.filter(Q(run=None) | Q(run=run) if run else Q(run=None)))


def _emptied_at(run: Run) -> datetime:
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
    _enqueue_attempt(delivery, 1)
    return delivery


def _enqueue_attempt(delivery: WebhookDelivery, attempt: int, *, at: datetime | None = None) -> None:
    """Enqueue an attempt. Jobs with the same lock run one after the other.

    A job for later has no lock, because others would wait for its time. `take_turn` enqueues it again when it
    is due.
    """
    lock = None if at else f"webhooks {delivery.webhook_id % MOST_AT_ONCE}"
    job = jobs.configure_task(JOB, schedule_at=at, priority=_PRIORITY, lock=lock)
    job.defer(delivery_id=delivery.pk, attempt=attempt)


def take_turn(delivery_id: int, attempt: int) -> None:
    """Enqueue an attempt that is due behind the others."""
    if delivery := WebhookDelivery.objects.filter(pk=delivery_id).first():
        _enqueue_attempt(delivery, attempt)


def attempt_delivery(delivery_id: int, attempt: int) -> None:
    """Attempt a delivery, unless this attempt is recorded or the delivery was deleted with its run."""
    delivery = WebhookDelivery.objects.select_related("webhook").filter(pk=delivery_id).first()
    if delivery and delivery.state == State.WAITING and _made(delivery) == attempt - 1:
        _record_attempt(delivery_id, attempt, _attempt(delivery))


def _attempt(delivery: WebhookDelivery) -> DeliveryResult:
    secrets = signing_secrets.readable(delivery.webhook)
    if not secrets:
        return DeliveryResult(
            None,
            "No secret can be decrypted: the site's secret key has changed. Add a secret to the webhook.",
        )
    return sender.send_message(
        delivery.webhook.url,
        message_id=delivery.message_id,
        timestamp=int(timezone.now().timestamp()),
        body=delivery.body.encode(),
        signed_with=secrets,
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
        _enqueue_attempt(delivery, attempt + 1, at=delivery.next_attempt_at)
    delivery.save(update_fields=["state", "next_attempt_at"])


def _made(delivery: WebhookDelivery) -> int:
    return delivery.attempts.count()


@transaction.atomic
def retry(*, delivery_id: int, actor: User, is_delivered_too: bool = False) -> bool:
    """Send a message again that was given up, or also one that was delivered, with the same id.

    Return False for any other, and for a removed webhook.
    """
    states = {State.GIVEN_UP, State.DELIVERED} if is_delivered_too else {State.GIVEN_UP}
    delivery = _locked(delivery_id)
    if delivery is None or delivery.state not in states or delivery.webhook.removed_at:
        return False
    delivery.state, delivery.next_attempt_at, delivery.dismissed_at = State.WAITING, timezone.now(), None
    delivery.save(update_fields=["state", "next_attempt_at", "dismissed_at"])
    _enqueue_attempt(delivery, _made(delivery) + 1)
    audit_events.record("message retried", actor=actor, run=delivery.run, webhook=delivery.webhook_id)
    return True


@transaction.atomic
def give_up(*, delivery_id: int, actor: User) -> bool:
    """Give up a waiting delivery. Return False for any other."""
    delivery = _locked(delivery_id)
    if delivery is None or delivery.state != State.WAITING:
        return False
    delivery.state, delivery.next_attempt_at, delivery.dismissed_at = State.GIVEN_UP, None, timezone.now()
    delivery.save(update_fields=["state", "next_attempt_at", "dismissed_at"])
    audit_events.record("message given up", actor=actor, run=delivery.run, webhook=delivery.webhook_id)
    return True


def failed_deliveries() -> QuerySet[WebhookDelivery]:
    """Return the deliveries that failed for good, and that nobody dismissed."""
    return WebhookDelivery.objects.filter(state=State.GIVEN_UP, dismissed_at=None)


@transaction.atomic
def retry_failed(*, webhook: Webhook, actor: User) -> None:
    for pk in failed_deliveries().filter(webhook=webhook).order_by("pk").values_list("pk", flat=True):
        retry(delivery_id=pk, actor=actor)


@transaction.atomic
def dismiss_failed(*, webhook: Webhook, actor: User) -> None:
    """Take the failed deliveries of a webhook out of the inbox."""
    count = failed_deliveries().filter(webhook=webhook).update(dismissed_at=timezone.now())
    audit_events.record("dismiss failure", actor=actor, run=webhook.run, webhook=webhook.pk, messages=count)


def _locked(delivery_id: int) -> WebhookDelivery | None:
    locked = WebhookDelivery.objects.select_for_update(of=["self"]).select_related("webhook", "run")
    return locked.filter(pk=delivery_id).first()


def remove_old_messages() -> None:
    """Remove finished messages older than `KEEP_MESSAGES`, with their attempts."""
    over = WebhookDelivery.objects.exclude(state=State.WAITING)
    over.filter(created_at__lt=timezone.now() - settings.KEEP_MESSAGES).delete()


def active_webhooks() -> QuerySet[Webhook]:
    """Return the webhooks that were not removed, newest first, with their runs and authors."""
    return Webhook.objects.filter(removed_at=None).select_related("run", "created_by").order_by("-pk")


def latest_deliveries(webhooks: Iterable[Webhook]) -> dict[int, WebhookDelivery]:
    newest = WebhookDelivery.objects.filter(webhook__in=webhooks).order_by("webhook", "-pk")
    return {delivery.webhook_id: delivery for delivery in newest.distinct("webhook")}


def webhook_deliveries(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """Return the deliveries of a webhook, newest first, each with its attempts in order."""
    attempts = Prefetch("attempts", WebhookAttempt.objects.order_by("number"))
    return webhook.deliveries.select_related("run").prefetch_related(attempts).order_by("-pk")


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

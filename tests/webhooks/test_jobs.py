"""Jobs of webhooks: when they run, and that a slow receiver delays no other."""

import json

import pytest
from django.conf import settings
from django.utils import timezone
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews import tasks
from reviews.database.statements import execute, fetch_one, fetch_value
from reviews.models import User, WebhookAttempt, WebhookDelivery
from reviews.webhooks import deliveries
from reviews.webhooks.deliveries import REVIEWED
from tests.support.factories import EvaluationFactory
from tests.support.jobs import work
from tests.support.receiver import Receiver
from tests.support.work import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def broken_off(*_: object, **__: object) -> None:
    raise ZeroDivisionError("a bug")


def test_webhook_jobs_notify_and_deliver(made: deliveries.NewWebhook, there: Receiver, ana: User) -> None:
    decide(EvaluationFactory.create(), ana)
    app.configure_task(tasks.notify_reviewed_runs.name).defer(timestamp=0)
    work()
    assert [json.loads(received.body)["type"] for received in there.received] == [REVIEWED]
    assert WebhookDelivery.objects.get().state == "delivered"


def test_webhook_jobs_retry_when_due(made: deliveries.NewWebhook, there: Receiver, max: User) -> None:
    there.statuses = [500, 200]
    sent = deliveries.send_test(webhook=made.webhook, actor=max)
    work()
    assert [attempt.status for attempt in sent.attempts.all()] == [500]
    work(has_periodic_jobs=True)
    assert len(there.received) == 1
    execute("UPDATE procrastinate_jobs SET scheduled_at = now()")
    work()
    sent.refresh_from_db()
    assert (sent.state, len(there.received)) == ("delivered", 2)


def test_message_that_waits_for_its_next_attempt_delays_no_other(
    made: deliveries.NewWebhook, there: Receiver, max: User
) -> None:
    there.statuses = [500, 200]
    for _ in range(2):
        deliveries.send_test(webhook=made.webhook, actor=max)
    work()
    states = WebhookDelivery.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["waiting", "delivered"]


@pytest.mark.parametrize("attempts", ["first", "retried"])
def test_slow_receivers_leave_jobs_of_the_worker_to_others(
    attempts: str, made: deliveries.NewWebhook, there: Receiver, max: User
) -> None:
    others = [deliveries.add_webhook(url=there.url, run=None, actor=max) for _ in range(3)]
    for one in (made, *others):
        deliveries.send_test(webhook=one.webhook, actor=max)
    if attempts == "retried":
        there.statuses = [500]
        work()
        execute("UPDATE procrastinate_jobs SET scheduled_at = now()")
        with pytest.MonkeyPatch.context() as patch:
            # The worker only lets them take their turns.
            patch.setattr(deliveries, "attempt_delivery", broken_off)
            work()
        execute("UPDATE procrastinate_jobs SET scheduled_at = NULL, status = 'todo'")
    started = [fetch_value("SELECT id FROM procrastinate_fetch_job_v2(NULL, NULL)") for _ in range(4)]
    assert len([job for job in started if job]) == deliveries.MOST_AT_ONCE
    assert settings.PROCRASTINATE_WORKER_DEFAULTS["concurrency"] == deliveries.MOST_AT_ONCE + 2


def test_webhook_jobs_run_after_other_jobs(made: deliveries.NewWebhook, there: Receiver, max: User) -> None:
    there.statuses = [500]
    deliveries.send_test(webhook=made.webhook, actor=max)
    work()
    deliveries.send_test(webhook=made.webhook, actor=max)
    app.configure_task(tasks.notify_reviewed_runs.name).defer(timestamp=0)
    retried, new, other = ProcrastinateJob.objects.filter(status="todo").order_by("pk")
    assert (retried.priority, new.priority, other.priority) == (-1, -1, 0)
    assert fetch_value("SELECT id FROM procrastinate_fetch_job_v2(NULL, NULL)") == other.pk


def test_webhook_job_of_a_dead_worker_is_retried(
    made: deliveries.NewWebhook, there: Receiver, max: User
) -> None:
    sent = deliveries.send_test(webhook=made.webhook, actor=max)
    [dead] = fetch_one(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
    ) or [0]
    execute(
        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s WHERE task_name = %s",
        [dead, deliveries.JOB],
    )
    app.configure_task(tasks.retry_stalled_jobs.name).defer(timestamp=0)
    work()
    sent.refresh_from_db()
    assert (sent.state, len(there.received)) == ("delivered", 1)


def test_webhook_job_that_cannot_record_its_result_is_retried(
    made: deliveries.NewWebhook, there: Receiver, max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = deliveries.send_test(webhook=made.webhook, actor=max)
    with monkeypatch.context() as broken:
        broken.setattr(WebhookAttempt.objects, "create", broken_off)
        work()
    sent.refresh_from_db()
    assert (sent.state, sent.attempts.count()) == ("waiting", 0)
    job = ProcrastinateJob.objects.get(task_name=deliveries.JOB)
    assert (job.status, job.args) == ("todo", {"delivery_id": sent.pk, "attempt": 1})
    assert job.scheduled_at
    assert job.scheduled_at > timezone.now()

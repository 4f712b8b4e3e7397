"""A run that is reviewed is told of: once each time, however its queue was emptied, and until it is heard."""

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

from cognireview.environment import BASE_DIR
from reviews import tasks
from reviews.imports import importer
from reviews.models import (
    AuditEvent,
    Evaluation,
    FileConflict,
    QueueFilled,
    Run,
    User,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
)
from reviews.queue import progress
from reviews.review import decisions, escalations
from reviews.sampling import draws
from reviews.webhooks import deliveries, sender
from reviews.webhooks.deliveries import PAUSES, REVIEWED
from tests.support import receiver
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import bring_in, file_of, line
from tests.support.receiver import Received, Receiver
from tests.support.threads import together
from tests.support.work import agree, decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def there(settings: LazySettings) -> Iterator[Receiver]:
    with receiver.running() as running:
        settings.WEBHOOK_HOSTS = [running.host]
        yield running


@pytest.fixture
def made(there: Receiver, max: User) -> deliveries.NewWebhook:
    """The receiver is told of every run."""
    return deliveries.add_webhook(url=there.url, run=None, actor=max)


def told() -> list[str]:
    """The runs of the messages that a look makes."""
    before = set(WebhookDelivery.objects.values_list("pk", flat=True))
    deliveries.notify_reviewed_runs()
    new = WebhookDelivery.objects.exclude(pk__in=before).select_related("run").order_by("run__name")
    return [delivery.run.name for delivery in new if delivery.run]


def broken_off(*_: object, **__: object) -> None:
    raise ZeroDivisionError("a bug")


def fresh(record: Evaluation) -> Evaluation:
    return Evaluation.objects.get(pk=record.pk)


class TestARunIsTold:
    @pytest.fixture(autouse=True)
    def _webhook(self, made: deliveries.NewWebhook) -> None:
        """Somebody listens."""

    @pytest.fixture
    def run(self) -> Run:
        return RunFactory.create(name="nightly")

    def test_when_its_last_record_is_decided_and_not_again(self, run: Run, ana: User) -> None:
        first, last = (EvaluationFactory.create(run=run) for _ in range(2))
        decide(first, ana)
        assert told() == []
        review = decide(last, ana)
        assert told() == ["nightly"]
        assert told() == []
        body = json.loads(WebhookDelivery.objects.get().body)
        counted = {"total": 2, "waiting": 0, "claimed": 0, "escalated": 0, "done": 2, "not_required": 0}
        completed = AuditEvent.objects.get(action="submit", evaluation=review.evaluation).at
        assert body["type"] == "run.reviewed"
        assert body["data"] == {
            "run": "nightly",
            "counts": counted,
            "completed_at": f"{completed:%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body["timestamp"])

    def test_of_its_own_end_alone(self, run: Run, ana: User) -> None:
        decide(EvaluationFactory.create(run=run), ana)
        EvaluationFactory.create(run=RunFactory.create(name="daily"))
        assert told() == ["nightly"]

    def test_not_while_a_record_is_held_or_with_a_lead(self, run: Run, ana: User, lea: User) -> None:
        record = EvaluationFactory.create(run=run)
        asked: dict[str, Any] = {"kind": "question", "reason": "question", "note": ""}
        raised = escalations.escalate(evaluation_id=record.pk, reviewer=ana, **asked)
        assert told() == []
        escalations.settle(escalation_id=raised.pk, actor=lea, outcome="closed", answer="Nobody can.")
        assert told() == ["nightly"]

    def test_when_independent_reviews_resolve_the_last_one(self, run: Run, ana: User, bo: User) -> None:
        record = EvaluationFactory.create(run=run)
        Run.objects.update(overlap_share=1)
        decide(record, ana)
        assert told() == []
        decide(fresh(record), bo)
        assert told() == ["nightly"]

    def test_when_a_lead_settles_a_conflict_for_a_file_that_decided(
        self, run: Run, ana: User, lea: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        decided = decide(record, ana)
        decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
        conflict = FileConflict.objects.create(
            evaluation=record,
            run=run,
            source=record.first_import,
            line=1,
            content_hash=b"",
            human=decided.evaluation.human | {"human_review_status": "Reviewed"},
        )
        version = fresh(record).version
        decisions.settle_conflict(conflict_id=conflict.pk, version=version, theirs=True, actor=lea)
        assert told() == ["nightly"]

    @pytest.mark.parametrize("end", ["confirmed", "put back"])
    def test_when_what_was_drawn_is_confirmed_or_put_back(self, end: str, ana: User) -> None:
        unflagged = {"needs_human_review": False, "human_review_status": "Not Required"}
        bring_in(file_of(*(line(f"eval_{number}", **unflagged) for number in range(4))), run="nightly")
        run = Run.objects.get()
        assert told() == []
        Run.objects.update(sample_share=0.5)
        draws.draw_sample(run.pk)
        assert told() == []
        if end == "confirmed":
            for record in Evaluation.objects.filter(is_sampled=True):
                agree(record, ana)
        else:
            Run.objects.update(sample_share=0)
            draws.draw_sample(run.pk)
        assert set(Evaluation.objects.values_list("human_review_status", flat=True)) == {"Not Required"}
        assert told() == ["nightly"]

    @pytest.mark.parametrize("again", ["reopen", "undo"])
    def test_again_when_a_decision_was_taken_back_and_made_anew(
        self, again: str, run: Run, ana: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        decide(record, ana)
        assert told() == ["nightly"]
        if again == "reopen":
            decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
        else:
            decisions.undo(run=run, reviewer=ana)
        # Also if it is done again before anybody looked.
        decide(fresh(record), ana)
        assert told() == ["nightly"]
        assert told() == []

    def test_again_when_it_has_grown_or_a_file_changed_what_was_decided(self, ana: User) -> None:
        bring_in(file_of(line("eval_1")), run="nightly")
        decide(Evaluation.objects.get(), ana)
        assert told() == ["nightly"]
        bring_in(file_of(line("eval_1"), line("eval_2", human_review_status="Completed")), run="nightly")
        assert told() == []
        bring_in(file_of(line("eval_1", aggregated_score="Fail")), run="nightly")
        assert told() == []
        decide(Evaluation.objects.get(evaluation_id="eval_1"), ana)
        assert told() == ["nightly"]

    def test_not_when_nothing_was_ever_to_be_reviewed(self) -> None:
        bring_in(file_of(line("eval_1", human_review_status="Reviewed")), run="nightly")
        RunFactory.create(name="empty")
        assert told() == []

    def test_not_when_its_file_was_refused(self) -> None:
        with pytest.raises(importer.StrictImportRefused):
            bring_in(file_of(line("eval_1"), b"no record"), run="nightly", strict=True)
        assert told() == []

    def test_with_nothing_to_do_for_who_decides(self, run: Run, ana: User) -> None:
        EvaluationFactory.create(run=run)
        record = EvaluationFactory.create(run=run)
        deliveries.notify_reviewed_runs()
        before = QueueFilled.objects.count()
        with CaptureQueriesContext(connection) as queries:
            decide(record, ana)
        assert QueueFilled.objects.count() == before
        assert not [query for query in queries if "webhook" in query["sql"] or "queue_filled" in query["sql"]]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_two_workers_tell_of_a_run_once(self, made: deliveries.NewWebhook, ana: User) -> None:
        for _ in range(3):
            decide(EvaluationFactory.create(), ana)
        together(
            deliveries.notify_reviewed_runs, deliveries.notify_reviewed_runs, deliveries.notify_reviewed_runs
        )
        assert WebhookDelivery.objects.count() == 3
        assert WebhookDelivery.objects.values("run").distinct().count() == 3

    def test_what_comes_into_the_queue_meanwhile_is_not_forgotten(
        self, made: deliveries.NewWebhook, ana: User
    ) -> None:
        """It is reopened in a transaction that ends only after the run was told of."""
        record = EvaluationFactory.create()
        decide(record, ana)
        with transaction.atomic():
            decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
            together(deliveries.notify_reviewed_runs)
        assert WebhookDelivery.objects.count() == 1
        deliveries.notify_reviewed_runs()
        assert WebhookDelivery.objects.count() == 1
        decide(fresh(record), ana)
        deliveries.notify_reviewed_runs()
        assert WebhookDelivery.objects.count() == 2

    def test_it_is_all_noted_or_nothing(
        self, made: deliveries.NewWebhook, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        with monkeypatch.context() as broken:
            broken.setattr(progress, "run_progress", broken_off)
            with pytest.raises(ZeroDivisionError):
                deliveries.notify_reviewed_runs()
        assert QueueFilled.objects.count() == 1
        assert deliveries.notify_reviewed_runs() == 1


class TestWhoIsTold:
    def test_are_those_of_the_run_and_of_every_run(
        self, made: deliveries.NewWebhook, ana: User, max: User
    ) -> None:
        one, other = (EvaluationFactory.create() for _ in range(2))
        for record in (one, other):
            deliveries.add_webhook(url=made.webhook.url, run=record.run, actor=max)
        decide(one, ana)
        deliveries.notify_reviewed_runs()
        sent = WebhookDelivery.objects.order_by("pk")
        assert {delivery.webhook.run for delivery in sent} == {None, one.run}
        assert len({delivery.message_id for delivery in sent}) == 2

    def test_is_nobody_who_was_removed_or_came_later(
        self, made: deliveries.NewWebhook, ana: User, max: User
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        deliveries.remove_webhook(webhook=made.webhook, actor=max)
        assert deliveries.notify_reviewed_runs() == 0
        deliveries.add_webhook(url=made.webhook.url, run=None, actor=max)
        assert deliveries.notify_reviewed_runs() == 0

    def test_is_nobody_where_webhooks_are_off_nor_afterwards(
        self, made: deliveries.NewWebhook, ana: User, settings: LazySettings
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        hosts, settings.WEBHOOK_HOSTS = settings.WEBHOOK_HOSTS, []
        assert deliveries.notify_reviewed_runs() == 0
        settings.WEBHOOK_HOSTS = hosts
        assert deliveries.notify_reviewed_runs() == 0


class TestAWebhook:
    def test_keeps_its_secret_encrypted_and_out_of_the_audit(self, made: deliveries.NewWebhook) -> None:
        row = Webhook.objects.get()
        assert made.secret.startswith("whsec_")
        assert made.secret not in row.secret
        event = AuditEvent.objects.get(action="webhook added")
        assert event.detail == {"webhook": row.pk, "host": "localhost"}

    def test_whose_secret_cannot_be_read_says_so(
        self, made: deliveries.NewWebhook, there: Receiver, max: User, settings: LazySettings
    ) -> None:
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        settings.SECRET_KEY = "x" * 50
        deliveries.attempt_delivery(sent.pk, 1)
        assert "secret key has changed" in sent.attempts.get().reason
        assert there.received == []


class TestADelivery:
    """As the job makes its attempts, one after the other."""

    @pytest.fixture
    def sent(self, made: deliveries.NewWebhook, ana: User) -> WebhookDelivery:
        decide(EvaluationFactory.create(run=RunFactory.create(name="nightly")), ana)
        deliveries.notify_reviewed_runs()
        return WebhookDelivery.objects.get()

    def job(self) -> ProcrastinateJob:
        return ProcrastinateJob.objects.filter(task_name=deliveries.JOB).latest("pk")

    def test_arrives_with_a_signature_that_verifies(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver
    ) -> None:
        deliveries.attempt_delivery(sent.pk, 1)
        [received] = there.received
        assert verify()(received.headers, received.body, made.secret)
        assert json.loads(received.body)["data"]["run"] == "nightly"
        assert received.headers["webhook-id"] == sent.message_id
        sent.refresh_from_db()
        assert (sent.state, sent.next_attempt_at) == ("delivered", None)
        attempt = sent.attempts.get()
        assert (attempt.number, attempt.status, attempt.reason) == (1, 204, "No Content")

    def test_that_has_arrived_is_not_sent_again(self, sent: WebhookDelivery, there: Receiver) -> None:
        for attempt in (1, 1, 2):
            deliveries.attempt_delivery(sent.pk, attempt)
        assert len(there.received) == 1

    def test_that_is_refused_is_tried_again_with_the_same_id(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver
    ) -> None:
        there.statuses = [500, 302, 200]
        for attempt, pause in ((1, 5), (2, 60)):
            deliveries.attempt_delivery(sent.pk, attempt)
            sent.refresh_from_db()
            job = self.job()
            assert job.args == {"delivery_id": sent.pk, "attempt": attempt + 1}
            assert job.scheduled_at
            assert job.scheduled_at == sent.next_attempt_at
            assert abs(job.scheduled_at - timezone.now() - timedelta(seconds=pause)) < timedelta(seconds=4)
        deliveries.attempt_delivery(sent.pk, 3)
        sent.refresh_from_db()
        assert sent.state == "delivered"
        assert [attempt.status for attempt in sent.attempts.order_by("number")] == [500, 302, 200]
        assert {received.headers["webhook-id"] for received in there.received} == {sent.message_id}
        assert all(verify()(each.headers, each.body, made.secret) for each in there.received)

    def test_is_given_up_after_about_a_day(self, sent: WebhookDelivery, there: Receiver) -> None:
        there.statuses = [503]
        pauses = []
        for attempt in range(1, len(PAUSES) + 2):
            deliveries.attempt_delivery(sent.pk, attempt)
            sent.refresh_from_db()
            if sent.next_attempt_at:
                pauses.append(round((sent.next_attempt_at - timezone.now()).total_seconds()))
        assert (sent.state, sent.next_attempt_at) == ("given up", None)
        assert pauses == sorted(pauses)
        assert 20 < sum(pauses) / 3600 < 28
        jobs = ProcrastinateJob.objects.filter(task_name=deliveries.JOB).count()
        deliveries.attempt_delivery(sent.pk, len(PAUSES) + 2)
        assert len(there.received) == sent.attempts.count() == len(PAUSES) + 1
        assert ProcrastinateJob.objects.filter(task_name=deliveries.JOB).count() == jobs

    def test_that_is_over_is_removed_after_ninety_days(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        waiting, late = (deliveries.send_test(webhook=made.webhook, actor=max) for _ in range(2))
        for delivery in (sent, late):
            deliveries.attempt_delivery(delivery.pk, 1)
        for delivery, days in ((sent, 91), (waiting, 91), (late, 89)):
            made_at = timezone.now() - timedelta(days=days)
            WebhookDelivery.objects.filter(pk=delivery.pk).update(created_at=made_at)
        deliveries.remove_old_messages()
        assert set(WebhookDelivery.objects.all()) == {waiting, late}
        assert set(WebhookAttempt.objects.values_list("delivery", flat=True)) == {late.pk}

    def test_to_a_host_that_is_not_allowed_any_more_is_not_sent(
        self, sent: WebhookDelivery, there: Receiver, settings: LazySettings
    ) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        deliveries.attempt_delivery(sent.pk, 1)
        attempt = sent.attempts.get()
        assert attempt.status is None
        assert "is not in COGNIREVIEW_WEBHOOK_HOSTS" in attempt.reason
        assert there.received == []

    def test_keeps_nothing_of_an_answer_but_its_status(self, sent: WebhookDelivery, there: Receiver) -> None:
        there.statuses, there.headers = [500], {"X-Told": "a secret of theirs"}
        deliveries.attempt_delivery(sent.pk, 1)
        kept = [*WebhookAttempt.objects.values_list(), *WebhookDelivery.objects.values_list()]
        assert "what a server has to say" not in str(kept)
        assert "a secret of theirs" not in str(kept)

    def test_of_a_webhook_that_is_removed_ends(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        deliveries.remove_webhook(webhook=made.webhook, actor=max)
        deliveries.attempt_delivery(sent.pk, 1)
        sent.refresh_from_db()
        assert (sent.state, there.received) == ("given up", [])

    def test_while_its_webhook_is_removed_is_noted_and_not_tried_again(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        there.statuses = [500]
        jobs = ProcrastinateJob.objects.count()
        attempt = sender.send_message

        def removed_meanwhile(*args: Any, **options: Any) -> sender.DeliveryResult:
            answer = attempt(*args, **options)
            deliveries.remove_webhook(webhook=made.webhook, actor=max)
            return answer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sender, "send_message", removed_meanwhile)
            deliveries.attempt_delivery(sent.pk, 1)
        sent.refresh_from_db()
        assert (sent.state, sent.attempts.get().status) == ("given up", 500)
        assert ProcrastinateJob.objects.count() == jobs


def verify() -> Callable[[dict[str, str], bytes, str], bool]:
    """The function that the documents give to receivers."""
    text = (BASE_DIR / "docs" / "webhooks.md").read_text()
    [snippet] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(snippet, names)
    found: Callable[[dict[str, str], bytes, str], bool] = names["verify"]
    return found


class TestTheSnippetOfTheDocuments:
    @pytest.fixture
    def message(self, made: deliveries.NewWebhook, there: Receiver, max: User) -> Received:
        deliveries.attempt_delivery(deliveries.send_test(webhook=made.webhook, actor=max).pk, 1)
        return there.received[0]

    def test_takes_what_is_ours_also_beside_another_signature(
        self, message: Received, made: deliveries.NewWebhook
    ) -> None:
        assert verify()(message.headers, message.body, made.secret)
        both = f"v1,bm9uZQ== {message.headers['webhook-signature']}"
        assert verify()(message.headers | {"webhook-signature": both}, message.body, made.secret)

    @pytest.mark.parametrize(
        "change",
        [
            {"webhook-id": "msg_2"},
            {"webhook-timestamp": "1700000000"},
            {"webhook-signature": "v1,bm9uZQ=="},
            {"webhook-signature": ""},
        ],
    )
    def test_takes_nothing_that_was_changed(
        self, change: dict[str, str], message: Received, made: deliveries.NewWebhook
    ) -> None:
        assert not verify()(message.headers | change, message.body, made.secret)

    def test_takes_no_other_body_or_secret_and_nothing_old(
        self, message: Received, made: deliveries.NewWebhook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert not verify()(message.headers, message.body + b" ", made.secret)
        assert not verify()(message.headers, message.body, sender.new_secret())
        late = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: late)
        assert not verify()(message.headers, message.body, made.secret)


@pytest.mark.django_db(transaction=True)
class TestTheJobs:
    def work(self) -> None:
        call_command("procrastinate", "worker", wait=False, listen_notify=False, concurrency=1)

    def test_tell_and_deliver_with_nobody_s_help(
        self, made: deliveries.NewWebhook, there: Receiver, ana: User
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        app.configure_task(tasks.notify_reviewed_runs.name).defer(timestamp=0)
        self.work()
        assert [json.loads(received.body)["type"] for received in there.received] == [REVIEWED]
        assert WebhookDelivery.objects.get().state == "delivered"

    def test_try_again_when_it_is_time(self, made: deliveries.NewWebhook, there: Receiver, max: User) -> None:
        there.statuses = [500, 200]
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        self.work()
        assert [attempt.status for attempt in sent.attempts.all()] == [500]
        self.work()
        assert len(there.received) == 1
        with connection.cursor() as cursor:
            cursor.execute("UPDATE procrastinate_jobs SET scheduled_at = now()")
        self.work()
        sent.refresh_from_db()
        assert (sent.state, len(there.received)) == ("delivered", 2)

    def test_of_a_worker_that_died_are_taken_up_by_the_next(
        self, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')"
                " RETURNING id"
            )
            [dead] = cursor.fetchone() or [0]
            cursor.execute(
                "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s WHERE task_name = %s",
                [dead, deliveries.JOB],
            )
        app.configure_task(tasks.retry_stalled_jobs.name).defer(timestamp=0)
        self.work()
        sent.refresh_from_db()
        assert (sent.state, len(there.received)) == ("delivered", 1)

    def test_that_cannot_note_what_came_of_it_try_again(
        self, made: deliveries.NewWebhook, there: Receiver, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        with monkeypatch.context() as broken:
            broken.setattr(WebhookAttempt.objects, "create", broken_off)
            self.work()
        sent.refresh_from_db()
        assert (sent.state, sent.attempts.count()) == ("waiting", 0)
        job = ProcrastinateJob.objects.get(task_name=deliveries.JOB)
        assert (job.status, job.args) == ("todo", {"delivery_id": sent.pk, "attempt": 1})
        assert job.scheduled_at
        assert job.scheduled_at > timezone.now()

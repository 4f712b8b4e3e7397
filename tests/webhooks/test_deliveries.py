"""Deliveries of webhooks: signatures, retries and secrets."""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from standardwebhooks import Webhook as StandardWebhook
from standardwebhooks import WebhookVerificationError

from cognireview.environment import BASE_DIR
from reviews.models import AuditEvent, User, Webhook, WebhookAttempt, WebhookDelivery, WebhookSecret
from reviews.records.conflicts import Conflict
from reviews.webhooks import deliveries, sender, signing_secrets
from reviews.webhooks.deliveries import PAUSES
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.receiver import Received, Receiver
from tests.support.work import decide

pytestmark = pytest.mark.django_db


class TestWebhook:
    def test_webhook_secret_is_encrypted_and_not_in_the_audit_log(self, made: deliveries.NewWebhook) -> None:
        row = Webhook.objects.get()
        assert made.secret.startswith("whsec_")
        assert made.secret not in row.secrets.get().encrypted
        event = AuditEvent.objects.get(action="webhook added")
        values = {"before": None, "after": {"events": ["run.reviewed"]}}
        assert event.detail == {"webhook": row.pk, "host": "localhost", **values}

    def test_webhook_with_an_unreadable_secret_reports_it(
        self, made: deliveries.NewWebhook, there: Receiver, max: User, settings: LazySettings
    ) -> None:
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        settings.SECRET_KEY = "x" * 50
        deliveries.attempt_delivery(sent.pk, 1)
        assert "secret key has changed" in sent.attempts.get().reason
        assert there.received == []

    def test_message_is_signed_with_every_secret(
        self, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        second = signing_secrets.add(webhook=made.webhook, actor=max)
        sent = deliveries.send_test(webhook=made.webhook, actor=max)
        deliveries.attempt_delivery(sent.pk, 1)
        [received] = there.received
        for secret in (made.secret, second.text):
            payload = StandardWebhook(secret).verify(received.body, received.headers)
            assert payload["type"] == "test"
        with pytest.raises(WebhookVerificationError):
            StandardWebhook(sender.new_secret()).verify(received.body, received.headers)

    def test_removed_secret_signs_no_further_attempt(
        self, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        second = signing_secrets.add(webhook=made.webhook, actor=max)
        [first] = signing_secrets.secrets_of(made.webhook).exclude(pk=second.row.pk)
        signing_secrets.remove(secret=first, actor=max)
        deliveries.attempt_delivery(deliveries.send_test(webhook=made.webhook, actor=max).pk, 1)
        [received] = there.received
        assert StandardWebhook(second.text).verify(received.body, received.headers)
        assert len(received.headers["webhook-signature"].split(" ")) == 1
        with pytest.raises(Conflict):
            signing_secrets.remove(secret=second.row, actor=max)

    def test_changed_secrets_leave_events_without_their_text(
        self, made: deliveries.NewWebhook, max: User
    ) -> None:
        second = signing_secrets.add(webhook=made.webhook, actor=max)
        signing_secrets.remove(secret=second.row, actor=max)
        events = AuditEvent.objects.filter(action__startswith="webhook secret").order_by("pk")
        detail = {"webhook": made.webhook.pk, "secret": second.row.pk}
        assert [(one.action, one.detail) for one in events] == [
            ("webhook secret added", detail),
            ("webhook secret removed", detail),
        ]

    def test_unreadable_secret_does_not_keep_the_others_from_signing(
        self, made: deliveries.NewWebhook, there: Receiver, max: User, settings: LazySettings
    ) -> None:
        settings.SECRET_KEY = "x" * 50
        second = signing_secrets.add(webhook=made.webhook, actor=max)
        deliveries.attempt_delivery(deliveries.send_test(webhook=made.webhook, actor=max).pk, 1)
        [received] = there.received
        assert StandardWebhook(second.text).verify(received.body, received.headers)

    def test_removed_webhook_has_no_secrets(self, made: deliveries.NewWebhook, max: User) -> None:
        deliveries.remove_webhook(webhook=made.webhook, actor=max)
        assert not WebhookSecret.objects.exists()


class TestDelivery:
    """Make the attempts of the job one after the other."""

    @pytest.fixture
    def sent(self, made: deliveries.NewWebhook, ana: User) -> WebhookDelivery:
        decide(EvaluationFactory.create(run=RunFactory.create(name="nightly")), ana)
        deliveries.notify_reviewed_runs()
        return WebhookDelivery.objects.get()

    def job(self) -> ProcrastinateJob:
        return ProcrastinateJob.objects.filter(task_name=deliveries.JOB).latest("pk")

    def test_delivery_has_a_valid_signature(
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

    def test_delivered_message_is_not_sent_again(self, sent: WebhookDelivery, there: Receiver) -> None:
        for attempt in (1, 1, 2):
            deliveries.attempt_delivery(sent.pk, attempt)
        assert len(there.received) == 1

    def test_delivered_message_is_sent_again_on_request(
        self, sent: WebhookDelivery, there: Receiver, max: User
    ) -> None:
        assert not deliveries.retry(delivery_id=sent.pk, actor=max, is_delivered_too=True)
        deliveries.attempt_delivery(sent.pk, 1)
        assert not deliveries.retry(delivery_id=sent.pk, actor=max)
        assert deliveries.retry(delivery_id=sent.pk, actor=max, is_delivered_too=True)
        deliveries.attempt_delivery(sent.pk, 2)
        first, second = there.received
        assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
        sent.refresh_from_db()
        assert (sent.state, sent.attempts.count()) == ("delivered", 2)
        assert AuditEvent.objects.filter(action="message retried").count() == 1

    def test_failed_delivery_is_retried_with_the_same_id(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver
    ) -> None:
        there.statuses = [500, 302, 200]
        for attempt, pause in ((1, 5), (2, 60)):
            begin = timezone.now()
            deliveries.attempt_delivery(sent.pk, attempt)
            end = timezone.now()
            sent.refresh_from_db()
            job = self.job()
            assert job.args == {"delivery_id": sent.pk, "attempt": attempt + 1}
            assert job.scheduled_at
            assert job.scheduled_at == sent.next_attempt_at
            assert begin <= job.scheduled_at - timedelta(seconds=pause) <= end
        deliveries.attempt_delivery(sent.pk, 3)
        sent.refresh_from_db()
        assert sent.state == "delivered"
        assert [attempt.status for attempt in sent.attempts.order_by("number")] == [500, 302, 200]
        assert {received.headers["webhook-id"] for received in there.received} == {sent.message_id}
        assert all(verify()(each.headers, each.body, made.secret) for each in there.received)

    @pytest.mark.slow
    def test_delivery_is_given_up_after_about_a_day(self, sent: WebhookDelivery, there: Receiver) -> None:
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

    def test_finished_delivery_is_removed_after_ninety_days(
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

    def test_delivery_to_a_host_no_longer_allowed_is_not_sent(
        self, sent: WebhookDelivery, there: Receiver, settings: LazySettings
    ) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        deliveries.attempt_delivery(sent.pk, 1)
        attempt = sent.attempts.get()
        assert attempt.status is None
        assert "is not in COGNIREVIEW_WEBHOOK_HOSTS" in attempt.reason
        assert there.received == []

    def test_delivery_keeps_only_the_status_of_a_response(
        self, sent: WebhookDelivery, there: Receiver
    ) -> None:
        there.statuses, there.headers = [500], {"X-Told": "a secret of theirs"}
        deliveries.attempt_delivery(sent.pk, 1)
        kept = [*WebhookAttempt.objects.values_list(), *WebhookDelivery.objects.values_list()]
        assert "what a server has to say" not in str(kept)
        assert "a secret of theirs" not in str(kept)

    def test_delivery_of_a_removed_webhook_ends(
        self, sent: WebhookDelivery, made: deliveries.NewWebhook, there: Receiver, max: User
    ) -> None:
        deliveries.remove_webhook(webhook=made.webhook, actor=max)
        deliveries.attempt_delivery(sent.pk, 1)
        sent.refresh_from_db()
        assert (sent.state, there.received) == ("given up", [])

    def test_delivery_during_removal_is_recorded_and_not_retried(
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
    """Return the documented function for receivers."""
    text = (BASE_DIR / "docs" / "webhooks.md").read_text()
    [snippet] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(snippet, names)
    found: Callable[[dict[str, str], bytes, str], bool] = names["verify"]
    return found


class TestDocumentedSnippet:
    @pytest.fixture
    def message(self, made: deliveries.NewWebhook, there: Receiver, max: User) -> Received:
        deliveries.attempt_delivery(deliveries.send_test(webhook=made.webhook, actor=max).pk, 1)
        return there.received[0]

    def test_documented_snippet_accepts_our_signature_among_others(
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
    def test_documented_snippet_refuses_a_changed_message(
        self, change: dict[str, str], message: Received, made: deliveries.NewWebhook
    ) -> None:
        assert not verify()(message.headers | change, message.body, made.secret)

    def test_documented_snippet_refuses_another_body_secret_or_age(
        self, message: Received, made: deliveries.NewWebhook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert not verify()(message.headers, message.body + b" ", made.secret)
        assert not verify()(message.headers, message.body, sender.new_secret())
        late = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: late)
        assert not verify()(message.headers, message.body, made.secret)

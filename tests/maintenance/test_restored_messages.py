"""A restored backup sends nothing that was waiting in it, and keeps it for an admin."""

import pytest
from django.utils import timezone
from pytest_django import Settings

from reviews.database.statements import execute
from reviews.inbox.items import Inbox
from reviews.maintenance.restored_messages import HeldBack, hold_back_messages
from reviews.models import Notification, User, WebhookDelivery
from reviews.notifications import audit_walk, sending
from reviews.webhooks import deliveries, sender
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(settings: Settings, max: User, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    settings.SENDS_MAIL = True
    events = ["record.decided"]
    made = deliveries.add_webhook(url="https://hooks.example.org/", run=None, actor=max, events=events)
    deliveries.send_test(webhook=made.webhook, actor=max)
    now = timezone.now()
    Notification.objects.create(person=max, text="Hello.", due_at=now, event="import.failed", path="/")


def sent_anyway(*_: object, **__: object) -> None:
    raise AssertionError("a message of the backup was sent")


@pytest.mark.usefixtures("site")
def test_restored_messages_are_held_back(max: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hold_back_messages() == HeldBack(1, 1)
    monkeypatch.setattr(sender, "send_message", sent_anyway)
    delivery = WebhookDelivery.objects.get()
    deliveries.attempt_delivery(delivery.pk, 1)
    assert sending.send_due() == 0
    assert Inbox(max).total == 2
    assert deliveries.retry(delivery_id=delivery.pk, actor=max)
    assert hold_back_messages() == HeldBack(1, 0)


@pytest.mark.usefixtures("site")
def test_last_events_before_the_backup_are_held_back_too(ana: User) -> None:
    decide(EvaluationFactory.create(), ana)
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # seals the event
    assert hold_back_messages().messages == 2
    assert not audit_walk.notify_of_next_events()
    events = WebhookDelivery.objects.order_by("pk").values_list("event", "state")
    assert list(events) == [("test", "given up"), ("record.decided", "given up")]

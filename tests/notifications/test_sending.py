"""E-mails about what happened: one per person, attempted again, and shown if they fail."""

from datetime import timedelta
from smtplib import SMTPDataError
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings

from reviews import tasks
from reviews.database.statements import fetch_value
from reviews.inbox.items import Inbox
from reviews.models import AuditEvent, Notification, Run, User
from reviews.notifications import sending
from reviews.queue.members import configure_members
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_server(settings: Settings, ana: User) -> None:
    settings.SENDS_MAIL = True
    ana.email = "ana@example.org"
    ana.save()


def notification(person: User, text: str = "lea answered.", **values: Any) -> Notification:
    values = {"due_at": timezone.now(), "event": "escalation.answered", "path": "/runs/1/"} | values
    return Notification.objects.create(person=person, text=text, **values)


def make_due() -> None:
    Notification.objects.update(due_at=timezone.now())


def test_due_notifications_of_a_person_are_one_mail(ana: User, bo: User, settings: Settings) -> None:
    settings.PUBLIC_URL = "https://review.example.org"
    bo.email = "bo@example.org"
    bo.save()
    for text in ("First.", "Second."):
        notification(ana, text)
    notification(bo, "Only\r\none.")
    notification(bo, "Tomorrow.", due_at=timezone.now() + timedelta(days=1))
    assert sending.send_due() == 2
    to_ana, to_bo = sorted(mail.outbox, key=lambda sent: sent.to)
    assert (to_ana.subject, to_ana.to) == ("2 notifications from CogniReview", ["ana@example.org"])
    assert "First.\nhttps://review.example.org/runs/1/\n\nSecond." in to_ana.body
    assert (to_bo.subject, to_bo.to) == ("Only one.", ["bo@example.org"])
    assert "Tomorrow." not in to_bo.body
    assert sending.send_due() == 0


def test_nothing_due_sends_nothing() -> None:
    assert sending.send_due() == 0
    assert mail.outbox == []


@pytest.mark.slow
def test_failed_mail_is_attempted_again_and_then_shown_to_admins(
    ana: User, max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise SMTPDataError(554, b"spam")

    one = notification(ana)
    with monkeypatch.context() as patch:
        patch.setattr(mail.EmailMessage, "send", refuse)
        for _ in range(len(sending.PAUSES)):
            sending.send_due()
            one.refresh_from_db()
            assert one.state == Notification.State.WAITING
            assert one.due_at > timezone.now()
            make_due()
        sending.send_due()
    [group] = Inbox(max).groups()
    assert (group.items[0].row, group.items[0].count) == (ana, 1)
    assert group.items[0].point == "The mail server refused the message: code 554."
    sending.retry_failed(person=ana, actor=max)
    assert sending.send_due() == 1
    assert Inbox(max).total == 0
    assert AuditEvent.objects.filter(action="retry notifications", actor=max).exists()


def test_mail_that_was_turned_off_or_lacks_an_address_fails_visibly(ana: User, settings: Settings) -> None:
    one = notification(ana)
    settings.SENDS_MAIL = False
    sending.send_due()
    one.refresh_from_db()
    assert "COGNIREVIEW_MAIL_URL" in one.error
    settings.SENDS_MAIL = True
    User.objects.filter(pk=ana.pk).update(email="")
    make_due()
    sending.send_due()
    one.refresh_from_db()
    assert one.error == "The account has no e-mail address."
    assert mail.outbox == []


def test_notification_about_a_run_that_was_hidden_since_is_not_sent(ana: User, bo: User) -> None:
    run: Run = RunFactory.create()
    notification(ana, "Secret.", run=run)
    notification(ana, "Other.")
    configure_members(run_id=run.pk, actor=None, members=["bo"])
    assert sending.send_due() == 1
    assert "Secret." not in mail.outbox[0].body
    assert not Notification.objects.filter(text="Secret.").exists()


def test_deactivated_person_is_not_mailed(ana: User) -> None:
    notification(ana)
    User.objects.filter(pk=ana.pk).update(is_active=False)
    assert sending.send_due() == 0
    assert not Notification.objects.exists()


def test_discarded_notifications_are_gone(ana: User, max: User) -> None:
    notification(ana, state=Notification.State.FAILED)
    sending.discard_failed(person=ana, actor=max)
    assert not Notification.objects.exists()


def test_sent_notifications_are_removed_after_their_time(ana: User, settings: Settings) -> None:
    old = notification(ana, state=Notification.State.SENT)
    Notification.objects.filter(pk=old.pk).update(created_at=timezone.now() - settings.KEEP_MESSAGES * 2)
    waiting = notification(ana)
    sending.remove_old()
    assert [*Notification.objects.all()] == [waiting]


@pytest.mark.django_db(transaction=True)
def test_one_job_sends_mail_at_a_time() -> None:
    begun = []
    for minute in range(2):
        tasks.send_notifications.configure(task_kwargs={"timestamp": minute}).defer()
        begun.append(fetch_value("SELECT id FROM procrastinate_fetch_job_v2(NULL, NULL)"))
    assert begun == [ProcrastinateJob.objects.order_by("pk")[0].pk, None]

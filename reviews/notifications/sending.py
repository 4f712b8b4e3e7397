"""Mail notifications that are due: one e-mail per person. Failed ones are attempted again for a day."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from cognireview.operations import mail
from cognireview.operations.mail import MailServer
from reviews.audit import events
from reviews.models import Notification, User
from reviews.models.runs import in_visible_runs

# The pauses after failed attempts. The last attempt is about a day after the first one.
PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(hours=17),
)
# Lines in one e-mail.
MOST_LISTED = 100
_NOT_SET_UP = "E-mail is not set up: COGNIREVIEW_MAIL_URL is empty."
_NO_ADDRESS = "The account has no e-mail address."
State = Notification.State


def send_due() -> int:
    """Mail the due notifications of each person together. Return the number of people with an e-mail."""
    due = Notification.objects.filter(state=State.WAITING, due_at__lte=timezone.now())
    people = User.objects.filter(pk__in=due.values("person")).order_by("pk")
    with MailServer() as server:
        return sum(_send_to(person, server) for person in people)


@transaction.atomic
def _send_to(person: User, server: MailServer) -> bool:
    """Mail the due notifications of a person. They are sent twice if the program dies before the commit."""
    waiting = Notification.objects.filter(person=person, state=State.WAITING, due_at__lte=timezone.now())
    locked = list(waiting.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True))
    rows = Notification.objects.filter(pk__in=locked)
    visible = list(rows.filter(in_visible_runs(person) | Q(run=None)).order_by("pk"))
    # The person may have lost access since, or left.
    if not person.is_active:
        visible = []
    rows.exclude(pk__in=[one.pk for one in visible]).delete()
    if not visible:
        return False
    error = _send(person, visible, server)
    if not error:
        rows.update(state=State.SENT, error="")
        return True
    for one in visible:
        _note_failure(one, error)
    return False


def _send(person: User, rows: list[Notification], server: MailServer) -> str:
    """Send the e-mail. Return why it could not be sent, or an empty string."""
    if not mail.is_set_up():
        return _NOT_SET_UP
    if not person.email:
        return _NO_ADDRESS
    subject = rows[0].text if len(rows) == 1 else f"{len(rows):,} notifications from CogniReview"
    lines = [f"{one.text}\n{settings.PUBLIC_URL}{one.path}\n" for one in rows[:MOST_LISTED]]
    if len(rows) > MOST_LISTED:
        lines.append(f"And {len(rows) - MOST_LISTED:,} more.\n")
    lines.append(f"Choose what you are notified of: {settings.PUBLIC_URL}/preferences/\n")
    return server.send(" ".join(subject.split())[:150], "\n".join(lines), person.email)


def _note_failure(failed: Notification, error: str) -> None:
    pause = PAUSES[failed.attempts] if failed.attempts < len(PAUSES) else None
    failed.attempts += 1
    failed.error = error
    if pause is None:
        failed.state = State.FAILED
    else:
        failed.due_at = timezone.now() + pause
    failed.save(update_fields=["attempts", "error", "state", "due_at"])


@transaction.atomic
def retry_failed(*, person: User, actor: User) -> None:
    """Send the failed notifications of a person again."""
    failed = Notification.objects.filter(person=person, state=State.FAILED)
    count = failed.update(state=State.WAITING, attempts=0, due_at=timezone.now())
    events.record("retry notifications", actor=actor, username=person.username, notifications=count)


@transaction.atomic
def discard_failed(*, person: User, actor: User) -> None:
    """Delete the failed notifications of a person."""
    count, _ = Notification.objects.filter(person=person, state=State.FAILED).delete()
    events.record("discard notifications", actor=actor, username=person.username, notifications=count)


def remove_old() -> None:
    """Remove notifications that were sent more than `KEEP_MESSAGES` ago."""
    sent = Notification.objects.filter(state=State.SENT)
    sent.filter(created_at__lt=timezone.now() - settings.KEEP_MESSAGES).delete()

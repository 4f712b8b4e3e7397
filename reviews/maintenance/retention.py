"""Remove rows that are only of use for a while. Decisions, audit events and imported files stay.

Each of `RULES` names a setting, which says how old its rows have to be. Nobody can use these rows any more,
and the audit events about them stay.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from reviews.exports import jobs
from reviews.imports import uploads
from reviews.models import OneTimeLink
from reviews.webhooks import deliveries

log = logging.getLogger(__name__)

# The last event of a finished job is its end. Procrastinate's own statement sorts all events.
_REMOVE_JOBS = """
    DELETE FROM procrastinate_jobs job
    WHERE status IN ('failed', 'cancelled', 'aborted', 'succeeded') AND NOT EXISTS (
        SELECT FROM procrastinate_events event WHERE event.job_id = job.id AND event.at >= %s
    )
"""


class Rule(NamedTuple):
    """A kind of rows, the name of its age in `settings`, and the function that removes them."""

    what: str
    setting: str
    remove: Callable[[], None]


def remove_expired_rows() -> None:
    """Apply every rule. A rule that fails keeps none of the others from being applied.

    Raises the first error once all are through.
    """
    errors = []
    for rule in RULES:
        try:
            with transaction.atomic():
                rule.remove()
        except Exception as error:
            log.exception("Not removed: %s that are old enough", rule.what)
            errors.append(error)
    if errors:
        raise errors[0]


def remove_sessions() -> None:
    """Remove sessions that expired, and allauth's rows of logins whose session is gone."""
    before = timezone.now() - settings.KEEP_SESSIONS
    Session.objects.filter(expire_date__lt=before).delete()
    # The row of a login comes before its session is saved: a young one may wait for that.
    session = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(session), created_at__lt=before, last_seen_at__lt=before).delete()


def remove_links() -> None:
    """Remove one-time links that were used or withdrawn, or have expired."""
    before = timezone.now() - settings.KEEP_LINKS
    is_over = Q(used_at__lt=before) | Q(withdrawn_at__lt=before) | Q(expires_at__lt=before)
    OneTimeLink.objects.filter(is_over).delete()


def remove_jobs() -> None:
    """Remove jobs that are over: those that failed, as a worker removes the others at once."""
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_JOBS, [timezone.now() - settings.KEEP_JOBS])


def remove_cached() -> None:
    """Remove expired cache entries, such as counts of failed logins. Each has an expiry of its own."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM cache WHERE expires < %s", [timezone.now()])


RULES = (
    Rule("exports", "KEEP_EXPORTS", jobs.remove_expired),
    Rule("uploads", "KEEP_UPLOADS", uploads.remove_expired),
    Rule("messages to webhooks", "KEEP_MESSAGES", deliveries.remove_old_messages),
    Rule("jobs", "KEEP_JOBS", remove_jobs),
    Rule("sessions", "KEEP_SESSIONS", remove_sessions),
    Rule("one-time links", "KEEP_LINKS", remove_links),
    Rule("cache entries", "", remove_cached),
)

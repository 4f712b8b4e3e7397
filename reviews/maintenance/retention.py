"""Remove expired rows. Decisions, audit events and imported files stay.

Each of `RULES` names the setting with the age of its rows. Only unused rows are removed, and their audit
events stay.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from reviews.database.statements import execute
from reviews.exports import jobs
from reviews.http import repeatable_requests
from reviews.imports import uploads
from reviews.models import OneTimeLink
from reviews.notifications import sending
from reviews.webhooks import deliveries

log = logging.getLogger(__name__)

# The last event of a finished job is its end. This avoids sorting all events, as procrastinate does.
_REMOVE_JOBS = """
    DELETE FROM procrastinate_jobs job
    WHERE status IN ('failed', 'cancelled', 'aborted', 'succeeded') AND NOT EXISTS (
        SELECT FROM procrastinate_events event WHERE event.job_id = job.id AND event.at >= %s
    )
"""
_REMOVE_ERRORS = """
    DELETE FROM job_error WHERE NOT EXISTS (SELECT FROM procrastinate_jobs job WHERE job.id = job_id)
"""


class Rule(NamedTuple):
    """A kind of rows to remove."""

    name: str
    #: The setting with the age of the rows. Empty if each row has its own expiry.
    setting: str
    remove: Callable[[], None]


def remove_expired_rows() -> None:
    """Apply every rule, even if another one fails. Raises the first error at the end."""
    errors = []
    for rule in RULES:
        try:
            with transaction.atomic():
                rule.remove()
        except Exception as error:
            log.exception("Could not remove expired %s", rule.name)
            errors.append(error)
    if errors:
        raise errors[0]


def remove_sessions() -> None:
    """Remove expired sessions, and allauth's rows of logins without a session."""
    before = timezone.now() - settings.KEEP_SESSIONS
    Session.objects.filter(expire_date__lt=before).delete()
    # The row of a login is inserted before its session is saved, so recent rows may lack a session.
    session = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(session), created_at__lt=before, last_seen_at__lt=before).delete()


def remove_links() -> None:
    """Remove used, withdrawn and expired one-time links."""
    before = timezone.now() - settings.KEEP_LINKS
    is_over = Q(used_at__lt=before) | Q(withdrawn_at__lt=before) | Q(expires_at__lt=before)
    OneTimeLink.objects.filter(is_over).delete()


def remove_jobs() -> None:
    """Remove failed jobs with their errors. Workers remove successful jobs at once."""
    execute(_REMOVE_JOBS, [timezone.now() - settings.KEEP_JOBS])
    execute(_REMOVE_ERRORS)


def remove_cached() -> None:
    """Remove expired cache entries, such as counts of failed logins. Each has its own expiry."""
    execute("DELETE FROM cache WHERE expires < %s", [timezone.now()])


RULES = (
    Rule("exports", "KEEP_EXPORTS", jobs.remove_expired),
    Rule("uploads", "KEEP_UPLOADS", uploads.remove_expired),
    Rule("messages to webhooks", "KEEP_MESSAGES", deliveries.remove_old_messages),
    Rule("notifications", "KEEP_MESSAGES", sending.remove_old),
    Rule("jobs", "KEEP_JOBS", remove_jobs),
    Rule("sessions", "KEEP_SESSIONS", remove_sessions),
    Rule("one-time links", "KEEP_LINKS", remove_links),
    Rule("repeatable requests", "", repeatable_requests.remove_expired),
    Rule("cache entries", "", remove_cached),
)

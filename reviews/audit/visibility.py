"""Which audit events a person may read."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviews.audit.reveals import independent_reviews_hidden_from
from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.models.runs import sees_every_run

# Actions whose events contain a reviewer's scores.
_WITH_SCORES = ("independent review", "blind scores")
# Uploads and imports have no run until a line is accepted, and name the file.
_IS_OF_NO_RUN = Q(run=None, source=None) & ~Q(action__startswith="upload")


def visible_events(events: "QuerySet[AuditEvent]", reader: User) -> "QuerySet[AuditEvent]":
    """Return the events that a person may read.

    Left out are events of runs that are hidden from them, also of deleted runs, and events with the scores of
    others on records that they may still review independently.
    """
    undecided = Evaluation.objects.filter(independent_reviews_hidden_from(reader), pk=OuterRef("evaluation"))
    by_others = Q(action__in=_WITH_SCORES) & ~Q(actor=reader)
    found = events.exclude(by_others & Exists(undecided))
    if not sees_every_run(reader):
        found = found.filter(Q(run__in=Run.objects.visible_to(reader).values("pk")) | _IS_OF_NO_RUN)
    return found

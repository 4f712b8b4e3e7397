"""Record backups for the system page and `status`."""

from django.db import transaction

from cognireview.types import site
from reviews.audit import events
from reviews.models import Backup


@transaction.atomic
def record_backup(*, target: str, size: int) -> Backup:
    """Record that a backup was written to a path, or to standard output ("-")."""
    made = Backup.objects.create(target=target, size=size)
    events.record("backup", actor=None, target=target, size=size)
    return made


def last_backup() -> site.Backup | None:
    made = Backup.objects.order_by("-pk").first()
    return site.Backup(made.at, made.target, made.size) if made else None

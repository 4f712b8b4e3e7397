"""Retry failed jobs of the inbox, or dismiss them."""

from django.db import transaction
from django.utils import timezone

from reviews.audit import events
from reviews.exports import jobs as export_jobs
from reviews.imports import jobs as import_jobs
from reviews.inbox.items import Item
from reviews.models import Export, Import, User, Webhook
from reviews.notifications import sending
from reviews.webhooks import deliveries

JOBS = ("import", "export", "mail", "webhook")


def can_retry(item: Item) -> bool:
    """Return whether a failed job can be retried as it is."""
    return not isinstance(item.row, Import) or import_jobs.can_retry(item.row)


@transaction.atomic
def retry(*, item: Item, actor: User) -> None:
    """Enqueue the failed job of an item again."""
    if isinstance(item.row, Import):
        import_jobs.retry_import(import_id=item.row.pk, actor=actor)
    elif isinstance(item.row, Export):
        export_jobs.retry(export_id=item.row.pk, actor=actor)
    elif isinstance(item.row, Webhook):
        deliveries.retry_failed(webhook=item.row, actor=actor)
    else:
        sending.retry_failed(person=item.row, actor=actor)


@transaction.atomic
def dismiss(*, item: Item, actor: User) -> None:
    """Take a failed job out of the inbox. E-mails that could not be sent are discarded."""
    failed = item.row
    if isinstance(failed, Webhook):
        deliveries.dismiss_failed(webhook=failed, actor=actor)
        return
    if not isinstance(failed, Import | Export):
        sending.discard_failed(person=failed, actor=actor)
        return
    failed.dismissed_at = timezone.now()
    failed.save(update_fields=["dismissed_at"])
    if isinstance(failed, Import):
        events.record("dismiss failure", actor=actor, run=failed.run, source=failed)
    else:
        events.record("dismiss failure", actor=actor, run=failed.run, export=failed.pk)

"""The secrets of webhooks. A webhook has several while its receiver changes from one to another."""

from typing import NamedTuple

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.db.models import QuerySet

from reviews.accounts.encryption import cipher
from reviews.audit import events
from reviews.models import User, Webhook, WebhookSecret
from reviews.records.conflicts import Conflict
from reviews.webhooks import sender

# The arguments of `encryption.cipher`.
PURPOSE = ("reviews.webhooks.signing_secrets", "secret")
# At most so many at once: each adds to the header of every message.
MOST = 5


class NewSecret(NamedTuple):
    """A new secret and its text, which is shown once."""

    row: WebhookSecret
    text: str


def create(*, webhook: Webhook, actor: User) -> NewSecret:
    """Create a secret. The caller records the event."""
    text = sender.new_secret()
    encrypted = cipher(*PURPOSE).encrypt(text.encode()).decode()
    return NewSecret(
        WebhookSecret.objects.create(webhook=webhook, encrypted=encrypted, created_by=actor), text
    )


@transaction.atomic
def add(*, webhook: Webhook, actor: User) -> NewSecret:
    """Add a secret to those that sign the messages of a webhook. Raises `Conflict` if it has `MOST`."""
    if _locked(webhook) >= MOST:
        raise Conflict(f"A webhook has at most {MOST} secrets. Remove one first.")
    made = create(webhook=webhook, actor=actor)
    events.record(
        "webhook secret added", actor=actor, run=webhook.run, webhook=webhook.pk, secret=made.row.pk
    )
    return made


@transaction.atomic
def remove(*, secret: WebhookSecret, actor: User) -> None:
    """Remove a secret. It signs no further attempt. Raises `Conflict` for the last one of its webhook."""
    webhook = secret.webhook
    if _locked(webhook) == 1:
        raise Conflict("This is the only secret of the webhook. Add another one first.")
    deleted, _ = WebhookSecret.objects.filter(pk=secret.pk).delete()
    if deleted:
        events.record(
            "webhook secret removed", actor=actor, run=webhook.run, webhook=webhook.pk, secret=secret.pk
        )


def secrets_of(webhook: Webhook) -> QuerySet[WebhookSecret]:
    """Return the secrets of a webhook, newest first, with the people who added them."""
    return webhook.secrets.select_related("created_by").order_by("-pk")


def readable(webhook: Webhook) -> list[str]:
    """Return the texts of the secrets that the site's secret key decrypts, newest first."""
    found = []
    for row in webhook.secrets.order_by("-pk"):
        try:
            found.append(cipher(*PURPOSE).decrypt(row.encrypted.encode()).decode())
        except InvalidToken:
            continue
    return found


def _locked(webhook: Webhook) -> int:
    """Lock a webhook, so that nobody else changes its secrets, and return their number."""
    Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    return webhook.secrets.count()

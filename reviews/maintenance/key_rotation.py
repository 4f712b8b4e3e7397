"""Re-encrypt stored secrets after a change of the site's secret key, so that the old key can go."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django.core import checks
from django.db import DatabaseError, transaction

from reviews.accounts import second_factors
from reviews.accounts.encryption import cipher, is_encrypted_with_current_key
from reviews.audit import events
from reviews.models import WebhookSecret
from reviews.webhooks import signing_secrets

OLD_KEYS = "COGNIREVIEW_OLD_SECRET_KEYS"
_ENCRYPTED = (Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES)


class RotationResult(NamedTuple):
    """The result of a rotation."""

    #: How many authenticator apps and sets of recovery codes were re-encrypted.
    second_factors: int
    #: How many secrets of webhooks were re-encrypted.
    webhooks: int
    #: Secrets that no key decrypts, in words. They stay as they are.
    unreadable: list[str]


class _Secret(NamedTuple):
    """The encrypted texts of one row, and a function to replace them."""

    name: str
    #: The arguments of `encryption.cipher`.
    purpose: tuple[str, str]
    texts: list[str]
    replace: Callable[[list[str]], None]


@transaction.atomic
def rotate_keys() -> RotationResult:
    """Re-encrypt all stored secrets with the secret key."""
    factors, found = list(_second_factors(locked=True)), list(_webhooks(locked=True))
    unreadable = [secret.name for secret in [*factors, *found] if not _re_encrypt(secret)]
    rotated = [sum(secret.name not in unreadable for secret in secrets) for secrets in (factors, found)]
    counts: dict[str, Any] = {"second_factors": rotated[0], "webhooks": rotated[1], "unreadable": unreadable}
    events.record("secrets re-encrypted", actor=None, **counts)
    return RotationResult(**counts)


def _re_encrypt(secret: _Secret) -> bool:
    try:
        secret.replace([cipher(*secret.purpose).rotate(text).decode() for text in secret.texts])
    except InvalidToken:
        return False
    return True


def check_secrets(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:  # noqa: ARG001 (Django names it)
    """Report secrets that no key decrypts or that still need an old key, for `check --deploy`."""
    try:
        secrets = [*_second_factors(), *_webhooks()]
    except DatabaseError:
        return [checks.Info("Stored secrets were not checked: no database answers.", id="reviews.I001")]
    unreadable = [secret.name for secret in secrets if not _is_readable(secret)]
    outdated = [
        secret.name
        for secret in secrets
        if secret.name not in unreadable
        and not all(is_encrypted_with_current_key(*secret.purpose, text) for text in secret.texts)
    ]
    found: list[checks.CheckMessage] = []
    if unreadable:
        hint = f"Set {OLD_KEYS} to the secret key they were encrypted with, or have them set up again."
        found.append(checks.Error(f"No secret key opens {_listed(unreadable)}.", hint, id="reviews.E001"))
    if outdated:
        hint = f"Run `manage.py rotate_keys` before {OLD_KEYS} goes."
        found.append(
            checks.Warning(f"Only an old secret key opens {_listed(outdated)}.", hint, id="reviews.W001")
        )
    return found


def _is_readable(secret: _Secret) -> bool:
    try:
        for text in secret.texts:
            cipher(*secret.purpose).decrypt(text.encode())
    except InvalidToken:
        return False
    return True


def _listed(names: list[str], most: int = 5) -> str:
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def _second_factors(*, locked: bool = False) -> Iterator[_Secret]:
    rows = Authenticator.objects.filter(type__in=_ENCRYPTED).select_related("user").order_by("pk")
    for row in rows.select_for_update(of=("self",)) if locked else rows:
        places = [place for place in ("secret", "seed") if place in row.data]
        codes = row.data.get("migrated_codes") or []

        def replace(texts: list[str], row: Authenticator = row, places: list[str] = places) -> None:
            row.data |= dict(zip(places, texts, strict=False))
            if row.data.get("migrated_codes"):
                row.data["migrated_codes"] = texts[len(places) :]
            row.save(update_fields=["data"])

        kind = "authenticator app" if row.type == Authenticator.Type.TOTP else "recovery codes"
        texts = [*(row.data[place] for place in places), *codes]
        yield _Secret(f"the {kind} of {row.user.get_username()}", second_factors.PURPOSE, texts, replace)


def _webhooks(*, locked: bool = False) -> Iterator[_Secret]:
    """Yield the secrets of webhooks."""
    rows = WebhookSecret.objects.order_by("pk")
    for row in rows.select_for_update() if locked else rows:

        def replace(texts: list[str], row: WebhookSecret = row) -> None:
            [row.encrypted] = texts
            row.save(update_fields=["encrypted"])

        name = f"secret {row.pk} of webhook {row.webhook_id}"
        yield _Secret(name, signing_secrets.PURPOSE, [row.encrypted], replace)

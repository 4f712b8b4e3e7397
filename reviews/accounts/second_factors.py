"""Accept each code of an authenticator app, and each recovery code, only once.

An app's code is valid for three periods. The period of the last accepted code is stored with the app's
secret. Codes of that period or an earlier one are rejected, in every process and on every page
(RFC 6238, 5.2).
"""

from typing import cast

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from allauth.socialaccount.models import SocialAccount
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from reviews.accounts.encryption import cipher
from reviews.models import User

# The arguments of `encryption.cipher` for the secrets of apps and recovery codes.
PURPOSE = ("reviews.accounts.second_factors", "second factor")
UNREADABLE = (
    "Your second factor cannot be checked: the secret key of this site has changed. Ask an admin to reset it."
)
_LAST_PERIOD = "last_period"
Type = Authenticator.Type


@transaction.atomic
def use_code(user: User, code: str) -> Authenticator | None:
    """Consume a code of a person. Return its factor, or None if the code is wrong or already used."""
    # A second request with the same code waits here until the first has consumed it.
    factors = Authenticator.objects.select_for_update().order_by("pk").filter(user=user)
    for factor in factors.filter(type__in=(Type.TOTP, Type.RECOVERY_CODES)):
        is_app = factor.type == Type.TOTP
        if _use_period(factor, code) if is_app else factor.wrap().validate_code(code):
            return cast("Authenticator", factor)
    return None


@transaction.atomic
def use_activation_code(user: User, code: str) -> None:
    """Consume the code that activated an authenticator app, so that it cannot be used to sign in."""
    app = Authenticator.objects.select_for_update().get(user=user, type=Type.TOTP)
    _use_period(app, code)


def is_missing(user: User) -> bool:
    """Return whether the person's role must have a second factor and they have none (at most one query).

    People who sign in with a provider are exempt: the provider decides about their factors.
    """
    if not settings.SECOND_FACTOR_ROLES:
        return False
    factors = Authenticator.objects.filter(user=OuterRef("pk"), type__in=(Type.TOTP, Type.WEBAUTHN))
    accounts = SocialAccount.objects.filter(user=OuterRef("pk"))
    must_have = User.objects.filter(pk=user.pk, groups__name__in=settings.SECOND_FACTOR_ROLES)
    return must_have.filter(~Exists(factors), ~Exists(accounts)).exists()


def is_unreadable(user: User) -> bool:
    """Return whether no secret key of the site decrypts the person's app or recovery codes."""
    factors = Authenticator.objects.filter(user=user, type__in=(Type.TOTP, Type.RECOVERY_CODES))
    kept = [factor.data.get("secret") or factor.data.get("seed") for factor in factors]
    try:
        for text in filter(None, kept):
            cipher(*PURPOSE).decrypt(text.encode())
    except InvalidToken:
        return True
    return False


def _use_period(app: Authenticator, code: str) -> bool:
    secret = decrypt(app.data["secret"])
    periods = [
        period
        for period in yield_hotp_counters_from_time()
        if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, period)))
    ]
    if not periods or max(periods) <= app.data.get(_LAST_PERIOD, -1):
        return False
    app.data[_LAST_PERIOD] = max(periods)
    app.save(update_fields=["data"])
    return True

"""Accept each code of a second factor once: codes of an authenticator app, and recovery codes.

An app's code is valid for three periods. The number of the period of the last accepted code is kept with the
app's secret, and no code of that period or an earlier one is accepted again, whichever process or page asks
for it (RFC 6238, 5.2).
"""

from typing import cast

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from cryptography.fernet import InvalidToken
from django.db import transaction

from reviews.accounts.encryption import cipher
from reviews.models import User

# The arguments of `ciphers.cipher` for the secrets of apps and recovery codes.
PURPOSE = ("reviews.views.accounts.sign_in", "second factor")
UNREADABLE = (
    "Your second factor cannot be checked: the secret key of this site has changed. Ask an admin to reset it."
)
_LAST_PERIOD = "last_period"
Type = Authenticator.Type


@transaction.atomic
def use_code(user: User, code: str) -> Authenticator | None:
    """Use up a code of a person; return the factor it belongs to, or None if it is wrong or used."""
    # The second of two requests with one code waits here until the first has used it up.
    factors = Authenticator.objects.select_for_update().order_by("pk").filter(user=user)
    for factor in factors.filter(type__in=(Type.TOTP, Type.RECOVERY_CODES)):
        is_app = factor.type == Type.TOTP
        if _use_period(factor, code) if is_app else factor.wrap().validate_code(code):
            return cast("Authenticator", factor)
    return None


@transaction.atomic
def use_activation_code(user: User, code: str) -> None:
    """Use up the code that set an authenticator app up, so that it does not log anybody in."""
    app = Authenticator.objects.select_for_update().get(user=user, type=Type.TOTP)
    _use_period(app, code)


def is_unreadable(user: User) -> bool:
    """Return whether no secret key of the site opens the person's authenticator app or recovery codes."""
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

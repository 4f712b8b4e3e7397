"""What is kept encrypted: reading the database is not enough to use it."""

import base64

from cryptography.fernet import Fernet
from django.utils.crypto import salted_hmac


def cipher(salt: str, purpose: str) -> Fernet:
    """The cipher of a purpose, by the site's secret key. Under another, `decrypt` raises `InvalidToken`."""
    key = salted_hmac(salt, purpose, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))

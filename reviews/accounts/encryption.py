"""Encrypt or hash secrets in the database, so that a copy of the database is not enough to use them."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def cipher(salt: str, purpose: str) -> MultiFernet:
    """Return the cipher of a purpose. It encrypts with the secret key, and decrypts with old keys too.

    `decrypt` raises `InvalidToken` if no key fits.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([_derive(salt, purpose, key) for key in keys])


def is_encrypted_with_current_key(salt: str, purpose: str, encrypted: str) -> bool:
    """Return whether a text is encrypted with the current secret key rather than an old one."""
    try:
        _derive(salt, purpose, settings.SECRET_KEY).decrypt(encrypted.encode())
    except InvalidToken:
        return False
    return True


def hash_token(token: str) -> str:
    """Return the stored form of a random token, as 64 hexadecimal digits. Any text is accepted."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _derive(salt: str, purpose: str, key: str) -> Fernet:
    derived = salted_hmac(salt, purpose, secret=key, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(derived))

"""Sign a message and send it to a webhook once. Only the status of the response is used.

Signatures follow Standard Webhooks (https://www.standardwebhooks.com), version 1.
"""

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import islice
from typing import NamedTuple

from reviews.webhooks import allowlist
from reviews.webhooks.allowlist import TargetNotAllowed, WebhookTarget

# From the open connection to the head of the response.
MOST_SECONDS = 15.0
_CONNECT_SECONDS = 5.0
_MOST_ADDRESSES = 3
_SECRET_PREFIX = "whsec_"  # noqa: S105 (only the prefix of a secret)
# The first match applies. An empty text stands for the error's own message.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (TargetNotAllowed, ""),
    (ssl.SSLError, "The TLS handshake failed."),
    (TimeoutError, "No response in time."),
    (ConnectionRefusedError, "Connection refused."),
    (Exception, "The connection was interrupted or the response was invalid."),
)


class DeliveryResult(NamedTuple):
    """The result of an attempt: the status of the response, if any, and a short reason."""

    status: int | None
    reason: str

    @property
    def is_taken(self) -> bool:
        return self.status is not None and HTTPStatus(200) <= self.status < HTTPStatus(300)


def new_secret() -> str:
    return _SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return `v1,` and the base64 of HMAC-SHA256 over id, timestamp and body, joined by dots."""
    key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX))
    text = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()


def send_message(
    url: str, *, message_id: str, timestamp: int, body: bytes, signed_with: Iterable[str]
) -> DeliveryResult:
    """POST a message, signed with each secret. Redirects and proxies are not used, and no body is read."""
    signatures = (signature(secret, message_id, timestamp, body) for secret in signed_with)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "CogniReview",
        "Connection": "close",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
    try:
        target = allowlist.parse_target(url)
        with _connected(target, allowlist.resolve_target(target)) as connection:
            connection.request("POST", target.path, body, headers)
            with closing(connection.getresponse()) as response:
                return _answer(response.status)
    except (TargetNotAllowed, OSError, HTTPException, ValueError) as error:
        return DeliveryResult(None, _reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate is not trusted: {error.verify_message}."
    return next(words or str(error) for kind, words in _REASONS if isinstance(error, kind))


def _answer(status: int) -> DeliveryResult:
    if 300 <= status < 400:
        return DeliveryResult(status, "Redirects are not followed.")
    try:
        return DeliveryResult(status, HTTPStatus(status).phrase)
    except ValueError:
        return DeliveryResult(status, "Unknown status.")


@contextmanager
def _connected(target: WebhookTarget, addresses: Iterable[str]) -> Iterator[HTTPConnection]:
    """Connect to one of these addresses. The connection is closed after `MOST_SECONDS`."""
    ended = threading.Event()
    plain = _first(addresses, target.port)
    # A separate handle: another thread cannot shut down a socket that is wrapped in TLS.
    handle = plain.dup()

    def end() -> None:
        ended.set()
        with suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(MOST_SECONDS, end)
    timer.start()
    connection = HTTPConnection(target.host, target.port)
    connection.sock = plain
    try:
        if target.is_secure:
            context = ssl.create_default_context()
            connection = HTTPSConnection(target.host, target.port, context=context)
            connection.sock = plain = context.wrap_socket(plain, server_hostname=target.host)
        yield connection
    finally:
        timer.cancel()
        connection.close()
        plain.close()
        handle.close()
        # The response is incomplete, whatever was read or raised.
        if ended.is_set():
            raise TimeoutError


def _first(addresses: Iterable[str], port: int) -> socket.socket:
    """Connect to the first reachable address. Raises the error of the last one."""
    failed: OSError = ConnectionRefusedError()
    for address in islice(addresses, _MOST_ADDRESSES):
        try:
            connected = socket.create_connection((address, port), timeout=_CONNECT_SECONDS)
        except OSError as error:
            failed = error
        else:
            connected.settimeout(MOST_SECONDS)
            return connected
    raise failed

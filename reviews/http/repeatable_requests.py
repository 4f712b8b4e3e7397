"""Responses to requests with an Idempotency-Key, kept for a day for repeated requests.

Keys belong to a person. Responses are encrypted, because some contain the text of a token or the address of
an invitation, which the database has as hashes only.
"""

from datetime import timedelta

import orjson
from django.db import connection
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone

from reviews.accounts.encryption import cipher, hash_token
from reviews.database import locks
from reviews.models import RepeatableRequest, User

KEPT_FOR = timedelta(days=1)
# The arguments of `encryption.cipher`.
_PURPOSE = ("reviews.http.repeatable_requests", "response")


def lock_key(person: User, key: str) -> bool:
    """Lock a key until the transaction ends. Return False if another request holds it."""
    return locks.try_acquire_text(f"repeatable_request {person.pk} {hash_token(key)}")


def find(person: User, key: str) -> RepeatableRequest | None:
    """Return the request with this key, if one succeeded."""
    return RepeatableRequest.objects.filter(person=person, key_hash=hash_token(key)).first()


def save(person: User, key: str, fingerprint: str, response: HttpResponse) -> None:
    """Store the response to a request, in the transaction of its effects."""
    assert connection.in_atomic_block
    parts = {
        "status": response.status_code,
        "headers": dict(response.items()),
        "body": response.content.decode(),
    }
    encrypted = cipher(*_PURPOSE).encrypt(orjson.dumps(parts)).decode()
    RepeatableRequest.objects.create(
        person=person, key_hash=hash_token(key), fingerprint=fingerprint, response=encrypted
    )


def response_of(request: RepeatableRequest) -> HttpResponseBase:
    """Return the stored response. Raises `InvalidToken` if the site's secret key has changed since."""
    parts = orjson.loads(cipher(*_PURPOSE).decrypt(request.response.encode()))
    return HttpResponse(parts["body"], status=parts["status"], headers=parts["headers"])


def remove_expired() -> None:
    """Remove requests that are older than `KEPT_FOR`."""
    RepeatableRequest.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()

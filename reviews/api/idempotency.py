"""`Idempotency-Key`: a request that is repeated with its key gets the first response, and has no effect.

The key is stored in the transaction of the request, together with the response. So a failed request stores
nothing, and can be corrected or repeated with the same key. While the first request runs, a repeated one is
refused (409).
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from reviews.api.bodies import content_length, read_parts
from reviews.api.lookup import check_visible
from reviews.api.problems import Problem, invalid_field
from reviews.http import repeatable_requests
from reviews.imports import uploads

Run = TypeVar("Run", bound=Callable[..., HttpResponseBase])
HEADER = "Idempotency-Key"
_LONGEST = 255
# Seconds. Most requests take less.
_RETRY_AFTER = 1
# Headers that belong to the request, like its body: those of `POST /uploads`.
_SENT_IN_HEADERS = ("Upload-Length", "Upload-Metadata")
# The OpenAPI schema of the header.
PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": _LONGEST},
    "description": "A new random text for each request. Repeating the request with it returns the first "
    "response, for a day.",
}


@dataclass
class Attempt:
    """A request with a key, until its response is stored."""

    key: str
    #: Closes the transaction and the temporary file.
    stack: ExitStack
    #: Set once the request is known to be the first one with its key.
    fingerprint: str = ""


def stores_response(run: Run) -> Run:
    """Decorate `run` of an operation (ninja), so that a request with a key stores its response."""

    @wraps(run)
    def stored(request: Any, **options: Any) -> HttpResponseBase:
        if HEADER not in request.headers:
            return run(request, **options)
        with ExitStack() as stack:
            request.attempt = attempt = Attempt(request.headers[HEADER], stack)
            response = run(request, **options)
            if attempt.fingerprint and response.status_code < HTTPStatus.BAD_REQUEST:
                saved = cast("HttpResponse", response)
                repeatable_requests.save(request.user, attempt.key, attempt.fingerprint, saved)
            elif attempt.fingerprint:
                transaction.set_rollback(True)
            return response

    return cast("Run", stored)


def find_response(request: Any, options: Mapping[str, Any], *, takes_file: bool) -> HttpResponseBase | None:
    """Return the response to a repeated request. Otherwise begin the transaction of its first attempt.

    The person has been authenticated. Raises `Problem` if the key cannot be used, and `Http404` if the person
    may not see the run any more.
    """
    attempt: Attempt | None = getattr(request, "attempt", None)
    if attempt is None:
        return None
    if not 0 < len(attempt.key) <= _LONGEST:
        raise invalid_field(HEADER, f"Send a text of 1 to {_LONGEST} characters.")
    fingerprint = _fingerprint(request, attempt.stack, takes_file=takes_file)
    attempt.stack.enter_context(transaction.atomic())
    if not repeatable_requests.lock_key(request.user, attempt.key):
        sentence = "The first request with this Idempotency-Key is still running."
        raise Problem(HTTPStatus.CONFLICT, sentence, slug="idempotency-key-in-use", retry_after=_RETRY_AFTER)
    before = repeatable_requests.find(request.user, attempt.key)
    if before is None:
        attempt.fingerprint = fingerprint
        return None
    if before.fingerprint != fingerprint:
        sentence = "This Idempotency-Key was already used for another request."
        errors = [(HEADER, "used before")]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, errors, slug="idempotency-key-reused")
    if "run" in options:
        check_visible(options["run"], request.user)
    try:
        response = repeatable_requests.response_of(before)
    except InvalidToken as error:
        sentence = (
            "The request succeeded, but its response cannot be read: the site's secret key has changed."
        )
        raise Problem(HTTPStatus.CONFLICT, sentence) from error
    response["Idempotency-Replayed"] = "true"
    return response


def _fingerprint(request: HttpRequest, stack: ExitStack, *, takes_file: bool) -> str:
    """Return the hash of everything that a repeated request must repeat."""
    found = hashlib.sha256()
    headers = [request.headers.get(name, "") for name in _SENT_IN_HEADERS]
    for part in (str(request.method), request.get_full_path(), *headers):
        found.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    if takes_file:
        _receive(request, stack, found.update)
    else:
        found.update(request.body)
    return found.hexdigest()


def _receive(request: HttpRequest, stack: ExitStack, update: Callable[[bytes], None]) -> None:
    """Receive a file before the transaction begins, which must not wait for a slow sender."""
    size = content_length(request) or 0
    uploads.check_size(size)
    file = cast("BinaryIO", stack.enter_context(TemporaryFile()))  # noqa: SIM115 (the stack closes it)
    for part in read_parts(request, size):
        file.write(part)
        update(part)
    file.seek(0)
    vars(request)["_stream"] = file

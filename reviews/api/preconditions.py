"""`ETag` and `If-Match` of records, so that a program replaces only the version it has read."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, TypeVar, cast

from django.db import transaction
from django.http import HttpResponse

from reviews.api import saved_decision
from reviews.api.lookup import get_record
from reviews.api.problems import Problem
from reviews.models import Evaluation
from reviews.queue.claims import lock_evaluation
from reviews.review import versions

View = TypeVar("View", bound=Callable[..., Any])
# The OpenAPI schema of the header.
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The `ETag` of the record when it was read. 412 if the record has another one now.",
}


def set_etag(response: HttpResponse, record: dict[str, Any]) -> dict[str, Any]:
    """Send the version of a record (`record_out`) as `ETag`. Return the record."""
    response.headers["ETag"] = _etag(record["version"])
    return record


def only_if_match(view: View) -> View:
    """Refuse a request whose If-Match is not the record's version, unless it repeats a saved one.

    A change between this check and the view is a conflict, as for `version` in the body.
    """

    @wraps(view)
    def checked(request: Any, run: str, evaluation_id: str, sent: Any, **others: Any) -> Any:
        if wanted := request.headers.get("If-Match", "").strip():
            record, key = get_record(run, evaluation_id, request.user), others.get("key")
            submission = saved_decision.submission_of(request.user, key) if key else None
            if not (submission and versions.sent_before(submission, record, request.user)):
                _check_version(wanted, record)
                if sent.version is None and wanted != "*":
                    sent.version = record.version
        return view(request, run=run, evaluation_id=evaluation_id, sent=sent, **others)

    return cast("View", checked)


def locked_if_match(view: View) -> View:
    """Lock the record of a request with If-Match, and refuse the request if its version differs."""

    @wraps(view)
    def checked(request: Any, run: str, evaluation_id: str, **others: Any) -> Any:
        if "If-Match" not in request.headers:
            return view(request, run=run, evaluation_id=evaluation_id, **others)
        record = get_record(run, evaluation_id, request.user)
        with transaction.atomic():
            check_if_match(request, lock_evaluation(record.pk))
            return view(request, run=run, evaluation_id=evaluation_id, **others)

    return cast("View", checked)


def check_if_match(request: Any, record: Evaluation) -> None:
    """Raise `Problem` (412) if the request has an If-Match that is not the version of the record."""
    if wanted := request.headers.get("If-Match", "").strip():
        _check_version(wanted, record)


def _check_version(wanted: str, record: Evaluation) -> None:
    if wanted != "*" and _etag(record.version) not in {one.strip() for one in wanted.split(",")}:
        sentence = "The record has changed since it was read. Read it again."
        raise Problem(HTTPStatus.PRECONDITION_FAILED, sentence)


def _etag(version: int) -> str:
    return f'"{version}"'

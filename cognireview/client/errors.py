"""Exceptions of the client."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PROBLEM = "application/problem+json"


class CogniReviewError(Exception):
    """A request failed, or the client is configured wrongly."""


class InvalidSettings(CogniReviewError):
    """The address or the token is missing or invalid."""


class Unreachable(CogniReviewError):
    """The server did not answer, also after retries. `__cause__` is the error of the connection."""


class UnexpectedResponse(CogniReviewError):
    """The response is not one that this version of the client knows, or it is damaged."""


class TimedOut(CogniReviewError):
    """Something was not finished in time. It continues on the server."""


class ImportFailed(CogniReviewError):
    """An import failed or was cancelled. The message says why."""


class ExportFailed(CogniReviewError):
    """An export failed or was cancelled. The message says why."""


@dataclass(frozen=True)
class FieldError:
    """An invalid field: its path in the request (`corrected_scores.Clarity.score`) or its place in a file."""

    field: str
    reason: str


class Problem(CogniReviewError):
    """The server refused a request. The members are those of the problem (RFC 9457)."""

    def __init__(self, status: int, members: Mapping[str, Any]) -> None:
        self.status = status
        self.type = str(members.get("type", "about:blank"))
        #: The last part of the type, such as `blind-scores-missing`. docs/api.md lists them.
        self.kind = kind_of(members)
        self.title = str(members.get("title", ""))
        self.detail = str(members.get("detail", ""))
        self.errors = tuple(_field_errors(members.get("errors")))
        #: Further members, such as `who` was first and `since` when.
        self.more = {
            name: value
            for name, value in members.items()
            if name not in {"type", "title", "status", "detail", "errors"}
        }
        named = "; ".join(f"{error.field}: {error.reason}" for error in self.errors)
        super().__init__(f"{status} {self.title}: {self.detail}" + (f" ({named})" if named else ""))


class Unauthenticated(Problem):
    """401: the token is invalid, expired or revoked."""


class Forbidden(Problem):
    """403: the scopes of the token or the role of its owner do not allow it."""


class NotFound(Problem):
    """404: it does not exist, or the owner of the token may not see it."""


class Conflict(Problem):
    """409: somebody else was first, or the record has changed. `more` has `who` and `since`."""


class BlindScoresMissing(Conflict):
    """409: the record is reviewed blind. Lock in scores first."""


class TooLarge(Problem):
    """413: the body or file is larger than the site accepts."""


class Invalid(Problem):
    """422: a field, a parameter, a filter or a file is invalid. `errors` names them."""


class FileRefused(Invalid):
    """422: the file cannot be imported."""


class TooManyRequests(Problem):
    """429: too many requests, also after retries."""


class TooManyUploads(TooManyRequests):
    """429: too many unfinished uploads, also after retries."""


class ServerError(Problem):
    """A status of 500 or above, also after retries."""


_CLASSES = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: TooManyRequests,
}
_CLASSES_OF_KINDS = {
    "blind-scores-missing": BlindScoresMissing,
    "file-refused": FileRefused,
    "too-many-uploads": TooManyUploads,
}


def problem_of(status: int, kind: str, body: bytes) -> Problem:
    """Return the exception for an error response. A proxy's response need not be a problem."""
    members: Any = None
    if kind.partition(";")[0].strip() == PROBLEM:
        try:
            members = json.loads(body)
        except ValueError:
            members = None
    if not isinstance(members, dict):
        text = body[:200].decode(errors="replace").strip()
        members = {"title": "No problem details", "detail": text or "The response is empty."}
    of_status = ServerError if status >= 500 else _CLASSES.get(status, Problem)
    return _CLASSES_OF_KINDS.get(kind_of(members), of_status)(status, members)


def kind_of(members: Mapping[str, Any]) -> str:
    """Return the last part of the type of a problem."""
    return str(members.get("type", "")).rstrip("/").rpartition("/")[2]


def _field_errors(given: Any) -> list[FieldError]:
    entries = given if isinstance(given, list) else []
    return [
        FieldError(str(entry.get("field", "")), str(entry.get("reason", "")))
        for entry in entries
        if isinstance(entry, dict)
    ]

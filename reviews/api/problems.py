"""Errors of the API, all as problem details (RFC 9457)."""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, UnreadablePostError
from ninja.errors import AuthenticationError, HttpError, ValidationError

from cognireview.operations import disk_full
from reviews.accounts.api_tokens import TokenError
from reviews.accounts.invitation_list import InvalidList
from reviews.accounts.people import AccountError
from reviews.accounts.permissions import Denied
from reviews.api.problem_types import PATH, type_of
from reviews.dashboard.bulk_changes import UndoRefused
from reviews.dashboard.splitting import SplitRefused
from reviews.database.locks import DEADLOCK, is_deadlock
from reviews.exports.documents import InvalidExport
from reviews.http.tus import TusError
from reviews.imports.uploads import FileTooLarge, UploadQuotaExceeded
from reviews.judge.judge_data import InvalidJudgeData
from reviews.judge.quality_gates import InvalidRequirement
from reviews.models import Evaluation
from reviews.records.conflicts import Conflict
from reviews.records.field_errors import sentence_of
from reviews.rubric.run_settings import InvalidSettings
from reviews.search.listing import QueryTooSlow
from reviews.search.saved_views import SavedViewError
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData
from reviews.storage.errors import ImportRefused
from reviews.webhooks.allowlist import TargetNotAllowed

PREFIX = "/api/v1/"
CONTENT_TYPE = "application/problem+json"
# A body of 180,000 unknown members would otherwise get a response of 11 MB.
_MOST_ERRORS = 100
_MOST_CHARACTERS = 500
_MOST_IN_DETAIL = 10_000
_KEPT_HEADERS = ("Allow", "WWW-Authenticate", "Retry-After")
# The default detail by status.
_SENTENCES = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read.",
    HTTPStatus.NOT_FOUND: "Not found. Check the address.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not support this method.",
    HTTPStatus.LENGTH_REQUIRED: "Send the size of the body as Content-Length.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Internal error. It was logged; try again in a moment.",
    HTTPStatus.INSUFFICIENT_STORAGE: disk_full.MESSAGE,
    HTTPStatus.SERVICE_UNAVAILABLE: "The database is unavailable. Try again in a moment.",
}
_TEXT = {"type": "string"}
_ERROR = {"type": "object", "properties": {"field": _TEXT, "reason": _TEXT}, "required": ["field", "reason"]}
_MEMBERS = {
    "type": {
        **_TEXT,
        "format": "uri-reference",
        "pattern": f"^{PATH}[a-z-]+/$",
        "description": "The path of a page that explains the type of problem. Rely on this member.",
        "examples": [type_of(HTTPStatus.NOT_FOUND).uri],
    },
    "title": {**_TEXT, "description": "The name of the type."},
    "status": {"type": "integer"},
    "detail": _TEXT,
}
# The OpenAPI schema of a problem.
SCHEMA = {
    "title": "Problem",
    "description": "A problem (RFC 9457). `detail` is a sentence; `errors` names the invalid fields.",
    "type": "object",
    "properties": {
        **_MEMBERS,
        "errors": {"type": "array", "items": _ERROR, "maxItems": _MOST_ERRORS},
        "more_errors": {
            "type": "integer",
            "description": f"The number of errors that are not listed: `errors` has at most {_MOST_ERRORS}.",
        },
        "who": {**_TEXT, "description": "For a conflict: the person who was first."},
        "since": {**_TEXT, "format": "date-time", "description": "For a conflict: the time since then."},
    },
    "required": [*_MEMBERS],
}


def openapi_problem(status: int) -> dict[str, Any]:
    """Return the OpenAPI schema of a response with a problem."""
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": f"{HTTPStatus(status).phrase}, as a problem.", "content": content}


class Problem(Exception):
    """The request failed.

    `errors` are (field, reason) pairs, `slug` names a type other than that of the status, `retry_after` is
    the number of seconds after which a repeated request may succeed, and `more` are further members of the
    response.
    """

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        *,
        slug: str = "",
        retry_after: int | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.slug = slug
        self.retry_after = retry_after
        self.more = more
        if errors := list(errors):
            self.more["errors"] = [{"field": field, "reason": reason} for field, reason in errors]


def invalid_field(field: str, sentence: str) -> Problem:
    """Return the problem (422) of one invalid field."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, [(field, sentence)])


def problem_response(status: int, detail: str = "", *, slug: str = "", **more: Any) -> HttpResponse:
    """Return a response with a problem, of the type with this slug or else of the status."""
    named, kind = HTTPStatus(status), type_of(status, slug)
    detail = _shorten(detail or _SENTENCES.get(named, f"{named.phrase}."), _MOST_IN_DETAIL)
    body = {"type": kind.uri, "title": kind.title, "status": status, "detail": detail, **more}
    if "errors" in more:
        body |= _first_errors(more["errors"])
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE)


def _first_errors(errors: list[dict[str, str]]) -> dict[str, Any]:
    """Return the first errors with shortened texts, and the number of the others."""
    shown = [
        {name: _shorten(text, _MOST_CHARACTERS) for name, text in one.items()}
        for one in errors[:_MOST_ERRORS]
    ]
    more = len(errors) - len(shown)
    return {"errors": shown, **({"more_errors": more} if more else {})}


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class ProblemMiddleware:
    """Turn all other error responses of the API into problems, such as Django's 404 and 405.

    It stays in this package because it needs the problem format of the API.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not request.path_info.startswith(PREFIX):
            return response
        if response.status_code >= HTTPStatus.BAD_REQUEST and response["Content-Type"] != CONTENT_TYPE:
            kept = {name: response[name] for name in _KEPT_HEADERS if name in response}
            response = problem_response(response.status_code)
            for name, value in kept.items():
                response[name] = value
        return response


def _problem(_request: HttpRequest, problem: Any) -> HttpResponse:
    response = problem_response(problem.status, problem.detail, slug=problem.slug, **problem.more)
    if problem.retry_after is not None:
        response["Retry-After"] = str(problem.retry_after)
    return response


def _unauthenticated(_request: HttpRequest, _error: Any) -> HttpResponse:
    response = problem_response(401, "Send a valid token: Authorization: Bearer cr_...")
    response["WWW-Authenticate"] = 'Bearer realm="CogniReview"'
    return response


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    if isinstance(error.__cause__, Problem):  # ninja wraps exceptions from reading a body
        return _problem(request, error.__cause__)
    return problem_response(error.status_code)


def _invalid(_request: HttpRequest, error: Any) -> HttpResponse:
    places = [(_field(one["loc"]), one) for one in error.errors]
    errors = [{"field": field, "reason": sentence_of(field, one)} for field, one in places]
    detail = errors[0]["reason"] if len(errors) == 1 else "The request is invalid."
    return problem_response(422, detail, errors=errors)


def _field(place: tuple[Any, ...]) -> str:
    """Return the path of an invalid value, such as `corrected_scores.Clarity.score`."""
    inside = place[2:] if place[0] == "body" else place[1:]
    return ".".join(map(str, inside)) or str(place[0])


def _with(status: int, sentence: str = "", slug: str = "") -> Callable[[HttpRequest, Any], HttpResponse]:
    def handler(_request: HttpRequest, error: Any) -> HttpResponse:
        return problem_response(status, sentence or str(error), slug=slug)

    return handler


def _conflict(_request: HttpRequest, conflict: Any) -> HttpResponse:
    return problem_response(409, conflict.reason, **conflict.members)


def _deadlock(_request: HttpRequest, error: Any) -> HttpResponse:
    """Return the problem of a deadlock, which ended the transaction. Django handles other errors."""
    if not is_deadlock(error):
        raise error
    return problem_response(409, DEADLOCK)


def _not_found(_request: HttpRequest, error: Any) -> HttpResponse:
    """Return the problem of an unknown name. Sentences by Django name classes of the program."""
    sentence = str(error)
    return problem_response(404, "" if sentence.endswith("matches the given query.") else sentence)


def _of_field(field: str = "", slug: str = "") -> Callable[[HttpRequest, Any], HttpResponse]:
    """Return the handler of an exception about one field, which is that of the exception if none is given."""

    def handler(_request: HttpRequest, error: Any) -> HttpResponse:
        errors = [{"field": field or error.field, "reason": str(error)}]
        return problem_response(422, str(error), slug=slug, errors=errors)

    return handler


def _of_upload(_request: HttpRequest, error: Any) -> HttpResponse:
    if error.status == HTTPStatus.PRECONDITION_FAILED:
        return problem_response(error.status, str(error), slug="protocol-version")
    return problem_response(error.status, str(error))


def _invalid_settings(_request: HttpRequest, invalid: Any) -> HttpResponse:
    errors = [
        {"field": name, "reason": sentence}
        for name, sentences in invalid.problems.items()
        for sentence in sentences
    ]
    return problem_response(422, str(invalid), errors=errors)


def _over_quota(_request: HttpRequest, error: Any) -> HttpResponse:
    if error.too_many:
        return problem_response(429, str(error), slug="too-many-uploads")
    return problem_response(413, str(error))


def _damaged(_request: HttpRequest, damaged: Any) -> HttpResponse:
    corruption.log_corruption(damaged)
    return problem_response(503, str(damaged), slug="damaged-file")


# The exceptions that become problems. Django handles and logs all others.
HANDLERS: Mapping[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    Problem: _problem,
    AuthenticationError: _unauthenticated,
    HttpError: _http_error,
    ValidationError: _invalid,
    Denied: _with(403),
    Conflict: _conflict,
    OperationalError: _deadlock,
    # The person lost access to the run, or the run was deleted, after the operation looked.
    Evaluation.DoesNotExist: _with(404, "There is no record with this id."),
    CorruptData: _damaged,
    Http404: _not_found,
    ImportRefused: _of_field(slug="file-refused"),
    InvalidSettings: _invalid_settings,
    InvalidExport: _with(422),
    InvalidJudgeData: _with(422),
    InvalidRequirement: _of_field("require"),
    InvalidList: _of_field("people"),
    AccountError: _of_field(),
    TokenError: _of_field("scopes"),
    SavedViewError: _of_field("name"),
    SplitRefused: _of_field("shares"),
    TargetNotAllowed: _of_field("url"),
    UndoRefused: _with(409),
    TusError: _of_upload,
    FileTooLarge: _with(413),
    UploadQuotaExceeded: _over_quota,
    RequestDataTooBig: _with(413, "The body is too large."),
    TooManyFieldsSent: _with(400, "The request has too many parameters."),
    SuspiciousOperation: _with(400),
    UnreadablePostError: _with(400, "The body is incomplete."),
    QueryTooSlow: _with(422, slug="query-too-slow"),
}

"""Errors of the API, all as problem details (RFC 9457)."""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from cognireview.operations import disk_full
from reviews.api.problem_types import PATH, type_of

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

"""The exceptions that operations of the API turn into problems."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from ninja.errors import AuthenticationError, HttpError, ValidationError

from reviews.accounts.api_tokens import TokenError
from reviews.accounts.invitation_list import InvalidList
from reviews.accounts.people import AccountError
from reviews.accounts.permissions import Denied
from reviews.api.problems import Problem, problem_response
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

"""Register operations of the API. The scopes of the token and the role of its owner limit access."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, TypeVar, cast, get_args

from django.http import HttpRequest
from django.urls import register_converter
from django.urls.converters import StringConverter
from django.utils.functional import SimpleLazyObject
from ninja import Router
from ninja.decorators import decorate_view
from ninja.security import HttpBearer
from ninja.utils import contribute_operation_callback

from cognireview.operations import logs
from cognireview.types.operations import Operation
from reviews.accounts import api_tokens
from reviews.accounts.permissions import Denied, check
from reviews.api import idempotency
from reviews.api.bodies import JSON_PROBLEMS, Body
from reviews.api.problems import Problem, openapi_problem
from reviews.api.response_schemas import response_schema
from reviews.models import ApiToken, User


class EvaluationIdConverter(StringConverter):
    """Match any text, including slashes and line breaks.

    A run's name has no slash, but an id may contain any character. So that the path of a record has one
    meaning, GET takes all that follows `/evaluations/` as the id. Other methods take the last segment as the
    operation.
    """

    regex = r"[\s\S]+"


register_converter(EvaluationIdConverter, "evaluation_id")

_CONVERTERS = {"evaluation_id": "evaluation_id", "upload_id": "uuid"}


def django_path(path: str, *, takes_any_run: bool = False) -> str:
    """Return the path of an operation with Django's converters. Other ids than those named are integers."""
    if takes_any_run:
        path = path.replace("{run}", "{path:run}")
    return re.sub(r"{(\w+_id)}", lambda found: f"{{{_CONVERTERS.get(found[1], 'int')}:{found[1]}}}", path)


View = TypeVar("View", bound=Callable[..., Any])
# Problems of every operation: invalid token, missing scope or role, unknown parameters, too many requests.
_ALWAYS = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_SAFE = {"GET", "HEAD"}


class ApiRequest(HttpRequest):
    """A request with a valid token; `user` is its owner."""

    user: User
    #: The token.
    auth: ApiToken


class TokenAuth(HttpBearer):
    """Require a token with a scope that the role of its owner still allows."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = api_tokens.authenticate(token)
        if found is None:
            return None
        logs.set_user(found.person_id)
        if self._scope not in found.scopes:
            raise Denied(f"This token does not have the scope {self._scope}.")
        check(found.person, api_tokens.SCOPES[self._scope])
        request.user = found.person
        return found


def operation(
    router: Router,
    registered: Operation[Any],
    *,
    scope: str,
    permission: str = "",
    status: int | None = None,
    response: Any = None,
    problems: Iterable[int] = (),
    files: Iterable[str] = (),
    parameters: list[dict[str, Any]] | None = None,
    takes_any_run: bool = False,
    is_in_schema: bool = True,
    **extra: Any,
) -> Callable[[View], View]:
    """Register the view of an operation for tokens with a scope. Its name is the id of the operation.

    The role of the owner needs the `permission` besides that of the scope (`permissions.check`). The usual
    `status` of success is 200, or 204 without a response. `response` is a schema that is no type of the
    client. `problems` are the statuses that neither the path nor a JSON body implies. `files` are the content
    types of a file response. `parameters` and `extra` add to the OpenAPI schema what the signature does not
    have. With `takes_any_run`, the view takes names of runs that do not exist or have slashes. Operations
    that change something take an Idempotency-Key, unless the view stores the key.
    """
    method, path = registered.method, django_path(registered.path, takes_any_run=takes_any_run)
    responses = _successes(registered, response or registered.returns, status, is_file=bool(files))
    implied = [] if takes_any_run or "{" not in path else [HTTPStatus.NOT_FOUND]
    in_query = {*registered.query, *(one["name"] for one in parameters or () if one["in"] == "query")}

    def register(view: View) -> View:
        arguments = inspect.signature(view).parameters
        is_keyed = method not in _SAFE and registered.may_repeat and "key" not in arguments
        statuses = [*implied, *problems, *(JSON_PROBLEMS if any(map(_is_body, arguments.values())) else ())]
        additions = _additions(statuses, files, parameters or (), is_keyed=is_keyed)
        view = _check_permission(view, permission) if permission else view
        view = _answer_repeated(view, takes_file="requestBody" in extra) if is_keyed else view
        checked = _reject_unknown_parameters(view, in_query)
        decorate: Callable[[View], View] = router.api_operation(
            [method],
            path,
            auth=TokenAuth(scope),
            operation_id=view.__name__,
            summary=view.__name__.replace("_", " ").capitalize(),
            openapi_extra={"x-scope": scope, **additions, **extra},
            include_in_schema=is_in_schema,
        )
        contribute_operation_callback(checked, partial(_set_responses, responses))
        return decorate(checked)

    return register


def _set_responses(responses: dict[int, Any], registered: Any) -> None:
    """Give ninja's operation the schemas of its responses. Those of all operations take 7 MB and 0.2 s."""
    registered.response_models = {
        status: kind and SimpleLazyObject(partial(response_schema, kind))
        for status, kind in responses.items()
    }


def _successes(
    registered: Operation[Any], returned: Any, status: int | None, *, is_file: bool
) -> dict[int, Any]:
    """Return the type of a successful response by its status."""
    usual = HTTPStatus.OK if returned or is_file else HTTPStatus.NO_CONTENT
    found: dict[int, Any] = {status or usual: returned}
    return found | ({HTTPStatus.NO_CONTENT: None} if registered.may_be_empty else {})


def _additions(
    statuses: Iterable[int], files: Iterable[str], parameters: Iterable[dict[str, Any]], *, is_keyed: bool
) -> dict[str, Any]:
    """Return responses and parameters of an operation that do not follow from the signature of its view."""
    problems = [*_ALWAYS, *statuses, *([HTTPStatus.CONFLICT] if is_keyed else ())]
    responses: dict[int, Any] = {int(status): openapi_problem(status) for status in problems}
    if files:
        binary = {"schema": {"type": "string", "format": "binary"}}
        responses[200] = {"content": dict.fromkeys(files, binary)}
    stated = [*parameters, *([idempotency.PARAMETER] if is_keyed else ())]
    return {"responses": responses} | ({"parameters": stated} if stated else {})


def _is_body(argument: inspect.Parameter) -> bool:
    kinds = get_args(argument.annotation) or (argument.annotation,)
    return any(isinstance(kind, type) and issubclass(kind, Body) for kind in kinds)


def _check_permission(view: View, permission: str) -> View:
    @wraps(view)
    def checked(request: ApiRequest, *args: Any, **options: Any) -> Any:
        check(request.user, permission)
        return view(request, *args, **options)

    return cast("View", checked)


def _answer_repeated(view: View, *, takes_file: bool) -> View:
    """Store each response, and return the stored one to a repeated request instead of calling the view."""

    @wraps(view)
    def answered(request: ApiRequest, *args: Any, **options: Any) -> Any:
        before = idempotency.find_response(request, options, takes_file=takes_file)
        return before if before is not None else view(request, *args, **options)

    return cast("View", decorate_view(idempotency.stores_response)(answered))


def _reject_unknown_parameters(view: View, known: Collection[str]) -> View:
    @wraps(view)
    def checked(request: ApiRequest, *args: Any, **options: Any) -> Any:
        if unknown := [name for name in request.GET if name not in known]:
            sentence = "Unknown parameter."
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, [(name, sentence) for name in unknown])
        return view(request, *args, **options)

    return cast("View", checked)

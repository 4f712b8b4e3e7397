"""Who asks: a token stands for a person, whose role decides with its scopes."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from http import HTTPStatus
from typing import Any, TypeVar, cast

from django.http import HttpRequest
from ninja import Router
from ninja.security import HttpBearer

from cognireview.operations import logs
from reviews.accounts import api_tokens
from reviews.accounts.permissions import Denied, check
from reviews.api.problems import Problem, openapi_problem
from reviews.models import ApiToken, User

View = TypeVar("View", bound=Callable[..., Any])
# Whatever an operation is about: a token that is none or does not reach that far, and unknown parameters.
_ALWAYS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)


class ApiRequest(HttpRequest):
    """A request whose token was found: the person it stands for is its user."""

    user: User


class TokenAuth(HttpBearer):
    """Lets in who shows a token with a scope, as far as the person's role still allows that."""

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
    method: str,
    path: str,
    *,
    scope: str,
    response: Any,
    problems: Iterable[int] = (),
    file: str = "",
    parameters: list[dict[str, Any]] | None = None,
    **extra: Any,
) -> Callable[[View], View]:
    """Make a view an operation of the API for tokens with a scope.

    `response` is by status, as ninja has it; `problems` are the statuses of problems that not every operation
    has, `file` is the type of a file that it answers with. `parameters` and `extra` are OpenAPI for what the
    view's own arguments do not say.
    """
    answers: dict[int, Any] = {int(status): openapi_problem(status) for status in (*_ALWAYS, *problems)}
    if file:
        answers[200] = {"content": {file: {"schema": {"type": "string", "format": "binary"}}}}
    told: dict[str, Any] = {"x-scope": scope, "responses": answers, **extra}
    if parameters:
        told["parameters"] = parameters
    decorate: Callable[[View], View] = router.api_operation(
        [method], path, auth=TokenAuth(scope), response=response, openapi_extra=told
    )
    more = {parameter["name"] for parameter in parameters or ()}
    return lambda view: decorate(_taking_no_other(view, more))


def _taking_no_other(view: View, more: set[str]) -> View:
    """Refuse query parameters that the view does not have, beside `more`, instead of leaving them aside."""
    names = more | set(inspect.signature(view).parameters)

    @wraps(view)
    def checked(request: ApiRequest, *args: Any, **options: Any) -> Any:
        if unknown := [name for name in request.GET if name not in names]:
            sentence = "There is no such parameter."
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, [(name, sentence) for name in unknown])
        return view(request, *args, **options)

    return cast("View", checked)

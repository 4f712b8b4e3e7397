"""Who asks: a token stands for a person, whose role decides with its scopes."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest
from ninja import Router
from ninja.security import HttpBearer

from cognireview import logs
from reviews import tokens
from reviews.api.problems import CONTENT_TYPE
from reviews.models import ApiToken, User
from reviews.permissions import Denied, check

View = TypeVar("View", bound=Callable[..., Any])
_TEXT = {"type": "string"}
_PAIR = {"type": "object", "properties": {"field": _TEXT, "reason": _TEXT}}
_MEMBERS = {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT}
_PROBLEM = {
    "description": "A problem (RFC 9457): `detail` is a sentence, `errors` says what is wrong where.",
    "content": {
        CONTENT_TYPE: {
            "schema": {
                "type": "object",
                "properties": {**_MEMBERS, "errors": {"type": "array", "items": _PAIR}},
                "required": [*_MEMBERS],
            }
        }
    },
}


class ApiRequest(HttpRequest):
    """A request whose token was found: the person it stands for is its user."""

    user: User


class Token(HttpBearer):
    """Lets in who shows a token with a scope, as far as the person's role still allows that."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = tokens.find(token)
        if found is None:
            return None
        logs.asked_by(found.person_id)
        if self._scope not in found.scopes:
            raise Denied(f"This token does not have the scope {self._scope}.")
        check(found.person, tokens.SCOPES[self._scope])
        request.user = found.person
        return found


def operation(
    router: Router,
    method: str,
    path: str,
    *,
    scope: str,
    response: Any,
    parameters: list[dict[str, Any]] | None = None,
    **extra: Any,
) -> Callable[[View], View]:
    """Make a view an operation of the API for tokens with a scope.

    `response` is by status, as ninja has it; `parameters` and `extra` are OpenAPI for what the view's own
    arguments do not say.
    """
    told: dict[str, Any] = {"x-scope": scope, "responses": {"4XX": _PROBLEM}, **extra}
    if parameters:
        told["parameters"] = parameters
    decorate: Callable[[View], View] = router.api_operation(
        [method], path, auth=Token(scope), response=response, openapi_extra=told
    )
    return decorate

"""API tokens of the owner of a token. A new token allows less than the one that creates it."""

from typing import Annotated, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Router
from pydantic import StringConstraints

from cognireview.types import operations, people
from cognireview.types.encoding import members
from reviews.accounts import api_tokens
from reviews.accounts.permissions import Denied, can
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.models import ApiToken

router = Router(tags=["tokens"])


class TokenIn(Body):
    """The scopes and validity of a new token for yourself."""

    name: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern="^[^\x00]*$")
    ] = Field(description="What it is for.")
    scopes: list[people.Scope] = Field(
        min_length=1, max_length=20, description="Scopes of the sending token."
    )
    days: int = Field(
        default=1, ge=1, le=api_tokens.MAX_DAYS, description="It ends with the sending token at the latest."
    )


@operation(router, operations.TOKENS, scope="tokens")
def list_tokens(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List your valid tokens, the newest first; with the scope `manage`, those of everybody."""
    if _manages(request):
        found = api_tokens.all_valid_tokens()
    else:
        found = api_tokens.valid_tokens(request.user).select_related("person")
    return [
        members(people.Token, token)
        for token in list_by_key(request, response, found, after=after, limit=limit)
    ]


@operation(router, operations.OWN_TOKEN, scope="read")
def get_own_token(request: ApiRequest) -> dict[str, Any]:
    """Return the token of this request, with the scopes that the role of its owner still allows."""
    usable = [scope for scope in request.auth.scopes if can(request.user, api_tokens.SCOPES[scope])]
    return {**members(people.Token, request.auth), "scopes": usable}


@operation(router, operations.CREATE_TOKEN, scope="tokens")
def create_token(request: ApiRequest, sent: TokenIn) -> dict[str, Any]:
    """Create a token for yourself, with scopes of the sending token and without the scope `tokens`.

    A token that could create tokens like itself would never end.
    """
    if missing := [scope for scope in sent.scopes if scope not in request.auth.scopes]:
        raise Denied(
            f"A token can pass on only its own scopes. This one does not have: {', '.join(missing)}."
        )
    if "tokens" in sent.scopes:
        raise Denied("Tokens that create tokens are created in the browser or by manage.py create_token.")
    made = api_tokens.create(
        person=request.user,
        actor=request.user,
        name=sent.name,
        scopes=sent.scopes,
        days=sent.days,
        until=request.auth.expires_at,
    )
    return {**members(people.Token, made.token), "text": made.text}


@operation(router, operations.REVOKE_TOKEN, scope="tokens")
def revoke_token(request: ApiRequest, token_id: int) -> None:
    """Revoke one of your tokens; with the scope `manage`, anybody's."""
    token = get_object_or_404(ApiToken.objects.select_related("person"), pk=token_id)
    if token.person_id != request.user.pk and not _manages(request):
        raise Http404
    api_tokens.revoke(token=token, actor=request.user)


def _manages(request: ApiRequest) -> bool:
    return "manage" in request.auth.scopes and can(request.user, "manage_people")

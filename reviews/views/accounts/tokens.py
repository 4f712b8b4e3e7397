"""Revoke API tokens."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from reviews.accounts import api_tokens
from reviews.accounts.permissions import can
from reviews.http.request import Request
from reviews.models import ApiToken


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    """Revoke one's own token or, as an admin, any token."""
    token = get_object_or_404(ApiToken.objects.select_related("person"), pk=pk)
    is_own = token.person_id == request.user.pk
    if not is_own and not can(request.user, "manage_people"):
        raise Http404
    api_tokens.revoke(token=token, actor=request.user)
    messages.success(request, f"Token {token.prefix}… revoked.")
    return redirect("account") if is_own else redirect("person", token.person_id)

"""Sign in through an OpenID Connect provider. `ProviderAdapter` takes accounts and roles from it."""

from importlib import import_module

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.adapters import ProviderLoginFailed
from reviews.http.errors import error_page


@login_not_required
@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect the browser to the provider."""
    return _step("begin", request, provider_id)


@login_not_required
@require_safe
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Finish the login: the provider redirects the browser to this address."""
    return _step("finish", request, provider_id)


def _step(name: str, request: HttpRequest, provider_id: str) -> HttpResponse:
    step = getattr(import_module("reviews.accounts.openid_connect"), name)
    try:
        response: HttpResponse = step(request, provider_id)
    except ProviderLoginFailed:
        sentence = f"{settings.OIDC_NAME} did not confirm who you are. Go to the login page and try again."
        return error_page(request, 401, "Login failed", sentence)
    return response

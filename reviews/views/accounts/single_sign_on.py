"""Sign in through an OpenID Connect provider. `ProviderAdapter` takes accounts and roles from it."""

from typing import Any

from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from requests import RequestException

from reviews.accounts.adapters import ProviderLoginFailed
from reviews.http.errors import error_page

# Not an installed app: allauth would import the provider with its HTTP libraries in every command.
registry.register(OpenIDConnectProvider)


class _StrictAdapter(OpenIDConnectOAuth2Adapter):
    """Always check the signature of the ID token, and that the user info is about the same person."""

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **options: Any) -> SocialLogin:
        login: SocialLogin = super().complete_login(request, app, token, **options)
        data = login.account.extra_data
        if "id_token" not in data or data["userinfo"].get("sub") != data["id_token"].get("sub"):
            raise OAuth2Error("The ID token and the user info are not about the same person.")
        return login

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        try:
            decoded: dict[str, Any] = jwtkit.verify_and_decode(
                credential=id_token,
                keys_url=self.openid_config["jwks_uri"],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        except KeyError as missing:
            raise OAuth2Error(f"The ID token or the provider's keys lack {missing}.") from missing
        return decoded


@login_not_required
@never_cache
@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect the browser to the provider."""
    try:
        return _respond(OAuth2LoginView, request, provider_id)
    except (RequestException, KeyError):
        return _failed(request)


@login_not_required
@never_cache
@require_safe
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Finish the login: the provider redirects the browser to this address."""
    return _respond(OAuth2CallbackView, request, provider_id)


def _respond(view: Any, request: HttpRequest, provider_id: str) -> HttpResponse:
    try:
        response: HttpResponse = view.adapter_view(_StrictAdapter(request, provider_id))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except ProviderLoginFailed:
        return _failed(request)
    return response


def _failed(request: HttpRequest) -> HttpResponse:
    sentence = f"{settings.OIDC_NAME} did not confirm who you are. Go to the login page and try again."
    return error_page(request, 401, "Login failed", sentence)

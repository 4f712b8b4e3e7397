"""Log in through an OpenID Connect provider.

Imported by the first such login, because allauth's HTTP libraries take 5 MB and no other page needs them.
"""

from typing import Any

from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import Http404, HttpRequest, HttpResponse
from requests import RequestException

from reviews.accounts.adapters import ProviderLoginFailed

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


def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect the browser to the provider. Raises `ProviderLoginFailed` and `Http404`."""
    try:
        return _respond(OAuth2LoginView, request, provider_id)
    except (RequestException, KeyError) as error:
        raise ProviderLoginFailed from error


def finish(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Log in the person whom the provider names. Raises `ProviderLoginFailed` and `Http404`."""
    return _respond(OAuth2CallbackView, request, provider_id)


def _respond(view: Any, request: HttpRequest, provider_id: str) -> HttpResponse:
    try:
        response: HttpResponse = view.adapter_view(_StrictAdapter(request, provider_id))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return response

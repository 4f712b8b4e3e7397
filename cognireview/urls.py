"""All URLs are the app's: its pages and its API. Some have a second name, by which allauth looks for them."""

from django.urls import include, path

from reviews.api.problems import PREFIX
from reviews.api.urls import addresses as api
from reviews.urls import urlpatterns as pages

_NAMES_OF_ALLAUTH = {
    "account_login": "login",
    "account_reauthenticate": "reauthenticate",
    "mfa_activate_totp": "add-app",
    "mfa_authenticate": "second-factor",
    "mfa_deactivate_totp": "remove-app",
    "mfa_index": "account",
    "mfa_reauthenticate": "reauthenticate-by-code",
    "mfa_reauthenticate_webauthn": "reauthenticate-by-passkey",
    "openid_connect_callback": "single-sign-on-callback",
    "openid_connect_login": "single-sign-on",
}
_by_name = {page.name: page for page in pages}

urlpatterns = [
    path("", include("reviews.urls")),
    path(PREFIX.removeprefix("/"), api),
    *(
        path(str(_by_name[ours].pattern), _by_name[ours].callback, name=theirs)
        for theirs, ours in _NAMES_OF_ALLAUTH.items()
    ),
]

handler400 = "reviews.http.errors.bad_request"
handler403 = "reviews.http.errors.permission_denied"
handler404 = "reviews.http.errors.not_found"
handler500 = "reviews.http.errors.server_error"

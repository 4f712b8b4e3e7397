"""A site with https: its settings, a browser of its public host, and what each of its responses must have."""

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings

from cognireview.web import headers
from reviews.models import User

HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}
HOST = "review.example.org"
# Prefixes of the settings that https changes. All others are as for any test.
ABOUT_ANSWERS = ("SECURE_", "SESSION_COOKIE_", "CSRF_", "X_FRAME", "ALLOWED_HOSTS", "PUBLIC_URL")


def settings_of_https() -> ModuleType:
    """Load the settings module as for a site with https."""
    path = Path(settings.BASE_DIR, "cognireview", "settings.py")
    spec = importlib.util.spec_from_file_location("https_settings", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COGNIREVIEW_PUBLIC_URL", f"https://{HOST}")
        spec.loader.exec_module(module)
    return module


@contextmanager
def https() -> Iterator[None]:
    """Use the settings of a site with https."""
    module = settings_of_https()
    about = {name: getattr(module, name) for name in dir(module) if name.startswith(ABOUT_ANSWERS)}
    assert about["SECURE_SSL_REDIRECT"]
    assert about["SESSION_COOKIE_SECURE"]
    with override_settings(**about):
        yield


class Browser(Client):
    """A browser that sends requests over https to the public host."""

    def __init__(self, person: User | None = None, **defaults: Any) -> None:
        super().__init__(SERVER_NAME=HOST, **defaults)
        if person:
            self.force_login(person)

    def generic(self, *args: Any, **how: Any) -> Any:
        return super().generic(*args, **{**how, "secure": True})


def assert_safe(path: str, response: Any) -> None:
    """Check headers, cookies and scripts of a response, and the redirect from plain http."""
    assert_safe_response(path, response)
    assert_redirect_to_https(path)


def assert_redirect_to_https(path: str) -> None:
    """Check that an address answers over plain http with a redirect."""
    plain = Client(SERVER_NAME=HOST).get(path)
    assert plain.status_code == 301, path
    assert plain["Location"].startswith(f"https://{HOST}/"), path


def assert_safe_response(path: str, response: Any) -> None:
    """Check headers, cookies and scripts of a response."""
    for name, value in {**headers.ALWAYS, **HEADERS}.items():
        assert response.headers[name] == value, (path, name)
    assert response.headers.get("Access-Control-Allow-Credentials") is None
    directives = response.headers["Content-Security-Policy"].split("; ")
    assert {*directives} >= POLICY, (path, directives)
    # Pages of a second factor show a code as a picture, and logins may go to the identity provider.
    assert {one.split()[0] for one in {*directives} - POLICY} <= {"img-src", "form-action"}
    assert not re.search(r"unsafe|http:|\*", response.headers["Content-Security-Policy"]), path
    for cookie in response.cookies.values():
        if cookie["max-age"] != 0:
            assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax"), path
    for source in re.findall(r'<script[^>]*\bsrc="([^"]*)', response.getvalue().decode("utf-8", "replace")):
        assert re.match(r"/[^/]", source), (path, source)

"""Every response over https has security headers, safe cookies, and no scripts of other sites.

`test_access` checks the same for each address, person and method.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings
from django.db import connection
from django.urls import reverse

from reviews.accounts import api_tokens, one_time_links, people
from reviews.exports import jobs, output
from reviews.models import Evaluation, Export, User
from tests.support.factories import PASSWORD
from tests.support.https import Browser, assert_safe, https
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _https() -> Iterator[None]:
    with https():
        yield


def test_login_pages_have_security_headers(max: User) -> None:
    """Check the cookies that a login sets."""
    for path in (
        reverse("login"),
        reverse("join", args=[one_time_links.invite(role="lead", actor=max).token]),
        reverse("new-password", args=[one_time_links.create_password_link(person=max, actor=max).token]),
    ):
        response = Browser().get(path)
        assert response.status_code == 200
        assert response.cookies
        assert_safe(path, response)


def test_setup_page_has_security_headers(db: None) -> None:
    path = reverse("welcome", args=[people.welcome_token()])
    response = Browser().get(path)
    assert response.status_code == 200
    assert_safe(path, response)


def test_login_cookies_are_secure(ana: User) -> None:
    browser = Browser()
    response = browser.post(reverse("login"), {"login": "ana", "password": PASSWORD})
    assert response.status_code == 302
    names = set(response.cookies)
    assert {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME} <= names
    for name in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME):
        cookie = response.cookies[name]
        # Without these browsers refuse a cookie of that prefix.
        assert name.startswith("__Host-")
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert_safe(reverse("login"), response)


@pytest.mark.slow
def test_second_factor_pages_have_security_headers(ana: User) -> None:
    browser = Browser(ana)
    browser.post(reverse("reauthenticate"), {"password": PASSWORD})
    for name in ("add-app", "add-passkey"):
        response = browser.get(reverse(name))
        assert response.status_code == 200
        assert_safe(reverse(name), response)
    assert "data:image/" in browser.get(reverse("add-app")).content.decode()
    codes = browser.post(reverse("new-codes"))
    assert_safe(reverse("new-codes"), codes)
    TOTP.activate(ana, generate_totp_secret())
    half = Browser()
    half.post(reverse("login"), {"login": "ana", "password": PASSWORD})
    asked = half.get(reverse("second-factor"))
    assert asked.status_code == 200
    assert_safe(reverse("second-factor"), asked)


@pytest.mark.slow
def test_downloads_have_security_headers(max: User) -> None:
    run = import_data(file_of(line(), b"no record")).target_run
    export = jobs.enqueue(options=output.ExportOptions(run), actor=max)
    jobs.build(export_id=export.pk)
    browser = Browser(max)
    export = Export.objects.get()
    record = Evaluation.objects.get()
    brought = record.first_import_id
    for name, key in {
        "export-file": export.pk,
        "export-receipt": export.pk,
        "line": record.pk,
        "import-rejected": brought,
        "import-exceptions": brought,
        "independent-reviews": run.pk,
    }.items():
        response = browser.get(reverse(name, args=[key]))
        assert response.status_code == 200
        assert "attachment" in response["Content-Disposition"]
        assert_safe(reverse(name, args=[key]), response)


@pytest.mark.slow
def test_api_has_security_headers(max: User) -> None:
    token = api_tokens.create(person=max, scopes=api_tokens.SCOPES, actor=None).text
    program = Browser(headers={"Authorization": f"Bearer {token}"})
    for path, status in {"runs": 200, "runs/0": 404, "openapi.json": 200, "nothing": 404}.items():
        response = program.get(f"/api/v1/{path}")
        assert response.status_code == status
        assert_safe(f"/api/v1/{path}", response)
    assert_safe("/api/v1/runs", Browser().get("/api/v1/runs"))


def test_static_files_have_security_headers() -> None:
    files = ["css/tokens.css", "keys.js", "icon.svg", "vendor/katex/katex.mjs", "nothing.js"]
    for name in files:
        path = f"/static/{name}"
        assert_safe(path, Browser().get(path))


def failing(*_: object, **__: object) -> None:
    raise RuntimeError


def wrong_host(_: pytest.MonkeyPatch, browser: Browser) -> Any:
    return browser.get(reverse("login"), headers={"host": "evil.example"})


def no_token(_: pytest.MonkeyPatch, browser: Browser) -> Any:
    strict = Browser(enforce_csrf_checks=True)
    return strict.post(reverse("login"))


def our_error(patch: pytest.MonkeyPatch, browser: Browser) -> Any:
    patch.setattr("reviews.queue.progress.all_progress", failing)
    browser.raise_request_exception = False
    return browser.get(reverse("runs"))


def error_of_the_api(patch: pytest.MonkeyPatch, browser: Browser) -> Any:
    patch.setattr("reviews.accounts.api_tokens.authenticate", failing)
    browser.raise_request_exception = False
    return browser.get("/api/v1/runs", headers={"Authorization": "Bearer x"})


def no_database(patch: pytest.MonkeyPatch, browser: Browser) -> Any:
    connection.close()
    patch.setitem(connection.settings_dict, "HOST", "/nowhere")
    return browser.get("/readyz")


ERRORS: dict[int, list[Callable[[pytest.MonkeyPatch, Browser], Any]]] = {
    400: [wrong_host],
    403: [no_token],
    500: [our_error, error_of_the_api],
    503: [no_database],
}


@pytest.mark.parametrize(
    ("status", "ask"), [(status, ask) for status, asks in ERRORS.items() for ask in asks]
)
def test_errors_have_security_headers(
    status: int, ask: Callable[..., Any], max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = ask(monkeypatch, Browser(max))
    assert response.status_code == status
    assert_safe("/login/", response)

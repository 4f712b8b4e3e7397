"""Requests for unknown hosts, and others that Django rejects before a view is called."""

import logging
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.test import Client
from django.urls import reverse

from cognireview.operations.logs import TextFormatter, drop_refusal_traceback
from cognireview.web.headers import ALWAYS
from reviews.models import User

pytestmark = pytest.mark.django_db
HOSTS = [
    "evil.example",
    "evil.example:8000",
    "",
    "a b",
    "localhost@evil.example",
    "x" * 5000,
    "\u0430.example",
    "[::",
]
STRICT = [
    *ALWAYS,
    "Cache-Control",
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "X-Frame-Options",
]


@pytest.fixture
def log() -> Any:
    """Capture log lines as the settings format them."""
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(TextFormatter("{levelname} {name}: {message}", style="{"))
    handler.addFilter(drop_refusal_traceback)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


class TestUnknownHost:
    @pytest.mark.parametrize("host", HOSTS)
    @pytest.mark.parametrize("path", ["/", "/login/", "/api/v1/runs", "/static/css/tokens.css", "/nowhere"])
    def test_unknown_host_gets_400_with_security_headers(self, path: str, host: str, client: Client) -> None:
        response = client.get(path, headers={"host": host})
        assert response.status_code == 400
        assert f"This site is at {settings.PUBLIC_URL}" in response.content.decode()
        assert [name for name in STRICT if name not in response.headers] == []
        assert host != "evil.example" or "evil" not in response.content.decode()

    def test_unknown_host_gets_400_with_https_redirect(self, client: Client, settings: LazySettings) -> None:
        settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 60
        browser = Client()
        response = browser.get("/login/", headers={"host": "evil.example"})
        assert response.status_code == 400
        assert [name for name in STRICT if name not in response.headers] == []
        response = browser.get("/login/", headers={"host": "evil.example"}, secure=True)
        assert (response.status_code, "Strict-Transport-Security" in response.headers) == (400, True)
        assert browser.get("/login/", headers={"host": "localhost"})["Location"] == "https://localhost/login/"

    @pytest.mark.parametrize("host", ["evil.example", "evil\r\nINFO made up", "\x1b[31m", "x" * 5000])
    def test_unknown_host_is_logged_in_one_line(self, host: str, client: Client, log: StringIO) -> None:
        client.get("/login/", headers={"host": host})
        [line] = log.getvalue().splitlines()
        assert line.startswith("WARNING reviews.http.hosts: 400 for a request to the unknown host '")
        assert host[:4].encode("unicode_escape").decode() in line
        assert line.isprintable()
        assert len(line) < 300

    def test_probe_by_unknown_host_is_answered(self, client: Client) -> None:
        assert client.get("/healthz", headers={"host": "10.0.0.7:8000"}).status_code == 200


@pytest.mark.slow
def test_rejected_form_logs_no_traceback(client: Client, max: User, log: StringIO) -> None:
    client.force_login(max)
    response = client.post(reverse("invite"), {f"f{number}": "" for number in range(3001)})
    assert response.status_code == 400
    assert [name for name in STRICT if name not in response.headers] == []
    assert "Traceback" not in log.getvalue()
    assert log.getvalue().count("django.security.") == 1

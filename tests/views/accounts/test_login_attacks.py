"""Attacks on the login and on sessions: guessing, redirects and stolen sessions."""

import re
from itertools import product
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import (
    TOTP,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.conf import LazySettings
from django.conf import settings as configured
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.accounts import api_tokens
from reviews.models import AuditEvent, User
from tests.support.factories import PASSWORD
from tests.support.pages import text

pytestmark = pytest.mark.django_db


class TestOpenRedirect:
    """After a login, people are only redirected to pages of this site."""

    ELSEWHERE = (
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "https:evil.example",
        "https:///evil.example",
        "\thttps://evil.example/",
        "/\t/evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://testserver@evil.example/",
        "http://testserver.evil.example/",
    )

    def assert_here(self, place: str) -> None:
        assert re.match(r"/(?![/\\\t\r\n])", place), place

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "elsewhere",
        [
            pytest.param(place, marks=[pytest.mark.exhaustive] if number % 4 else [])
            for number, place in enumerate(ELSEWHERE)
        ],
    )
    def test_login_does_not_redirect_to_other_site(self, elsewhere: str, client: Client, ana: User) -> None:
        posted = {"login": "ana", "password": PASSWORD, "next": elsewhere}
        self.assert_here(client.post(reverse("login"), posted)["Location"])
        again = client.post(
            f"{reverse('reauthenticate')}?{QueryDict(mutable=True).urlencode()}",
            {"password": PASSWORD, "next": elsewhere},
        )
        self.assert_here(again["Location"])

    def test_signed_in_person_is_not_redirected_to_other_site(self, as_ana: Client) -> None:
        for elsewhere in self.ELSEWHERE:
            self.assert_here(as_ana.get(reverse("login"), {"next": elsewhere})["Location"])

    def test_login_page_drops_link_to_other_site(self, client: Client) -> None:
        for header, elsewhere in product(("Referer", "HX-Current-URL"), self.ELSEWHERE):
            response = client.post(reverse("claim-next", args=[1]), headers={header: elsewhere})
            assert response["Location"] == f"{reverse('login')}?next=/", (header, elsewhere)


class TestSession:
    def test_login_changes_session_key(self, client: Client, ana: User) -> None:
        client.get(reverse("login"))
        fixed = "a" * 32
        client.cookies[configured.SESSION_COOKIE_NAME] = fixed
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        assert client.session.session_key != fixed
        stranger = Client()
        stranger.cookies[configured.SESSION_COOKIE_NAME] = fixed
        assert stranger.get(reverse("runs")).status_code == 302

    def test_session_without_second_factor_is_rejected(self, client: Client, ana: User) -> None:
        TOTP.activate(ana, generate_totp_secret())
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        for name in ("runs", "account", "add-passkey", "new-codes", "reauthenticate"):
            response = client.get(reverse(name))
            assert response.status_code in {302, 405}
            assert response.status_code == 405 or response["Location"].startswith(reverse("login"))

    def test_cross_site_form_is_rejected(self, ana: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(ana)
        page = client.get(reverse("runs")).content.decode()
        [known, *_] = re.findall(r'"X-CSRFToken": "(\w+)"', page)
        assert (
            client.post(
                reverse("logout"), headers={"X-CSRFToken": known, "Origin": "https://evil.example"}
            ).status_code
            == 403
        )
        assert client.post(reverse("logout"), {"csrfmiddlewaretoken": "a" * 64}).status_code == 403
        assert client.post(reverse("logout"), headers={"X-CSRFToken": known}).status_code == 302


class TestGuessing:
    """After a few wrong passwords or codes, even the right one is rejected."""

    def fail(self, client: Client, name: str, **headers: str) -> str:
        return text(client.post(reverse("login"), {"login": name, "password": "wrong"}, headers=headers))

    @pytest.mark.slow
    def test_failed_login_message_hides_whether_account_exists(
        self, client: Client, ana: User, bo: User, eve: User
    ) -> None:
        User.objects.filter(pk=bo.pk).update(is_active=False)
        eve.set_unusable_password()
        eve.save()
        found = set()
        for name in ("ana", "bo", "eve", "nobody"):
            page = self.fail(client, name).replace(f'value="{name}"', "")
            found.add(re.sub(r'name="csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"', "", page))
        assert len(found) == 1

    def test_failed_login_hashes_password_for_unknown_account(
        self, client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both cases hash one password, so they take the same time."""
        encode, hashed = MD5PasswordHasher.encode, []

        def counting(*arguments: Any, **options: Any) -> str:
            hashed.append(arguments)
            return encode(*arguments, **options)

        monkeypatch.setattr(MD5PasswordHasher, "encode", counting)
        for name in ("ana", "nobody"):
            self.fail(client, name)
        assert len(hashed) == 2

    @pytest.mark.slow
    def test_forged_addresses_do_not_evade_login_limit(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        settings.ACCOUNT_RATE_LIMITS = {"login_failed": "3/m/ip"}
        for number in range(3):
            assert "Incorrect" in self.fail(
                client, f"nobody{number}", **{"X-Forwarded-For": f"192.0.2.{number}"}
            )
        assert "Too many failed logins" in self.fail(client, "other", **{"X-Forwarded-For": "192.0.2.9"})

    @pytest.mark.slow
    def test_login_limit_uses_address_from_trusted_proxy(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
        settings.ACCOUNT_RATE_LIMITS = {"login_failed": "2/m/ip"}
        for number in range(2):
            # The header has the client's values first, and the value of the proxy last.
            self.fail(client, "ana", **{"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.7"})
        assert "Too many" in self.fail(client, "ana", **{"X-Forwarded-For": "192.0.2.9, 198.51.100.7"})
        assert "Incorrect" in self.fail(client, "ana", **{"X-Forwarded-For": "192.0.2.9, 198.51.100.8"})
        assert AuditEvent.objects.filter(address="198.51.100.7").exists()

    @pytest.mark.slow
    def test_guessing_codes_is_limited(self, client: Client, ana: User) -> None:
        secret = generate_totp_secret()
        TOTP.activate(ana, secret)
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        right = f"{hotp_value(secret, next(iter(yield_hotp_counters_from_time()))):06}"
        wrong = "000000" if right != "000000" else "111111"
        for _ in range(5):
            assert "wrong" in text(client.post(reverse("second-factor"), {"code": wrong}))
        response = client.post(reverse("second-factor"), {"code": right})
        assert response.status_code == 200
        assert "Too many failed attempts" in text(response)
        assert client.get(reverse("runs")).status_code == 302

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "field"), [("reauthenticate", "password"), ("password", "old_password")]
    )
    def test_guessing_password_within_session_is_limited(
        self, name: str, field: str, client: Client, ana: User
    ) -> None:
        client.force_login(ana)
        posted = {"new_password1": "correct horse 42", "new_password2": "correct horse 42"}
        seen = [client.post(reverse(name), {**posted, field: "wrong"}).status_code for _ in range(12)]
        assert seen[-1] == 429
        response = client.post(reverse(name), {**posted, field: PASSWORD})
        assert response.status_code == 429
        assert "Too many attempts from your network." in text(response)

    def test_token_prefix_does_not_help_guessing(self, ana: User) -> None:
        """Tokens are found by hash, so a correct prefix is no better than any other text."""
        known = api_tokens.create(person=ana, scopes=["read"], actor=None).text
        with CaptureQueriesContext(connection) as asked:
            assert api_tokens.authenticate(known[:-1]) is None
            assert api_tokens.authenticate(known[:12]) is None
        assert [query for query in asked if known[:12] in query["sql"]] == []

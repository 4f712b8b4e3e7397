"""Codes of a second factor are accepted only once, on any page."""

import time
from functools import partial

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, TOTP, generate_totp_secret, hotp_value
from django.conf import LazySettings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from reviews.accounts import second_factors
from reviews.models import AuditEvent, User
from tests.support.factories import PASSWORD
from tests.support.pages import text
from tests.support.threads import together

pytestmark = pytest.mark.slow

START = 1_800_000_000.0
PERIOD = 30


class Clock:
    """A clock for the codes."""

    def __init__(self) -> None:
        self.now = START

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("allauth.mfa.totp.internal.auth.time", clock)
    return clock


def code_of(secret: str, periods: int = 0) -> str:
    return f"{hotp_value(secret, int(START) // PERIOD + periods):06}"


@pytest.fixture
def secret(ana: User, clock: Clock) -> str:
    secret = generate_totp_secret()
    TOTP.activate(ana, secret)
    return secret


def log_in(code: str) -> bool:
    """Sign in with a new browser. Return whether the code was accepted."""
    client = Client()
    client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
    return client.post(reverse("second-factor"), {"code": code}).status_code == 302


@pytest.mark.django_db
class TestAppCode:
    @pytest.mark.parametrize("seconds", [0, 29, 31, 45, 59])
    def test_app_code_is_accepted_once(self, seconds: int, secret: str, clock: Clock) -> None:
        assert log_in(code_of(secret, 1))
        clock.now += seconds
        assert not log_in(code_of(secret, 1))

    def test_used_app_code_is_rejected_in_other_spelling(self, secret: str) -> None:
        code = code_of(secret)
        assert log_in(code)
        assert not log_in(f"{code[:3]} {code[3:]}")

    def test_used_app_code_is_rejected_with_empty_cache(self, secret: str) -> None:
        assert log_in(code_of(secret))
        cache.clear()
        assert not log_in(code_of(secret))

    def test_app_code_is_rejected_after_a_later_one(self, secret: str) -> None:
        assert log_in(code_of(secret))
        assert not log_in(code_of(secret, -1))
        assert log_in(code_of(secret, 1))

    def test_app_code_used_at_login_does_not_reauthenticate(self, secret: str, client: Client) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        client.post(reverse("second-factor"), {"code": code_of(secret)})
        again = partial(client.post, reverse("reauthenticate-by-code"))
        assert "wrong, expired or already used" in text(again({"code": code_of(secret)}))
        assert again({"code": code_of(secret, 1)}).status_code == 302
        assert not log_in(code_of(secret, 1))

    def test_activation_code_does_not_log_in(self, ana: User, client: Client, clock: Clock) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        client.post(reverse("reauthenticate"), {"password": PASSWORD})
        client.get(reverse("add-app"))
        secret = client.session[SECRET_SESSION_KEY]
        code = code_of(secret)
        assert client.post(reverse("add-app"), {"code": code}).status_code == 200
        assert Authenticator.objects.filter(user=ana).count() == 2
        for _ in range(3):
            assert not log_in(code)
            clock.now += 29
        assert log_in(code_of(secret, 3))

    def test_app_code_with_lost_secret_key_shows_what_to_do(
        self, secret: str, client: Client, settings: LazySettings
    ) -> None:
        settings.SECRET_KEY = "another key " * 8
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        response = client.post(reverse("second-factor"), {"code": code_of(secret)})
        assert (response.status_code, second_factors.UNREADABLE in text(response)) == (200, True)

    def test_rejected_app_code_is_audited(self, secret: str) -> None:
        log_in(code_of(secret))
        log_in(code_of(secret))
        assert AuditEvent.objects.filter(action="second factor failed").count() == 1


@pytest.mark.django_db
def test_recovery_code_is_accepted_once(ana: User, secret: str) -> None:
    code, other, *_ = RecoveryCodes.activate(ana).get_unused_codes()
    assert log_in(code)
    assert not log_in(code)
    assert log_in(other)


@pytest.mark.django_db(transaction=True)
class TestConcurrentRequests:
    def test_concurrent_recovery_code_is_accepted_once(self, ana: User) -> None:
        code, *_ = RecoveryCodes.activate(ana).get_unused_codes()
        assert self.accepted(ana, code) == 1

    def test_concurrent_app_code_is_accepted_once(self, ana: User) -> None:
        secret = generate_totp_secret()
        TOTP.activate(ana, secret)
        assert self.accepted(ana, f"{hotp_value(secret, int(time.time()) // PERIOD):06}") == 1

    def test_concurrent_setup_adds_one_app(self, ana: User) -> None:
        client = Client()
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        client.post(reverse("reauthenticate"), {"password": PASSWORD})
        client.get(reverse("add-app"))
        code = f"{hotp_value(client.session[SECRET_SESSION_KEY], int(time.time()) // PERIOD):06}"
        browsers = [Client(), Client()]
        for browser in browsers:
            browser.cookies = client.cookies
        posts = [partial(browser.post, reverse("add-app"), {"code": code}) for browser in browsers]
        assert all(response.status_code in {200, 302} for response in together(*posts))
        assert Authenticator.objects.filter(type=Authenticator.Type.TOTP).count() == 1

    def accepted(self, ana: User, code: str) -> int:
        attempts = [partial(second_factors.use_code, ana, code)] * 4
        return sum(outcome is not None for outcome in together(*attempts))

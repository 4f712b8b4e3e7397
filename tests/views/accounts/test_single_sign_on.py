"""Single sign-on: the role follows the groups, and rejected people get a sentence with the reason."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import LazySettings
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from django.urls import reverse

from reviews.accounts import people
from reviews.accounts.adapters import ProviderAdapter
from reviews.accounts.permissions import Denied, role_of
from reviews.models import User
from tests.support import oidc_provider
from tests.support.oidc_provider import Provider
from tests.support.pages import text
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Login:
    """A login that the provider has confirmed."""

    is_existing = False

    def __init__(self, **claims: Any) -> None:
        claims = {"sub": "4711", "groups": ["judges"], **claims}
        self.account = SimpleNamespace(extra_data={"id_token": claims, "userinfo": claims})
        self.user = User()

    def connect(self, request: object, user: User) -> None:
        self.user = user


@pytest.fixture
def log_in(rf: RequestFactory, settings: LazySettings) -> Any:
    settings.OIDC_ROLES, settings.OIDC_NAME = {"judges": "reviewer"}, "the lab"

    def finish_login(**claims: Any) -> User:
        request = rf.get("/")
        request.user = AnonymousUser()
        login: Any = Login(**claims)
        ProviderAdapter().pre_social_login(request, login)
        return User.objects.get(pk=login.user.pk)

    return finish_login


@pytest.mark.parametrize("username", ["ana", "ana@example.org", "0123abc@example.org"])
def test_valid_provider_username_gets_an_account(username: str, log_in: Any) -> None:
    assert log_in(preferred_username=username).username == username


@pytest.mark.parametrize("username", ["\u0430na", "-1", "@SUM", "Jos\u00e9", "ana banana", "x" * 200])
def test_invalid_provider_username_is_denied_with_a_reason(username: str, log_in: Any) -> None:
    with pytest.raises(Denied) as denied:
        log_in(preferred_username=username)
    assert "the lab sent the username" in denied.value.reason
    assert not User.objects.exists()


def test_provider_subject_of_digits_is_denied_as_username(log_in: Any) -> None:
    with pytest.raises(Denied) as denied:
        log_in()
    assert "4711" in denied.value.reason


def test_lookalike_provider_username_is_denied(log_in: Any) -> None:
    log_in(preferred_username="Ian")
    with pytest.raises(Denied) as denied:
        log_in(preferred_username="lan", sub="4712")
    assert "looks the same as Ian" in denied.value.reason


@pytest.fixture
def provider(settings: LazySettings) -> Iterator[Provider]:
    with oidc_provider.configured(settings) as running:
        yield running


def come_in() -> tuple[Client, str]:
    """Sign in with the provider in a new browser. Return the browser and its last page."""
    client = Client()
    page = client.post(reverse("single-sign-on", args=["sso"]))
    if page.status_code == 302:
        # The provider's answer is a redirect to our site.
        back = requests.get(page["Location"], allow_redirects=False, timeout=PATIENCE)
        page = client.get(back.headers["Location"], follow=True)
    return client, text(page)


class TestSingleSignOn:
    def test_role_and_name_come_from_the_provider_at_each_login(self, provider: Provider) -> None:
        provider.claims |= {"groups": ["staff", "judges"], "given_name": "Ana", "family_name": "Soto"}
        come_in()
        ana = User.objects.get(username="ana")
        assert (role_of(ana), ana.name, ana.has_usable_password()) == ("reviewer", "Ana Soto", False)
        provider.claims["groups"] = ["heads", "judges"]
        come_in()
        assert role_of(User.objects.get()) == "lead"

    def test_person_without_a_known_group_gets_no_account(self, provider: Provider) -> None:
        provider.claims["groups"] = ["staff"]
        assert "None of your groups has access to CogniReview" in come_in()[1]
        assert not User.objects.exists()

    def test_losing_the_last_group_ends_all_sessions(self, provider: Provider) -> None:
        provider.claims["groups"] = ["judges"]
        other, page = come_in()
        assert 'id="user-menu"' in page
        provider.claims["groups"] = []
        assert "No access</h1>" in come_in()[1]
        assert other.get(reverse("runs"))["Location"].startswith(reverse("login"))
        assert role_of(User.objects.get()) == ""

    def test_provider_username_never_takes_over_an_account(self, provider: Provider, ana: User) -> None:
        provider.claims |= {"groups": ["judges"], "preferred_username": "ANA"}
        assert "This username is already taken." in come_in()[1]
        assert User.objects.get() == ana

    def test_foreign_signature_is_rejected(self, provider: Provider) -> None:
        provider.claims["groups"] = ["judges"]
        provider.signing_key = rsa.generate_private_key(65537, 2048)
        assert "Login failed</h1>" in come_in()[1]
        assert not User.objects.exists()

    def test_unreachable_provider_is_explained(self, provider: Provider, settings: LazySettings) -> None:
        ours: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
        away = ours["APPS"][0] | {"settings": {"server_url": "http://127.0.0.1:9"}}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": ours | {"APPS": [away]}}
        assert "Login failed</h1>" in come_in()[1]

    def test_cancelled_login_returns_to_the_login_page(self, provider: Provider) -> None:
        provider.refuses = "access_denied"
        assert "You did not sign in." in come_in()[1]

    def test_deactivated_person_is_rejected(self, provider: Provider, max: User) -> None:
        provider.claims["groups"] = ["judges"]
        come_in()
        people.deactivate(person=User.objects.get(username="ana"), actor=max)
        assert "Your account is deactivated</h1>" in come_in()[1]

"""Usernames from a login provider: invalid ones get no account, and a sentence with the reason."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from reviews.accounts.adapters import ProviderAdapter
from reviews.accounts.permissions import Denied
from reviews.models import User

pytestmark = pytest.mark.django_db


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

"""Usernames that a provider gives: those that break the rule get no account, and a sentence that says why."""

from types import SimpleNamespace
from typing import Any

import pytest
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import LazySettings
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from reviews.models import User
from reviews.views.accounts.single_sign_on import ProviderAdapter
from tests.support.pages import text

pytestmark = pytest.mark.django_db


class Login:
    """A login that has come back from the provider."""

    is_existing = False

    def __init__(self, **claims: Any) -> None:
        told = {"sub": "4711", "groups": ["judges"], **claims}
        self.account = SimpleNamespace(extra_data={"id_token": told, "userinfo": told})
        self.user = User()

    def connect(self, request: object, user: User) -> None:
        self.user = user


@pytest.fixture
def log_in(rf: RequestFactory, settings: LazySettings) -> Any:
    settings.OIDC_ROLES, settings.OIDC_NAME = {"judges": "reviewer"}, "the lab"

    def come_back(**claims: Any) -> User:
        request = rf.get("/")
        request.user = AnonymousUser()
        login: Any = Login(**claims)
        ProviderAdapter().pre_social_login(request, login)
        return User.objects.get(pk=login.user.pk)

    return come_back


@pytest.mark.parametrize("username", ["ana", "ana@example.org", "0123abc@example.org"])
def test_usual_username_of_a_provider_gets_an_account(username: str, log_in: Any) -> None:
    assert log_in(preferred_username=username).username == username


@pytest.mark.parametrize("username", ["\u0430na", "-1", "@SUM", "Jos\u00e9", "ana banana", "x" * 200])
def test_wrong_username_of_a_provider_is_refused_with_the_reason(username: str, log_in: Any) -> None:
    with pytest.raises(ImmediateHttpResponse) as refused:
        log_in(preferred_username=username)
    assert refused.value.response.status_code == 403
    assert "the lab gave us the username" in text(refused.value.response)
    assert not User.objects.exists()


def test_subject_of_digits_is_no_username_and_says_so(log_in: Any) -> None:
    with pytest.raises(ImmediateHttpResponse) as refused:
        log_in()
    assert "4711" in text(refused.value.response)


def test_username_that_looks_like_another_is_refused(log_in: Any) -> None:
    log_in(preferred_username="Ian")
    with pytest.raises(ImmediateHttpResponse) as refused:
        log_in(preferred_username="lan", sub="4712")
    assert "looks the same: Ian" in text(refused.value.response)

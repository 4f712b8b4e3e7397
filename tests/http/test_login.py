"""Roles that must have a second factor."""

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from reviews.accounts import api_tokens, second_factors
from reviews.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _leads_and_admins(settings: LazySettings) -> None:
    settings.SECOND_FACTOR_ROLES = ["lead", "admin"]


def test_person_without_the_factor_of_their_role_is_sent_to_set_one_up(as_max: Client) -> None:
    for name in ("runs", "people", "preferences"):
        assert as_max.get(reverse(name))["Location"] == reverse("account")
    assert b"Your role requires a second factor." in as_max.get(reverse("account")).content
    assert as_max.get(reverse("add-app"))["Location"].startswith(reverse("reauthenticate"))
    assert as_max.post(reverse("logout")).status_code == 302


def test_request_of_htmx_leads_the_whole_page_to_set_up(as_max: Client) -> None:
    response = as_max.get(reverse("runs"), headers={"hx-request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (401, reverse("account"))


def test_person_with_a_factor_uses_every_page(as_max: Client, max: User) -> None:
    TOTP.activate(max, generate_totp_secret())
    assert as_max.get(reverse("people")).status_code == 200
    assert b"requires a second factor" not in as_max.get(reverse("account")).content


def test_other_roles_and_people_of_a_provider_are_exempt(as_ana: Client, lea: User) -> None:
    assert as_ana.get(reverse("runs")).status_code == 200
    assert second_factors.is_missing(lea)
    SocialAccount.objects.create(user=lea, provider="sso", uid="lea")
    assert not second_factors.is_missing(lea)


def test_pages_without_login_and_programs_are_not_redirected(as_max: Client, max: User) -> None:
    assert as_max.get(reverse("join", args=["0" * 40])).status_code == 404
    token = api_tokens.create(person=max, scopes=["read"], actor=None).text
    assert Client().get("/api/v1/runs", headers={"authorization": f"Bearer {token}"}).status_code == 200


def test_check_costs_no_query_without_the_setting(
    settings: LazySettings, max: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.SECOND_FACTOR_ROLES = []
    with django_assert_num_queries(0):
        assert not second_factors.is_missing(max)

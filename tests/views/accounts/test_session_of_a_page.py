"""An open review page whose session ended: a login in another tab, and who may continue the page."""

from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret, hotp_value
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import Draft, Evaluation, User
from reviews.queue import claims
from tests.support.factories import PASSWORD, EvaluationFactory
from tests.support.pages import HTMX, form_of, text, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def claimed(ana: User) -> Evaluation:
    return claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def sign_in_target(page: str) -> str:
    """Return the page after the login that a review page links to."""
    address = page.split('data-sign-in="', 1)[1].split('"', 1)[0]
    return parse_qs(urlsplit(address).query)["next"][0]


def test_session_names_the_person_and_has_a_token(as_ana: Client, ana: User) -> None:
    response = as_ana.get(reverse("session"))
    answer = response.json()
    assert (answer["person"], answer["name"]) == (ana.pk, "ana")
    assert answer["token"]
    assert "no-store" in response["Cache-Control"]


def test_session_without_login_has_no_token(client: Client) -> None:
    assert client.get(reverse("session")).json() == {"person": None, "name": "", "token": ""}


@pytest.mark.slow
def test_token_of_the_session_makes_an_old_page_valid_again(ana: User, claimed: Evaluation) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ana)
    before = browser.get(reverse("session")).json()["token"]
    browser.logout()
    browser.get(reverse("login"))
    token = browser.cookies["csrftoken"].value
    browser.post(reverse("login"), {"login": "ana", "password": PASSWORD}, headers={"X-CSRFToken": token})
    posted = form_of(claimed, comments="Kept.") | {"revision": "1"}
    rejected = browser.post(url("draft", claimed), posted | {"csrfmiddlewaretoken": before}, headers=HTMX)
    assert rejected.status_code == 403
    after = browser.get(reverse("session")).json()["token"]
    response = browser.post(url("draft", claimed), posted | {"csrfmiddlewaretoken": after}, headers=HTMX)
    assert response.status_code == 204
    assert Draft.objects.get().reviewer == ana


def test_login_for_a_review_page_ends_on_a_page_that_says_so(as_ana: Client, claimed: Evaluation) -> None:
    target = sign_in_target(text(as_ana.get(url("evaluation", claimed))))
    posted = {"login": "ana", "password": PASSWORD, "next": target}
    page = text(Client().post(reverse("login"), posted, follow=True))
    assert "You're signed in</h1>" in page
    assert "Return to your review." in page


@pytest.mark.slow
def test_login_with_second_factor_for_a_review_page_ends_on_the_same_page(
    as_ana: Client, claimed: Evaluation, ana: User
) -> None:
    secret = generate_totp_secret()
    TOTP.activate(ana, secret)
    target = sign_in_target(text(as_ana.get(url("evaluation", claimed))))
    tab = Client()
    tab.post(reverse("login"), {"login": "ana", "password": PASSWORD, "next": target})
    code = f"{hotp_value(secret, int(timezone.now().timestamp()) // 30):06}"
    assert tab.post(reverse("second-factor"), {"code": code})["Location"] == target


def test_login_of_another_person_does_not_continue_the_page(as_bo: Client, ana: User) -> None:
    address = f"{reverse('signed-in')}?as={ana.pk}"
    page = text(as_bo.get(address))
    assert "You're signed in as bo" in page
    assert "data-close" not in page
    location = as_bo.post(reverse("logout"), {"next": address})["Location"]
    assert parse_qs(urlsplit(location).query)["next"] == [address]


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_logout_does_not_lead_to_other_site(as_bo: Client, target: str) -> None:
    assert as_bo.post(reverse("logout"), {"next": target})["Location"] == reverse("login")

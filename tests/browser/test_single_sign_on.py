"""Single sign-on in a browser: its redirects."""

import pytest
from django.conf import LazySettings
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.support import oidc_provider

pytestmark = pytest.mark.django_db(transaction=True)


def test_single_sign_on_leads_to_the_provider_and_back(
    page: Page, live_server: LiveServer, settings: LazySettings
) -> None:
    with oidc_provider.configured(settings) as provider:
        provider.claims["groups"] = ["judges"]
        page.goto(live_server.url + reverse("login", query={"next": reverse("signed-in")}))
        page.get_by_role("button", name="Use the university", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("You're signed in")

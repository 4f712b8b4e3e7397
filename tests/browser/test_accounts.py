"""Accounts in a browser: second factors, the dialogs of administration."""

import base64
import hashlib
import hmac
import struct
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.accounts.permissions import role_of
from reviews.models import User
from tests.browser.conftest import log_out, open_runs, start_session
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
GOOD = "eleven purple oxen dance"


@pytest.fixture
def url(live_server: LiveServer) -> str:
    return str(live_server.url)


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """A page in another browser context."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def code_of(secret: str) -> str:
    """Return the current code of an authenticator app (RFC 6238)."""
    moment = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.digest(base64.b32decode(secret), moment, hashlib.sha1)
    number = int.from_bytes(digest[digest[-1] & 15 :][:4]) & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


@pytest.fixture
def _authenticator(page: Page) -> Iterator[None]:
    """Attach a virtual authenticator that confirms everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    options |= dict.fromkeys(("hasResidentKey", "hasUserVerification", "isUserVerified"), True)
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield
    session.send("WebAuthn.disable")
    session.detach()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def press_and_confirm(page: Page, name: str) -> None:
    press(page, name)
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def prove(page: Page) -> None:
    """Confirm the identity with the password."""
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your identity")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Continue")


def enter_password(page: Page, url: str, person: User) -> None:
    page.goto(f"{url}/login/")
    page.get_by_label("Username").fill(person.username)
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign in")


def logged_in(page: Page) -> None:
    page.locator("#user-menu").wait_for(state="attached")


def set_up_app(page: Page, url: str) -> tuple[str, list[str]]:
    """Return the secret and the recovery codes."""
    page.goto(f"{url}/account/")
    page.get_by_role("link", name="Set up app").click()
    prove(page)
    expect(page.locator("img.qr")).to_have_js_property("complete", value=True)
    assert page.locator("img.qr").evaluate("image => image.naturalWidth > 0")
    secret = page.locator(".mono").inner_text()
    page.get_by_label("Authenticator code").fill(code_of(secret))
    press(page, "Verify")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")
    return secret, page.get_by_label("Recovery codes").input_value().split()


class TestAuthenticatorApp:
    @pytest.mark.exhaustive
    def test_app_has_recovery_codes_is_required_at_login_and_can_be_removed(
        self, page: Page, url: str, ana: User
    ) -> None:
        start_session(page, url, ana)
        secret, codes = set_up_app(page, url)
        page.get_by_role("link", name="I saved them").click()
        press(page, "Create new codes")
        renewed = page.get_by_label("Recovery codes").input_value().split()
        assert len(codes) == len(renewed) == 10
        assert not set(codes) & set(renewed)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy all recovery codes").click()
        expect(page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").split() == renewed
        assert secret not in str(list(ana.authenticator_set.values_list("data", flat=True)))
        log_out(page)

        enter_password(page, url, ana)
        expect(page.get_by_role("heading", level=1)).to_have_text("Second factor")
        page.get_by_label("Code").fill("000000")
        press(page, "Continue")
        expect(page.get_by_text("This code is wrong")).to_be_visible()
        page.get_by_label("Code").fill(renewed[0])
        press(page, "Continue")
        logged_in(page)

        page.goto(f"{url}/account/")
        press_and_confirm(page, "Remove app")
        prove(page)
        expect(page.get_by_role("link", name="Set up app")).to_be_visible()
        assert not ana.authenticator_set.exists()


@pytest.mark.usefixtures("_authenticator")
class TestPasskey:
    def test_passkey_logs_in_without_password_and_can_be_removed(
        self, page: Page, url: str, ana: User
    ) -> None:
        start_session(page, url, ana)
        page.goto(f"{url}/account/")
        page.get_by_role("link", name="Add passkey").click()
        prove(page)
        page.get_by_label("Name").fill("My laptop")
        page.get_by_label("Sign in without a password").check()
        press(page, "Add passkey")
        expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")
        log_out(page)

        press(page, "Use a passkey")
        logged_in(page)
        page.goto(f"{url}/account/")
        expect(page.get_by_text("My laptop").first).to_be_visible()
        press(page, "Remove My laptop")
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        prove(page)
        expect(page.get_by_text("Passkeys: none")).to_be_visible()

    @pytest.mark.exhaustive
    def test_passkey_works_as_second_factor_and_for_reauthentication(
        self, page: Page, url: str, ana: User
    ) -> None:
        start_session(page, url, ana)
        page.goto(f"{url}/account/passkeys/add/")
        prove(page)
        page.get_by_label("Sign in without a password").uncheck()
        press(page, "Add passkey")
        expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")
        log_out(page)

        enter_password(page, url, ana)
        press(page, "Use a passkey")
        logged_in(page)
        page.goto(f"{url}/account/app/")
        page.get_by_role("link", name="Use a security key").click()
        press(page, "Use a passkey")
        expect(page.get_by_role("heading", level=1)).to_have_text("Set up authenticator app")


class TestAdmin:
    @pytest.mark.exhaustive
    def test_invited_person_joins_and_is_deactivated(
        self, page: Page, other: Page, url: str, max: User
    ) -> None:
        open_runs(page, url, max)
        press(page, "Admin")
        page.get_by_role("link", name="People").click()
        page.get_by_label("Names or e-mail addresses").fill("Lea")
        page.get_by_label("Their role").select_option("lead")
        press(page, "Create invitations")
        prove(page)
        link = page.get_by_label("Link").input_value()

        other.goto(link)
        other.get_by_label("Username").fill("lea")
        other.get_by_label("Password", exact=True).fill(GOOD)
        other.get_by_label("Repeat the password").fill(GOOD)
        press(other, "Join")
        expect(other.get_by_text("Welcome, Lea.")).to_be_visible()
        lea = User.objects.get(username="lea")
        assert role_of(lea) == "lead"

        page.goto(f"{url}/people/{lea.pk}/")
        press_and_confirm(page, "Deactivate")
        expect(page.get_by_text("Lea can no longer sign in")).to_be_visible()
        other.reload()
        expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")

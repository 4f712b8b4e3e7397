"""Accounts in a browser: login, second factors, sessions, administration, single sign-on."""

import base64
import hashlib
import hmac
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from cognireview.environment import Environment
from reviews.accounts import people
from reviews.accounts.permissions import role_of
from reviews.models import AuditEvent, Evaluation, User
from reviews.queue import claims
from tests.browser.conftest import log_in, log_out, open_runs, start_session
from tests.support import oidc_provider
from tests.support.factories import PASSWORD, EvaluationFactory
from tests.support.oidc_provider import Provider
from tests.support.work import decide

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


def give_authenticator(page: Page) -> None:
    """Attach a virtual authenticator that confirms everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    options |= dict.fromkeys(("hasResidentKey", "hasUserVerification", "isUserVerified"), True)
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


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


def enter_password(page: Page, url: str, person: User, password: str = PASSWORD) -> None:
    page.goto(f"{url}/login/")
    page.get_by_label("Username").fill(person.username)
    page.get_by_label("Password").fill(password)
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


class TestLogin:
    def test_login_is_blocked_after_five_failures_and_says_until_when(
        self, page: Page, url: str, ana: User
    ) -> None:
        for _ in range(5):
            enter_password(page, url, ana, "wrong")
            expect(page.get_by_text("Incorrect username or password.")).to_be_visible()
        enter_password(page, url, ana, "wrong")
        expect(page.get_by_text("Too many failed logins. Try again at")).to_be_visible()
        actions = list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))
        assert actions == ["login failed"] * 5 + ["login locked"]

    def test_login_of_deactivated_person_explains_it(self, page: Page, url: str, ana: User) -> None:
        ana.is_active = False
        ana.save()
        enter_password(page, url, ana)
        expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deactivated")


class TestAuthenticatorApp:
    def test_app_is_required_at_login_and_recovery_code_works_once(
        self, page: Page, url: str, ana: User
    ) -> None:
        start_session(page, url, ana)
        secret, codes = set_up_app(page, url)
        assert len(codes) == 10
        log_out(page)

        enter_password(page, url, ana)
        expect(page.get_by_role("heading", level=1)).to_have_text("Second factor")
        press(page, "Sign in as someone else")
        enter_password(page, url, ana)
        page.get_by_label("Code").fill("000000")
        press(page, "Continue")
        expect(page.get_by_text("This code is wrong")).to_be_visible()
        page.get_by_label("Code").fill(codes[0])
        press(page, "Continue")
        logged_in(page)
        log_out(page)

        enter_password(page, url, ana)
        page.get_by_label("Code").fill(codes[0])
        press(page, "Continue")
        expect(page.get_by_text("This code is wrong")).to_be_visible()
        assert secret not in str(list(ana.authenticator_set.values_list("data", flat=True)))

    def test_app_can_be_removed(self, page: Page, url: str, ana: User) -> None:
        start_session(page, url, ana)
        set_up_app(page, url)
        page.get_by_role("link", name="I saved them").click()
        press_and_confirm(page, "Remove app")
        expect(page.get_by_role("link", name="Set up app")).to_be_visible()
        assert not ana.authenticator_set.exists()

    def test_new_recovery_codes_replace_the_old_ones(self, page: Page, url: str, ana: User) -> None:
        start_session(page, url, ana)
        _, codes = set_up_app(page, url)
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


class TestPasskey:
    def test_passkey_logs_in_without_password_and_can_be_removed(
        self, page: Page, url: str, ana: User
    ) -> None:
        give_authenticator(page)
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

    def test_passkey_works_as_second_factor_and_for_reauthentication(
        self, page: Page, url: str, ana: User
    ) -> None:
        give_authenticator(page)
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


class TestSessions:
    def test_sessions_are_listed_and_can_be_ended(self, page: Page, other: Page, url: str, ana: User) -> None:
        log_in(page, url, ana)
        enter_password(other, url, ana)
        logged_in(other)
        page.goto(f"{url}/account/")
        expect(page.get_by_role("listitem").filter(has_text="Chrome on Linux")).to_have_count(2)
        page.get_by_role("listitem").get_by_role("button").click()
        expect(page.get_by_text("Session ended.")).to_be_visible()
        other.reload()
        expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")

        enter_password(other, url, ana)
        logged_in(other)
        page.goto(f"{url}/account/")
        press(page, "Sign out other sessions")
        expect(page.get_by_text("1 other session ended.")).to_be_visible()
        other.reload()
        expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")

    def test_other_sessions_end_when_the_password_changes(
        self, page: Page, other: Page, url: str, ana: User
    ) -> None:
        log_in(page, url, ana)
        enter_password(other, url, ana)
        logged_in(other)
        page.goto(f"{url}/account/password/")
        page.get_by_label("Old password").fill(PASSWORD)
        page.get_by_label("New password", exact=True).fill(GOOD)
        page.get_by_label("Repeat the new password").fill(GOOD)
        press(page, "Change password")
        expect(page.get_by_text("Password changed.")).to_be_visible()
        expect(page.get_by_text("This session")).to_be_visible()
        other.reload()
        expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")


class TestAdmin:
    def test_invitation_link_works_once(self, page: Page, other: Page, url: str, max: User) -> None:
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
        assert role_of(User.objects.get(username="lea")) == "lead"

        other.context.clear_cookies()
        other.goto(link)
        expect(other.get_by_role("heading", level=1)).to_have_text("This link no longer works")

    def test_invitation_can_be_withdrawn(self, page: Page, other: Page, url: str, max: User) -> None:
        start_session(page, url, max)
        page.goto(f"{url}/people/")
        page.get_by_label("Names or e-mail addresses").fill("bo@example.org")
        press(page, "Create invitations")
        prove(page)
        link = page.get_by_label("Link").input_value()
        page.get_by_role("link", name="Done").click()
        page.get_by_role("button", name="Withdraw").click()
        expect(page.get_by_text("Link withdrawn.")).to_be_visible()
        other.goto(link)
        expect(other.get_by_role("heading", level=1)).to_have_text("This link no longer works")

    def test_role_change_applies_at_once(
        self, page: Page, other: Page, url: str, max: User, ana: User
    ) -> None:
        open_runs(other, url, ana)
        start_session(page, url, max)
        page.goto(f"{url}/people/{ana.pk}/")
        page.get_by_label("admin").check()
        press(page, "Change role")
        prove(page)
        expect(page.get_by_text("ana is now admin.")).to_be_visible()
        other.reload()
        expect(other.get_by_role("button", name="Admin")).to_be_visible()

    def test_password_link_lets_a_person_choose_a_new_password(
        self, page: Page, other: Page, url: str, max: User, ana: User
    ) -> None:
        start_session(page, url, max)
        page.goto(f"{url}/people/{ana.pk}/")
        press(page, "Create password link")
        prove(page)
        other.goto(page.get_by_label("Link").input_value())
        other.get_by_label("Password", exact=True).fill(GOOD)
        other.get_by_label("Repeat the password").fill(GOOD)
        press(other, "Set password")
        expect(other.get_by_text("Password changed.")).to_be_visible()
        enter_password(other, url, ana, GOOD)
        logged_in(other)

    def test_lost_second_factor_can_be_reset(
        self, page: Page, other: Page, url: str, max: User, ana: User
    ) -> None:
        start_session(other, url, ana)
        set_up_app(other, url)
        log_out(other)
        start_session(page, url, max)
        page.goto(f"{url}/people/{ana.pk}/")
        press_and_confirm(page, "Reset second factor")
        prove(page)
        expect(page.get_by_text("ana can sign in without a second factor")).to_be_visible()
        enter_password(other, url, ana)
        logged_in(other)

    def test_deactivation_logs_the_person_out_and_releases_claims(
        self, page: Page, other: Page, url: str, max: User, ana: User
    ) -> None:
        decided = decide(EvaluationFactory.create(), ana).evaluation
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        log_in(other, url, ana)
        assert other.context.browser
        third = other.context.browser.new_page()
        enter_password(third, url, ana)
        logged_in(third)

        start_session(page, url, max)
        page.goto(f"{url}/people/{ana.pk}/")
        press_and_confirm(page, "Deactivate")
        prove(page)
        expect(page.get_by_text("ana can no longer sign in")).to_be_visible()
        for browser_of_ana in (other, third):
            browser_of_ana.reload()
            expect(browser_of_ana.get_by_role("heading", level=1)).to_have_text("Sign in")
        third.context.close()
        held.refresh_from_db()
        assert held.claimed_by is None
        assert Evaluation.objects.get(pk=decided.pk).human_reviewer_id == "ana"

        press(page, "Reactivate")
        expect(page.get_by_text("ana can sign in again.")).to_be_visible()
        enter_password(other, url, ana)
        logged_in(other)

    def test_last_admin_cannot_be_deactivated(self, page: Page, url: str, max: User) -> None:
        start_session(page, url, max)
        page.goto(f"{url}/people/{max.pk}/")
        press_and_confirm(page, "Deactivate")
        prove(page)
        expect(page.get_by_text("max is the only admin.")).to_be_visible()
        max.refresh_from_db()
        assert max.is_active


@pytest.fixture
def provider(settings: LazySettings) -> Iterator[Provider]:
    """Configure a provider: the group `judges` reviews, `heads` leads."""
    with oidc_provider.running() as running:
        environment = Environment(
            oidc_issuer=running.issuer,
            oidc_client_id=oidc_provider.CLIENT,
            oidc_client_secret=oidc_provider.SECRET,
            oidc_name="the university",
            oidc_roles="judges=reviewer, heads=lead",
        )
        ours: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": ours | {"APPS": environment.oidc_apps}}
        settings.OIDC_ISSUER, settings.OIDC_NAME = environment.oidc_issuer, environment.oidc_name
        settings.OIDC_ROLES = environment.roles_of_groups
        yield running


@pytest.fixture
def come_in(page: Page, url: str) -> Callable[[], None]:
    def go() -> None:
        page.context.clear_cookies()
        page.goto(url + reverse("login"))
        press(page, "Use the university")

    return go


class TestSingleSignOn:
    def test_single_sign_on_gives_the_role_of_the_group(
        self, page: Page, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.claims |= {"groups": ["staff", "judges"], "given_name": "Ana", "family_name": "Soto"}
        come_in()
        logged_in(page)
        ana = User.objects.get(username="ana")
        assert (role_of(ana), ana.name, ana.has_usable_password()) == ("reviewer", "Ana Soto", False)

    def test_single_sign_on_for_an_open_review_ends_on_the_page_that_says_so(
        self, page: Page, url: str, provider: Provider
    ) -> None:
        provider.claims["groups"] = ["judges"]
        page.context.clear_cookies()
        page.goto(url + reverse("login", query={"next": reverse("signed-in")}))
        press(page, "Use the university")
        expect(page.get_by_role("heading", level=1)).to_have_text("You're signed in")

    def test_single_sign_on_updates_the_role_at_login(
        self, page: Page, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.claims["groups"] = ["judges"]
        come_in()
        logged_in(page)
        provider.claims["groups"] = ["heads", "judges"]
        come_in()
        logged_in(page)
        assert role_of(User.objects.get()) == "lead"

    def test_single_sign_on_gives_no_access_without_a_known_group(
        self, page: Page, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.claims["groups"] = ["staff"]
        come_in()
        expect(page.get_by_text("None of your groups has access to CogniReview")).to_be_visible()
        assert not User.objects.exists()

    def test_single_sign_on_removes_access_with_the_last_group(
        self, page: Page, other: Page, url: str, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.claims["groups"] = ["judges"]
        come_in()
        logged_in(page)
        other.context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
        other.goto(url)
        logged_in(other)
        provider.claims["groups"] = []
        come_in()
        expect(page.get_by_role("heading", level=1)).to_have_text("No access")
        other.reload()
        expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert role_of(User.objects.get()) == ""

    def test_single_sign_on_never_takes_over_an_account_of_the_same_name(
        self, page: Page, provider: Provider, come_in: Callable[[], None], ana: User
    ) -> None:
        provider.claims |= {"groups": ["judges"], "preferred_username": "ANA"}
        come_in()
        expect(page.get_by_text("This username is already taken.")).to_be_visible()
        assert User.objects.get() == ana

    def test_single_sign_on_rejects_a_foreign_signature(
        self, page: Page, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.claims["groups"] = ["judges"]
        provider.signing_key = Provider().key
        come_in()
        expect(page.get_by_role("heading", level=1)).to_have_text("Login failed")
        assert not User.objects.exists()

    def test_single_sign_on_explains_an_unreachable_provider(
        self, page: Page, provider: Provider, come_in: Callable[[], None], settings: LazySettings
    ) -> None:
        ours: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
        away = ours["APPS"][0] | {"settings": {"server_url": "http://127.0.0.1:9"}}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": ours | {"APPS": [away]}}
        come_in()
        expect(page.get_by_role("heading", level=1)).to_have_text("Login failed")

    def test_single_sign_on_returns_to_login_if_cancelled(
        self, page: Page, provider: Provider, come_in: Callable[[], None]
    ) -> None:
        provider.refuses = "access_denied"
        come_in()
        expect(page.get_by_text("You did not sign in.")).to_be_visible()

    def test_single_sign_on_rejects_deactivated_people(
        self, page: Page, provider: Provider, come_in: Callable[[], None], max: User
    ) -> None:
        provider.claims["groups"] = ["judges"]
        come_in()
        logged_in(page)
        people.deactivate(person=User.objects.get(username="ana"), actor=max)
        come_in()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deactivated")

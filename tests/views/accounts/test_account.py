"""Login, change of the own password, and the setup link of the first admin."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reviews.accounts import api_tokens, one_time_links, people
from reviews.models import AuditEvent, User
from tests.support.factories import PASSWORD
from tests.support.pages import text

pytestmark = pytest.mark.django_db
GOOD = "eleven purple oxen dance"


def welcome(token: str | None = None) -> str:
    return reverse("welcome", args=[people.welcome_token() if token is None else token])


def first(**values: str) -> dict[str, str]:
    return {"username": "max", "password": GOOD, "password_again": GOOD} | values


class TestLogin:
    def test_login_leads_to_runs(self, client: Client, ana: User) -> None:
        response = client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        assert response["Location"] == reverse("runs")

    def test_login_returns_to_previous_page(self, client: Client, ana: User) -> None:
        posted = {"login": "ana", "password": PASSWORD, "next": "/runs/7/?state=done"}
        assert client.post(reverse("login"), posted)["Location"] == "/runs/7/?state=done"

    def test_login_does_not_lead_to_other_site(self, client: Client, ana: User) -> None:
        posted = {"login": "ana", "password": PASSWORD, "next": "https://evil.example/"}
        assert client.post(reverse("login"), posted)["Location"] == reverse("runs")

    def test_login_with_wrong_password_is_rejected(self, client: Client, ana: User) -> None:
        response = client.post(reverse("login"), {"login": "ana", "password": "wrong"})
        page = response.content.decode()
        assert "Incorrect username or password." in page
        # Only the password is to be typed again.
        assert re.search(r'<input[^>]* name="password"[^>]* autofocus', page)
        assert page.count("autofocus") == 1

    @pytest.mark.parametrize("username", ["", "a\0b", "x" * 100_000, "\U0001f600"])
    def test_login_of_unknown_person_is_rejected(self, username: str, client: Client) -> None:
        assert client.post(reverse("login"), {"login": username, "password": "wrong"}).status_code == 200

    def test_login_of_deactivated_person_explains_it(self, client: Client, ana: User) -> None:
        ana.is_active = False
        ana.save()
        posted = {"login": "ana", "password": PASSWORD}
        assert "Your account is deactivated</h1>" in text(client.post(reverse("login"), posted, follow=True))

    def test_login_fields_support_autofill(self, client: Client) -> None:
        page = client.get(reverse("login")).content.decode()
        assert 'autocomplete="username"' in page
        assert 'autocomplete="current-password"' in page

    def test_login_page_explains_setup_link(self, client: Client) -> None:
        assert "No accounts yet." in client.get(reverse("login")).content.decode()

    def test_login_page_with_admin_hides_setup_link(self, client: Client, max: User) -> None:
        assert "No accounts yet." not in client.get(reverse("login")).content.decode()

    def test_logout_ends_login(self, client: Client, ana: User) -> None:
        client.force_login(ana)
        assert client.post(reverse("logout"))["Location"] == reverse("login")
        assert client.get(reverse("runs")).status_code == 302

    def test_login_ignores_case_of_username(self, client: Client, ana: User) -> None:
        assert client.post(reverse("login"), {"login": "ANA", "password": PASSWORD}).status_code == 302

    def test_login_and_logout_are_audited(self, client: Client, ana: User) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        client.post(reverse("logout"))
        events = list(AuditEvent.objects.order_by("pk").values_list("action", "actor_name"))
        assert events == [("login", "ana"), ("logout", "ana")]
        event = AuditEvent.objects.earliest("pk")
        assert (event.detail, event.address) == ({"by": ["password"]}, "127.0.0.1")

    def test_forged_address_header_is_ignored(self, client: Client, ana: User) -> None:
        posted = {"login": "ana", "password": PASSWORD}
        client.post(reverse("login"), posted, headers={"X-Forwarded-For": "192.0.2.7"})
        assert AuditEvent.objects.get().address == "127.0.0.1"


class TestPassword:
    def change(self, client: Client, **values: str) -> int:
        posted = {"old_password": PASSWORD, "new_password1": GOOD, "new_password2": GOOD} | values
        return client.post(reverse("password"), posted).status_code

    @pytest.mark.slow
    def test_password_can_be_changed(self, client: Client, ana: User) -> None:
        client.force_login(ana)
        assert self.change(client) == 302
        ana.refresh_from_db()
        assert ana.check_password(GOOD)
        assert client.get(reverse("runs")).status_code == 200

    def test_password_change_is_audited_without_the_password(self, client: Client, ana: User) -> None:
        client.force_login(ana)
        self.change(client)
        event = AuditEvent.objects.get(action="password changed")
        assert (event.actor, event.detail) == (ana, {"tokens": 0})

    @pytest.mark.slow
    def test_password_page_offers_to_revoke_tokens(self, client: Client, ana: User) -> None:
        client.force_login(ana)
        assert 'name="revoke_tokens"' not in client.get(reverse("password")).content.decode()
        made = api_tokens.create(person=ana, scopes=["review"], actor=None)
        page = client.get(reverse("password"))
        assert "Also revoke my API token" in text(page)
        assert re.search(r'<input type="checkbox" name="revoke_tokens"[^>]* checked', page.content.decode())
        self.change(client)
        assert api_tokens.authenticate(made.text)

    @pytest.mark.slow
    def test_password_change_revokes_tokens_if_selected(self, client: Client, ana: User) -> None:
        made = [api_tokens.create(person=ana, scopes=["review"], actor=None) for _ in range(2)]
        client.force_login(ana)
        self.change(client, revoke_tokens="on")
        assert [api_tokens.authenticate(one.text) for one in made] == [None, None]
        assert AuditEvent.objects.filter(action="token revoked", actor=ana).count() == 2
        assert "2 API tokens were revoked" in text(client.get(reverse("account")))

    def test_password_link_page_announces_revoked_tokens(self, client: Client, ana: User, max: User) -> None:
        link = reverse(
            "new-password", args=[one_time_links.create_password_link(person=ana, actor=max).token]
        )
        assert "API token" not in text(client.get(link))
        api_tokens.create(person=ana, scopes=["review"], actor=None)
        assert "your 1 API token will be revoked" in text(client.get(link))

    def test_person_of_provider_has_no_password_page(self, client: Client, ana: User) -> None:
        ana.set_unusable_password()
        ana.save()
        client.force_login(ana)
        assert client.get(reverse("password")).status_code == 403

    @pytest.mark.parametrize(
        "values",
        [
            {"old_password": "wrong"},
            {"new_password2": "another one"},
            {"new_password1": "short", "new_password2": "short"},
        ],
    )
    def test_invalid_password_change_is_rejected(
        self, values: dict[str, str], client: Client, ana: User
    ) -> None:
        client.force_login(ana)
        assert self.change(client, **values) == 200
        ana.refresh_from_db()
        assert ana.check_password(PASSWORD)
        assert not AuditEvent.objects.exists()


class TestSessions:
    def sign_in(self) -> Client:
        """Sign in as ana with a new browser."""
        browser = Client()
        browser.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        return browser

    def is_signed_in(self, browser: Client) -> bool:
        return browser.get(reverse("account")).status_code == 200

    @pytest.mark.slow
    def test_other_sessions_are_listed_and_can_be_ended(self, ana: User) -> None:
        browser, *others = (self.sign_in() for _ in range(4))
        page = text(browser.get(reverse("account")))
        assert page.count("This session") == 1
        [first, *_] = endings = re.findall(r'action="(/account/sessions/\d+/end/)"', page)
        assert len(endings) == 3
        assert "Session ended." in text(browser.post(first, follow=True))
        assert [self.is_signed_in(other) for other in others].count(True) == 2
        assert "2 other sessions ended." in text(browser.post(reverse("end-other-sessions"), follow=True))
        assert not any(map(self.is_signed_in, others))
        assert self.is_signed_in(browser)

    @pytest.mark.slow
    def test_other_sessions_end_when_the_password_changes(self, ana: User) -> None:
        browser, other = self.sign_in(), self.sign_in()
        posted = {"old_password": PASSWORD, "new_password1": GOOD, "new_password2": GOOD}
        page = text(browser.post(reverse("password"), posted, follow=True))
        assert "Password changed." in page
        assert "This session" in page
        assert not self.is_signed_in(other)


class TestFailedLogins:
    def fail(self, client: Client, username: str) -> str:
        return text(client.post(reverse("login"), {"login": username, "password": "wrong"}))

    def test_failed_login_is_audited_with_existing_names_only(self, client: Client, ana: User) -> None:
        self.fail(client, "Ana")
        self.fail(client, "my secret password")
        events = AuditEvent.objects.order_by("pk").values_list("action", "detail__username")
        assert list(events) == [("login failed", "ana"), ("login failed", None)]

    @pytest.mark.slow
    def test_failed_logins_lock_the_username(self, client: Client, ana: User) -> None:
        for _ in range(5):
            self.fail(client, "ana")
        response = client.post(reverse("login"), {"login": "ANA", "password": PASSWORD})
        assert re.search(r"Too many failed logins. Try again at \d\d:\d\d UTC.", text(response))
        assert AuditEvent.objects.filter(action="login locked").count() == 1

    @pytest.mark.slow
    def test_failed_logins_lock_the_username_on_every_host(self, client: Client, ana: User) -> None:
        for port in range(8001, 8006):
            client.post(
                reverse("login"), {"login": "ana", "password": "wrong"}, HTTP_HOST=f"localhost:{port}"
            )
        response = client.post(
            reverse("login"), {"login": "ana", "password": PASSWORD}, HTTP_HOST="127.0.0.1"
        )
        assert "Too many failed logins." in text(response)

    @pytest.mark.slow
    def test_failed_logins_do_not_lock_other_usernames(self, client: Client, ana: User, bo: User) -> None:
        for _ in range(5):
            self.fail(client, "ana")
        assert client.post(reverse("login"), {"login": "bo", "password": PASSWORD}).status_code == 302


class TestSetupLink:
    def test_setup_link_creates_first_admin_and_logs_in(self, client: Client) -> None:
        response = client.post(welcome(), first())
        assert response["Location"] == reverse("runs")
        assert User.objects.get().groups.get().name == "admin"
        assert "Welcome, max." in client.get(reverse("runs")).content.decode()

    def test_setup_link_works_once(self, client: Client) -> None:
        link = welcome()
        client.post(link, first())
        response = Client().post(link, first(username="eve"))
        assert response.status_code == 404
        assert "This link no longer works" in response.content.decode()
        assert not User.objects.filter(username="eve").exists()

    @pytest.mark.parametrize("token", ["0" * 40, "x", "\u00fc"])
    def test_wrong_setup_link_is_rejected(self, token: str, client: Client) -> None:
        assert client.get(welcome(token)).status_code == 404
        assert client.post(welcome(token), first()).status_code == 404
        assert not User.objects.exists()

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"username": "max the admin"}, "letters a to z"),
            ({"username": ""}, "This field is required."),
            ({"username": "x" * 151}, "at most 150 characters"),
            ({"password": "short", "password_again": "short"}, "too short"),
            ({"password": "a\0" + GOOD, "password_again": "a\0" + GOOD}, "Null characters"),
            ({"password_again": "eleven purple oxen"}, "The passwords do not match."),
        ],
    )
    def test_setup_page_shows_errors_at_fields(
        self, values: dict[str, str], sentence: str, client: Client
    ) -> None:
        response = client.post(welcome(), first(**values))
        assert response.status_code == 422
        assert sentence in response.content.decode()
        assert not User.objects.exists()

    def test_setup_page_does_not_repeat_password(self, client: Client) -> None:
        response = client.post(welcome(), first(username=""))
        assert GOOD not in response.content.decode()

"""The people page, and the links that admins create."""

import smtplib
import time

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from reviews.accounts import one_time_links
from reviews.accounts.permissions import role_of
from reviews.models import AuditEvent, OneTimeLink, User
from tests.support.factories import PASSWORD, UserFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_max_proven(as_max: Client, max: User) -> Client:
    """max, with a recent reauthentication."""
    as_max.post(reverse("reauthenticate"), {"password": PASSWORD})
    return as_max


class TestPeoplePage:
    def test_people_page_lists_accounts_with_details(self, as_max: Client, ana: User) -> None:
        UserFactory.create(username="gone", role="lead", is_active=False)
        page = text(as_max.get(reverse("people")))
        assert "ana</a></th> <td>reviewer</td>" in page
        assert page.index(">max<") < page.index(">gone<")
        assert "<td>deactivated</td>" in page

    def test_people_page_query_count_is_constant(
        self, as_max: Client, max: User, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        queries = 8
        with django_assert_num_queries(queries):
            as_max.get(reverse("people"))
        for _ in range(3):
            one_time_links.create_password_link(person=UserFactory.create(role="reviewer"), actor=max)
        with django_assert_num_queries(queries):
            as_max.get(reverse("people"))

    def test_people_page_is_linked_for_admins_only(self, as_max: Client, as_ana: Client) -> None:
        as_max.get(reverse("runs"))
        assert reverse("people") not in text(as_ana.get(reverse("runs")))


class TestPersonPage:
    def test_person_page_marks_current_role(self, as_max: Client, ana: User) -> None:
        page = text(as_max.get(reverse("person", args=[ana.pk])))
        assert 'value="reviewer" checked' in page

    def test_changing_person_requires_reauthentication(self, as_max: Client, max: User, ana: User) -> None:
        address = reverse("change-role", args=[ana.pk])
        asked = as_max.post(address, {"role": "lead"})
        assert asked["Location"] == f"{reverse('reauthenticate')}?next={address.replace('/', '%2F')}"
        assert role_of(ana) == "reviewer"
        # The submitted change is applied after the password was entered.
        done = as_max.post(asked["Location"], {"password": PASSWORD})
        assert done["Location"] == reverse("person", args=[ana.pk])
        assert role_of(ana) == "lead"

    def test_reauthentication_expires(
        self, as_max_proven: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 3600)
        as_max_proven.post(reverse("change-role", args=[ana.pk]), {"role": "lead"})
        assert role_of(ana) == "reviewer"

    def test_rejected_change_of_person_shows_reason(self, as_max_proven: Client, max: User) -> None:
        posted = as_max_proven.post(reverse("deactivate", args=[max.pk]), follow=True)
        assert "max is the only admin. Make somebody else an admin first." in text(posted)


class TestInvitation:
    def invite(self, client: Client, email: str = "bo@example.org") -> str:
        return text(client.post(reverse("invite"), {"role": "reviewer", "email": email}))

    def test_invitation_without_mail_server_is_shown(
        self, as_max_proven: Client, settings: LazySettings
    ) -> None:
        page = self.invite(as_max_proven)
        assert f"{settings.PUBLIC_URL}/join/" in page
        assert "Sent to" not in page
        assert mail.outbox == []

    def test_invitation_uses_configured_site_address(
        self, as_max_proven: Client, settings: LazySettings
    ) -> None:
        settings.PUBLIC_URL = "https://review.example.org"
        posted = as_max_proven.post(reverse("invite"), {"role": "lead"}, headers={"host": "localhost:666"})
        assert "https://review.example.org/join/" in text(posted)
        assert "localhost:666" not in text(posted)

    def test_invitation_is_sent_by_mail_server(self, as_max_proven: Client, settings: LazySettings) -> None:
        settings.SENDS_MAIL = True
        page = self.invite(as_max_proven)
        assert "Sent to bo@example.org." in page
        [sent] = mail.outbox
        assert sent.to == ["bo@example.org"]
        [address] = [line for line in str(sent.body).splitlines() if line.startswith("http")]
        assert one_time_links.find_pending(address.split("/")[-2], OneTimeLink.Purpose.JOIN)

    def test_invitation_is_shown_if_mail_fails(
        self, as_max_proven: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise smtplib.SMTPException("mailbox unavailable")

        settings.SENDS_MAIL = True
        monkeypatch.setattr("reviews.views.accounts.invitations.send_mail", refuse)
        page = self.invite(as_max_proven)
        assert "The e-mail could not be sent: mailbox unavailable." in page
        assert f"{settings.PUBLIC_URL}/join/" in page

    def test_invitation_to_invalid_address_is_rejected(self, as_max_proven: Client) -> None:
        posted = as_max_proven.post(reverse("invite"), {"role": "reviewer", "email": "bo"})
        assert posted.status_code == 422
        assert "Enter a valid email address." in text(posted)
        assert not OneTimeLink.objects.exists()

    def test_invitation_page_is_not_cached(self, as_max_proven: Client) -> None:
        posted = as_max_proven.post(reverse("invite"), {"role": "reviewer"})
        assert "no-store" in posted["Cache-Control"]


class TestJoining:
    def test_invitation_page_shows_errors_at_fields(self, client: Client, max: User) -> None:
        address = reverse("join", args=[one_time_links.invite(role="reviewer", actor=max).token])
        posted = {"username": "MAX", "password": PASSWORD, "password_again": PASSWORD}
        response = client.post(address, posted)
        assert response.status_code == 422
        assert "This username is already taken." in text(response)


class TestPasswordLink:
    def test_password_link_checks_password_and_does_not_log_in(
        self, client: Client, ana: User, max: User
    ) -> None:
        address = reverse(
            "new-password", args=[one_time_links.create_password_link(person=ana, actor=max).token]
        )
        short = client.post(address, {"password": "short", "password_again": "short"})
        assert short.status_code == 422
        good = {"password": "eleven purple oxen dance", "password_again": "eleven purple oxen dance"}
        assert client.post(address, good)["Location"] == reverse("login")
        assert client.get(reverse("runs")).status_code == 302
        assert AuditEvent.objects.filter(action="password set by link", actor=ana).exists()

"""The people page, and the links that admins create."""

import re
import smtplib
import time
from datetime import timedelta

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.accounts import one_time_links
from reviews.accounts.people import last_activity
from reviews.accounts.permissions import role_of
from reviews.models import AuditEvent, Draft, OneTimeLink, Review, User
from tests.support.factories import PASSWORD, EvaluationFactory, UserFactory
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_max_proven(as_max: Client, max: User) -> Client:
    """max, with a recent reauthentication."""
    as_max.post(reverse("reauthenticate"), {"password": PASSWORD})
    return as_max


class TestPeoplePage:
    def test_people_page_lists_active_accounts(self, as_max: Client, ana: User) -> None:
        UserFactory.create(username="gone", role="lead", is_active=False)
        page = text(as_max.get(reverse("people")))
        assert '<td data-column="Role">reviewer</td>' in page
        assert page.index(">ana<") < page.index(">max<")
        assert ">gone<" not in page
        assert ">gone<" in text(as_max.get(reverse("people"), {"state": "deactivated"}))

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({"q": "ANA"}, ["ana"]),
            ({"q": "smith bea"}, ["bo"]),
            ({"q": "bo@example"}, ["bo"]),
            ({"role": "lead"}, ["bo"]),
            ({"role": "none", "state": "any"}, ["eve"]),
            ({"q": "nobody"}, []),
            ({"q": "nobody\0"}, ["ana", "bo", "eve", "max"]),
            ({"role": "owner"}, ["ana", "bo", "eve", "max"]),
        ],
    )
    def test_people_are_found_by_name_address_role_and_state(
        self, query: dict[str, str], found: list[str], as_max: Client, ana: User, eve: User
    ) -> None:
        UserFactory.create(
            username="bo", role="lead", first_name="Bea", last_name="Smith", email="bo@example.org"
        )
        people = as_max.get(reverse("people"), query).context["people"]
        assert [person.username for person, _ in people] == found

    def test_people_page_continues_after_the_last_name(
        self, as_max: Client, monkeypatch: pytest.MonkeyPatch, ana: User, bo: User
    ) -> None:
        monkeypatch.setattr("reviews.views.accounts.people._PAGE_SIZE", 2)
        first = as_max.get(reverse("people"), {"q": "a"})
        assert first.context["next"] == ""
        first = as_max.get(reverse("people"), {"state": "any"})
        assert first.context["next"] == "/people/?state=any&after=bo"
        second = as_max.get(first.context["next"])
        assert [person.username for person, _ in second.context["people"]] == ["max"]

    def test_people_page_query_count_is_constant(
        self, as_max: Client, max: User, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        queries = 6
        with django_assert_num_queries(queries):
            as_max.get(reverse("people"))
        for _ in range(3):
            one_time_links.create_password_link(person=UserFactory.create(role="reviewer"), actor=max)
        with django_assert_num_queries(queries):
            as_max.get(reverse("people"))

    def test_last_activity_is_the_latest_of_decision_draft_and_login(self, ana: User, bo: User) -> None:
        now = timezone.now()
        User.objects.filter(pk=ana.pk).update(last_login=now - timedelta(days=1))
        decide(EvaluationFactory.create(), ana)
        found = last_activity([ana, bo])
        assert found[bo.pk].latest is None
        assert found[ana.pk].latest == ("decision", Review.objects.get().submitted_at)
        Draft.objects.create(evaluation=EvaluationFactory.create(), reviewer=ana, fields=[])
        assert (last_activity([ana])[ana.pk].latest or ("",))[0] == "draft"
        User.objects.filter(pk=ana.pk).update(last_login=now + timedelta(days=1))
        assert (last_activity([ana])[ana.pk].latest or ("",))[0] == "login"

    def test_people_page_is_linked_for_admins_only(self, as_max: Client, as_bo: Client) -> None:
        assert reverse("people") in text(as_max.get(reverse("runs")))
        assert reverse("people") not in text(as_bo.get(reverse("runs")))


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

    @pytest.mark.slow
    def test_lost_second_factor_can_be_reset(self, as_max_proven: Client, ana: User) -> None:
        TOTP.activate(ana, generate_totp_secret())
        posted = as_max_proven.post(reverse("reset-second-factor", args=[ana.pk]), follow=True)
        assert "ana can sign in without a second factor" in text(posted)
        signed_in = Client().post(reverse("login"), {"login": "ana", "password": PASSWORD})
        assert signed_in["Location"] == reverse("runs")

    @pytest.mark.slow
    def test_deactivated_person_can_sign_in_again_after_reactivation(
        self, as_max_proven: Client, as_bo: Client, bo: User
    ) -> None:
        ended = as_max_proven.post(reverse("deactivate", args=[bo.pk]), follow=True)
        assert "bo can no longer sign in" in text(ended)
        assert as_bo.get(reverse("runs")).status_code == 302
        again = as_max_proven.post(reverse("reactivate", args=[bo.pk]), follow=True)
        assert "bo can sign in again." in text(again)
        signed_in = Client().post(reverse("login"), {"login": "bo", "password": PASSWORD})
        assert signed_in["Location"] == reverse("runs")


class TestInvitation:
    def invite(self, client: Client, people: str = "bo@example.org", **values: str) -> str:
        return text(client.post(reverse("invite"), {"role": "reviewer", "people": people, **values}))

    def test_invitation_without_mail_server_is_shown(
        self, as_max_proven: Client, settings: LazySettings
    ) -> None:
        assert "by e-mail" not in text(as_max_proven.get(reverse("people")))
        page = self.invite(as_max_proven, send="on")
        assert f"{settings.PUBLIC_URL}/join/" in page
        assert "Sent to" not in page
        assert mail.outbox == []

    def test_invitation_uses_configured_site_address(
        self, as_max_proven: Client, settings: LazySettings
    ) -> None:
        settings.PUBLIC_URL = "https://review.example.org"
        posted = as_max_proven.post(
            reverse("invite"), {"role": "lead", "people": "Bo"}, headers={"host": "localhost:666"}
        )
        assert "https://review.example.org/join/" in text(posted)
        assert "localhost:666" not in text(posted)

    def test_list_creates_an_invitation_for_each_line(self, as_max_proven: Client) -> None:
        people = "Ana Smith, ana@example.org, Lead\n\n  bo@example.org\nCy <cy@example.org>; admin\nDee\n"
        page = self.invite(as_max_proven, people)
        assert page.count("/join/") == 2 * 4  # in its field, and in the list of all
        made = OneTimeLink.objects.order_by("pk").values_list("name", "email", "role")
        assert list(made) == [
            ("Ana Smith", "ana@example.org", "lead"),
            ("", "bo@example.org", "reviewer"),
            ("Cy", "cy@example.org", "admin"),
            ("Dee", "", "reviewer"),
        ]

    def test_list_with_errors_creates_nothing_and_names_them_all(
        self, as_max_proven: Client, max: User
    ) -> None:
        UserFactory.create(username="ana", email="Ana@example.org")
        one_time_links.invite(role="lead", email="pending@example.org", actor=max)
        people = "ana@example.org\nbo, owner\ncy@\ndee@x.org\nDEE@x.org\npending@example.org\n, lead"
        posted = as_max_proven.post(reverse("invite"), {"role": "reviewer", "people": people})
        assert posted.status_code == 422
        assert posted.context["form"].errors["people"] == [
            "Line 1: ana@example.org belongs to the account ana.",
            "Line 2: 'owner' is not a role. Use reviewer, lead or admin.",
            "Line 3: 'cy@' is not an e-mail address.",
            "Line 5: DEE@x.org is in the list twice.",
            "Line 6: pending@example.org has a pending invitation. Send that one again instead.",
            "Line 7: A name or an e-mail address is missing.",
        ]
        assert "bo, owner" in text(posted)
        assert OneTimeLink.objects.count() == 1

    @pytest.mark.parametrize("people", ["", " \n", "x\n" * 201, "x" * 151, "@" * 300])
    def test_unusable_list_is_rejected(self, people: str, as_max_proven: Client) -> None:
        posted = as_max_proven.post(reverse("invite"), {"role": "reviewer", "people": people})
        assert posted.status_code == 422
        assert not OneTimeLink.objects.exists()

    @pytest.mark.slow
    def test_invitations_are_sent_by_mail_server(self, as_max_proven: Client, settings: LazySettings) -> None:
        settings.SENDS_MAIL = True
        assert "by e-mail" in text(as_max_proven.get(reverse("people")))
        page = self.invite(as_max_proven, "bo@example.org\nDee\ncy@example.org", send="on")
        assert "Sent to bo@example.org." in page
        # All links can be copied together.
        assert re.search(r"bo@example\.org: http\S+ Dee: http\S+ cy@example\.org: http", page)
        assert [sent.to for sent in mail.outbox] == [["bo@example.org"], ["cy@example.org"]]
        assert str(mail.outbox[0].body).startswith("max invites you to CogniReview as ")
        [address] = [line for line in str(mail.outbox[0].body).splitlines() if line.startswith("http")]
        assert one_time_links.find_pending(address.split("/")[-2], OneTimeLink.Purpose.JOIN)
        self.invite(as_max_proven, "eve@example.org")
        assert len(mail.outbox) == 2

    def test_refused_address_does_not_stop_the_other_mails(
        self, as_max_proven: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        send = mail.EmailMessage.send

        def refuse_first(message: mail.EmailMessage) -> int:
            if message.to == ["bo@example.org"]:
                raise smtplib.SMTPRecipientsRefused({"bo@example.org": (550, b"no such mailbox")})
            return send(message)

        settings.SENDS_MAIL = True
        monkeypatch.setattr(mail.EmailMessage, "send", refuse_first)
        page = self.invite(as_max_proven, "bo@example.org\ncy@example.org", send="on")
        assert "Not sent by e-mail." in page
        assert "Sent to cy@example.org." in page

    def test_invitations_are_shown_if_mail_fails(
        self, as_max_proven: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise smtplib.SMTPServerDisconnected("connection lost")

        settings.SENDS_MAIL = True
        monkeypatch.setattr(mail.EmailMessage, "send", refuse)
        page = self.invite(as_max_proven, "bo@example.org\ncy@example.org", send="on")
        assert "The e-mail could not be sent. The mail server closed the connection. Send" in page
        assert page.count("/join/") == 2 * 2

    @pytest.mark.slow
    def test_renewed_link_replaces_the_pending_one(
        self, as_max_proven: Client, max: User, ana: User, settings: LazySettings
    ) -> None:
        settings.SENDS_MAIL = True
        old = one_time_links.invite(role="lead", email="bo@example.org", name="Bo", actor=max)
        page = text(as_max_proven.post(reverse("renew-link", args=[old.link.pk])))
        assert "Sent to bo@example.org." in page
        [new] = one_time_links.pending()
        assert (new.role, new.name, new.email) == ("lead", "Bo", "bo@example.org")
        assert one_time_links.find_pending(old.token, OneTimeLink.Purpose.JOIN) is None
        again = as_max_proven.post(reverse("renew-link", args=[old.link.pk]), follow=True)
        assert "This link was used or withdrawn, or has expired." in text(again)
        password = one_time_links.create_password_link(person=ana, actor=max).link
        assert "/new-password/" in text(as_max_proven.post(reverse("renew-link", args=[password.pk])))

    def test_invitation_page_is_not_cached(self, as_max_proven: Client) -> None:
        posted = as_max_proven.post(reverse("invite"), {"role": "reviewer", "people": "Bo"})
        assert "no-store" in posted["Cache-Control"]


class TestJoining:
    @pytest.mark.slow
    def test_withdrawn_link_no_longer_works(self, as_max: Client, max: User) -> None:
        made = one_time_links.invite(role="lead", actor=max)
        posted = as_max.post(reverse("withdraw-link", args=[made.link.pk]), follow=True)
        assert "Link withdrawn." in text(posted)
        assert "This link no longer works</h1>" in text(Client().get(reverse("join", args=[made.token])))

    def test_invitation_page_shows_errors_at_fields(self, client: Client, max: User) -> None:
        address = reverse("join", args=[one_time_links.invite(role="reviewer", actor=max).token])
        posted = {"username": "MAX", "password": PASSWORD, "password_again": PASSWORD}
        response = client.post(address, posted)
        assert response.status_code == 422
        assert "This username is already taken." in text(response)

    def test_all_errors_of_a_new_account_are_shown_at_once(self, client: Client, max: User) -> None:
        address = reverse("join", args=[one_time_links.invite(role="reviewer", actor=max).token])
        response = client.post(address, {"username": "MAX", "password": "short", "password_again": "other"})
        assert set(response.context["form"].errors) == {"username", "password", "password_again"}

    def test_new_person_has_the_name_of_the_invitation(self, max: User) -> None:
        token = one_time_links.invite(role="reviewer", name="Ana Smith", actor=max).token
        joined = one_time_links.accept_invitation(token=token, username="ana", password=PASSWORD)
        assert joined.name == "Ana Smith"


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

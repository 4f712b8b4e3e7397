"""One-time links: each opens one thing, once, for a while, and for nobody who reads the database."""

from datetime import timedelta
from functools import partial

import pytest
from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from reviews.accounts import one_time_links
from reviews.accounts.people import AccountError
from reviews.accounts.permissions import role_of
from reviews.models import AuditEvent, OneTimeLink, User
from tests.support.threads import together

JOIN, PASSWORD = OneTimeLink.Purpose.JOIN, OneTimeLink.Purpose.PASSWORD
GOOD = "eleven purple oxen dance"


def expire() -> None:
    OneTimeLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db
class TestInvitation:
    @pytest.mark.slow
    def test_invitation_adds_person_with_role_and_address(self, max: User) -> None:
        made = one_time_links.invite(role="lead", email="lea@example.org", actor=max)
        lea = one_time_links.accept_invitation(token=made.token, username="lea", password=GOOD)
        assert (role_of(lea), lea.email) == ("lead", "lea@example.org")
        made.link.refresh_from_db()
        assert made.link.used_by == lea
        assert AuditEvent.objects.get(action="user added").detail["link"] == made.link.pk

    def test_invitation_is_stored_without_its_token(self, max: User) -> None:
        made = one_time_links.invite(role="lead", actor=max)
        stored = [*OneTimeLink.objects.values_list(), *AuditEvent.objects.values_list()]
        assert made.token not in str(stored)
        assert one_time_links.find_pending(made.token, JOIN) == made.link

    def test_invitation_works_once(self, max: User) -> None:
        token = one_time_links.invite(role="reviewer", actor=max).token
        one_time_links.accept_invitation(token=token, username="ana", password=GOOD)
        with pytest.raises(AccountError, match="was used"):
            one_time_links.accept_invitation(token=token, username="bo", password=GOOD)

    def test_invitation_stays_valid_after_taken_username(self, max: User, ana: User) -> None:
        token = one_time_links.invite(role="reviewer", actor=max).token
        with pytest.raises(AccountError, match="already taken"):
            one_time_links.accept_invitation(token=token, username="Ana", password=GOOD)
        assert one_time_links.accept_invitation(token=token, username="bo", password=GOOD).username == "bo"

    def test_invitation_expires(self, max: User) -> None:
        token = one_time_links.invite(role="reviewer", actor=max).token
        expire()
        assert one_time_links.find_pending(token, JOIN) is None
        assert not one_time_links.pending().exists()

    def test_invitation_can_be_withdrawn_once(self, max: User) -> None:
        made = one_time_links.invite(role="reviewer", actor=max)
        for _ in range(2):
            one_time_links.withdraw(link_id=made.link.pk, actor=max)
        assert one_time_links.find_pending(made.token, JOIN) is None
        assert AuditEvent.objects.filter(action="link withdrawn").count() == 1

    @pytest.mark.parametrize("token", ["", "x", "\u00fc", "\udc80"])
    def test_invitation_is_not_found_by_other_token(self, token: str, max: User) -> None:
        one_time_links.invite(role="reviewer", actor=max)
        assert one_time_links.find_pending(token, JOIN) is None

    def test_invitation_cannot_set_a_password(self, max: User) -> None:
        token = one_time_links.invite(role="reviewer", actor=max).token
        with pytest.raises(AccountError):
            one_time_links.set_password_by_link(token=token, password=GOOD)

    @pytest.mark.parametrize(
        ("values", "field"), [({"role": "owner"}, "role"), ({"role": "lead", "email": "lea"}, "email")]
    )
    def test_invalid_invitation_names_field_and_reason(
        self, values: dict[str, str], field: str, max: User
    ) -> None:
        with pytest.raises(AccountError) as refused:
            one_time_links.invite(**values, actor=max)
        assert refused.value.field == field


@pytest.mark.django_db
class TestPasswordLink:
    def test_password_link_sets_password(self, ana: User, max: User) -> None:
        one_time_links.set_password_by_link(
            token=one_time_links.create_password_link(person=ana, actor=max).token, password=GOOD
        )
        ana.refresh_from_db()
        assert ana.check_password(GOOD)

    def test_password_link_replaces_pending_one(self, ana: User, max: User) -> None:
        first = one_time_links.create_password_link(person=ana, actor=max)
        second = one_time_links.create_password_link(person=ana, actor=max)
        assert one_time_links.find_pending(first.token, PASSWORD) is None
        assert one_time_links.find_pending(second.token, PASSWORD) == second.link

    def test_password_link_rejects_weak_password(self, ana: User, max: User) -> None:
        token = one_time_links.create_password_link(person=ana, actor=max).token
        with pytest.raises(AccountError, match="too short"):
            one_time_links.set_password_by_link(token=token, password="short")
        assert one_time_links.find_pending(token, PASSWORD)

    def test_password_link_is_denied_for_person_of_provider(self, ana: User, max: User) -> None:
        SocialAccount.objects.create(user=ana, provider="sso", uid="4711")
        with pytest.raises(AccountError, match="another provider"):
            one_time_links.create_password_link(person=ana, actor=max)

    def test_password_link_is_denied_for_deactivated_account(self, ana: User, max: User) -> None:
        User.objects.filter(pk=ana.pk).update(is_active=False)
        with pytest.raises(AccountError, match="deactivated"):
            one_time_links.create_password_link(person=ana, actor=max)


@pytest.mark.django_db(transaction=True)
def test_concurrent_use_of_invitation_adds_one_person(max: User) -> None:
    token = one_time_links.invite(role="reviewer", actor=max).token
    ways_in = [
        partial(one_time_links.accept_invitation, token=token, username=name, password=GOOD)
        for name in ("ana", "bo")
    ]
    outcomes = together(*ways_in, expecting=AccountError)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AccountError", "User"]

"""Accounts: adding people, changing roles, deactivation, and the first admin."""

import io
from collections.abc import Callable
from functools import partial

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client, override_settings

from reviews.accounts import api_tokens, one_time_links, people
from reviews.accounts.people import AccountError
from reviews.accounts.permissions import ROLES, role_of
from reviews.models import AuditEvent, User
from reviews.queue import claims
from reviews.queue.members import deactivate_reviewer
from tests.support.factories import EvaluationFactory, UserFactory
from tests.support.threads import together
from tests.support.work import decide

PASSWORD = "a pass phrase nobody guesses"


def add(username: str = "ana", password: str = PASSWORD, role: str = "reviewer") -> User:
    return people.add_user(username=username, password=password, role=role, actor=None)


def become_admin(username: str = "max", token: str | None = None) -> User:
    return people.create_first_admin(
        username=username, password=PASSWORD, token=people.welcome_token() if token is None else token
    )


@pytest.mark.django_db
class TestAddUser:
    @pytest.mark.parametrize("role", ROLES)
    def test_added_person_has_role_and_password(self, role: str) -> None:
        ana = add(role=role)
        assert role_of(ana) == role
        assert ana.check_password(PASSWORD)
        assert not ana.is_staff
        assert not ana.is_superuser

    def test_adding_person_is_audited_without_password(self, max: User) -> None:
        people.add_user(username="ana", password=PASSWORD, role="lead", actor=max)
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.detail) == (
            "user added",
            max,
            {"username": "ana", "role": "lead"},
        )

    @pytest.mark.parametrize(
        ("attempt", "field", "reason"),
        [
            (partial(add, password="short"), "password", "too short"),
            (partial(add, password="12345678901234567"), "password", "entirely numeric"),
            (partial(add, username="anastasia", password="anastasia1234"), "password", "similar"),
            (partial(add, username=""), "username", "cannot be blank"),
            (partial(add, username="ana banana"), "username", "letters a to z"),
            (partial(add, username="a" * 151), "username", "150"),
            (partial(add, username="a\0"), "username", "letters a to z"),
            (partial(add, role="owner"), "role", "reviewer, lead, admin"),
        ],
    )
    def test_invalid_person_names_field_and_reason(
        self, attempt: Callable[[], User], field: str, reason: str
    ) -> None:
        with pytest.raises(AccountError, match=reason) as caught:
            attempt()
        assert caught.value.field == field
        assert not User.objects.exists()
        assert not AuditEvent.objects.exists()

    @pytest.mark.parametrize("name", ["ana", "ANA"])
    def test_taken_username_is_rejected_in_any_case(self, ana: User, name: str) -> None:
        with pytest.raises(AccountError, match="already taken"):
            add(name)


@pytest.mark.django_db
class TestFirstAdmin:
    def test_first_admin_is_added_once(self) -> None:
        assert people.needs_first_admin()
        assert role_of(become_admin()) == "admin"
        assert not people.needs_first_admin()
        with pytest.raises(AccountError, match="was already used"):
            become_admin("eve")

    def test_first_admin_requires_setup_token(self) -> None:
        with pytest.raises(AccountError, match="not the setup link"):
            become_admin(token=people.welcome_token()[:-1])
        with pytest.raises(AccountError, match="not the setup link"):
            become_admin(token="ä")

    def test_setup_token_depends_on_secret_key(self) -> None:
        token = people.welcome_token()
        with override_settings(SECRET_KEY="another installation's key"):
            assert people.welcome_token() != token

    def test_first_admin_is_needed_with_reviewers_only(self, ana: User) -> None:
        assert people.needs_first_admin()

    def test_first_admin_is_not_needed_after_admin_left(self) -> None:
        become_admin().groups.clear()
        assert not people.needs_first_admin()

    def test_first_admin_is_not_needed_with_superuser(self) -> None:
        User.objects.create_superuser("root", password=PASSWORD)
        assert not people.needs_first_admin()


@pytest.mark.django_db(transaction=True)
class TestConcurrentRequests:
    def test_concurrent_setup_adds_one_admin(self) -> None:
        outcomes = together(
            partial(become_admin, "max"), partial(become_admin, "eve"), expecting=AccountError
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AccountError", "User"]
        assert User.objects.count() == 1

    def test_concurrent_username_is_given_once(self) -> None:
        outcomes = together(partial(add, "ana"), partial(add, "Ana"), expecting=AccountError)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AccountError", "User"]
        assert User.objects.count() == AuditEvent.objects.count() == 1


@pytest.mark.django_db
class TestCommand:
    def test_command_reads_password_from_standard_input(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
        call_command("add_user", "ana", "--role=reviewer", "--password-stdin")
        assert User.objects.get().check_password(PASSWORD)
        assert capsys.readouterr().out == "ana can sign in as reviewer.\n"

    def test_command_asks_for_password_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        answers = iter([PASSWORD, "something else entirely", PASSWORD, PASSWORD])
        monkeypatch.setattr("reviews.management.arguments.getpass", lambda _prompt: next(answers))
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        with pytest.raises(CommandError, match="do not match"):
            call_command("add_user", "ana", "--role=reviewer")
        call_command("add_user", "ana", "--role=reviewer")
        assert User.objects.get().username == "ana"

    def test_command_reports_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        with pytest.raises(CommandError, match="too short"):
            call_command("add_user", "ana", "--role=reviewer", "--password-stdin")
        for text in ("\0", "\udcff"):  # as Python reads a byte that is not UTF-8
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}{text}"))
            with pytest.raises(CommandError, match="not UTF-8 text"):
                call_command("add_user", "ana", "--role=reviewer", "--password-stdin")
        with pytest.raises(CommandError, match="invalid choice"):
            call_command("add_user", "ana", "--role=owner")


@pytest.mark.django_db
class TestRole:
    def test_role_change_is_audited_with_both_roles(self, ana: User, max: User) -> None:
        people.change_role(person=ana, role="lead", actor=max)
        assert role_of(ana) == "lead"
        event = AuditEvent.objects.get()
        assert (event.action, event.actor) == ("role changed", max)
        assert event.detail == {"username": "ana", "before": "reviewer", "after": "lead"}

    def test_unchanged_role_is_not_audited(self, ana: User, max: User) -> None:
        people.change_role(person=ana, role="reviewer", actor=max)
        assert not AuditEvent.objects.exists()

    def test_unknown_role_is_rejected(self, ana: User, max: User) -> None:
        with pytest.raises(AccountError, match="reviewer, lead, admin"):
            people.change_role(person=ana, role="owner", actor=max)

    def test_role_of_last_admin_cannot_change(self, max: User) -> None:
        UserFactory.create(role="admin", is_active=False)
        with pytest.raises(AccountError, match="max is the only admin"):
            people.change_role(person=max, role="lead", actor=max)
        assert role_of(max) == "admin"

    def test_role_change_of_admin_withdraws_their_links(self, max: User) -> None:
        UserFactory.create(role="admin")
        one_time_links.invite(role="admin", actor=max)
        people.change_role(person=max, role="reviewer", actor=max)
        assert not one_time_links.pending().exists()


@pytest.mark.django_db
class TestDeactivation:
    @pytest.mark.slow
    def test_deactivation_releases_records_and_keeps_decisions(self, ana: User, max: User) -> None:
        decided = decide(EvaluationFactory.create(), ana).evaluation
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        assigned = EvaluationFactory.create(assigned_to=ana)
        deactivate_reviewer(person=ana, actor=max)
        for record in (decided, held, assigned):
            record.refresh_from_db()
        assert (held.claimed_by, held.claimed_until, assigned.assigned_to) == (None, None, None)
        assert decided.human_reviewer_id == "ana"
        released, deactivated = AuditEvent.objects.all()[:2]
        counts = {"username": "ana", "claims": 1, "assigned": 1}
        assert (released.action, released.detail) == ("release all", counts)
        counts = {"username": "ana", "sessions": 0, "links": 0, "tokens": 0}
        assert (deactivated.action, deactivated.detail) == ("person deactivated", counts)

    def test_deactivation_withdraws_links(self, ana: User, max: User) -> None:
        UserFactory.create(role="admin")
        one_time_links.create_password_link(person=max, actor=max)
        one_time_links.invite(role="reviewer", actor=max)
        kept = one_time_links.create_password_link(person=ana, actor=ana).link
        people.deactivate(person=max, actor=max)
        assert list(one_time_links.pending()) == [kept]

    def test_last_admin_cannot_be_deactivated(self, max: User) -> None:
        with pytest.raises(AccountError, match="only admin"):
            people.deactivate(person=max, actor=max)
        max.refresh_from_db()
        assert max.is_active

    def test_deactivated_person_can_be_reactivated(self, ana: User, max: User) -> None:
        people.deactivate(person=ana, actor=max)
        people.reactivate(person=ana, actor=max)
        ana.refresh_from_db()
        assert ana.is_active
        assert role_of(ana) == "reviewer"


@pytest.mark.django_db(transaction=True)
def test_concurrent_deactivation_leaves_one_admin(max: User) -> None:
    lea = UserFactory.create(username="lea", role="admin")
    outcomes = together(
        partial(people.deactivate, person=lea, actor=max),
        partial(people.deactivate, person=max, actor=lea),
        expecting=AccountError,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AccountError", "NoneType"]
    assert User.objects.get(is_active=True) in {max, lea}


@pytest.mark.django_db
class TestUsername:
    def test_username_cannot_change(self, ana: User) -> None:
        ana.username = "anna"
        with pytest.raises(IntegrityError, match="a username cannot be changed"), transaction.atomic():
            ana.save()

    def test_username_is_unique_in_any_case(self, ana: User) -> None:
        with pytest.raises(IntegrityError, match="person_username_in_any_case"), transaction.atomic():
            UserFactory.create(username="ANA")


@pytest.mark.django_db
class TestProvider:
    def test_provider_sets_and_removes_role(self, ana: User) -> None:
        people.set_role_from_provider(person=ana, role="lead")
        assert role_of(ana) == "lead"
        people.set_role_from_provider(person=ana, role="")
        assert role_of(ana) == ""

    def test_person_of_provider_has_no_password(self) -> None:
        ana = people.add_user(username="ana", password=None, role="reviewer", actor=None, by="provider")
        assert not ana.has_usable_password()
        assert AuditEvent.objects.get().detail["by"] == "provider"


@pytest.mark.django_db
class TestPasswordReset:
    """A password that is set without the one before: by a link of an admin's, or by command."""

    def by_link(self, ana: User, max: User) -> None:
        token = one_time_links.create_password_link(person=ana, actor=max).token
        one_time_links.set_password_by_link(token=token, password="another phrase nobody guesses")

    def by_command(self, ana: User, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("another phrase nobody guesses\n"))
        out = io.StringIO()
        call_command("changepassword", "ANA", "--password-stdin", stdout=out)
        return out.getvalue()

    def test_password_by_link_revokes_tokens_with_events(self, ana: User, bo: User, max: User) -> None:
        made = [api_tokens.create(person=person, scopes=["review"], actor=None) for person in (ana, ana, bo)]
        self.by_link(ana, max)
        assert [bool(api_tokens.authenticate(one.text)) for one in made] == [False, False, True]
        events = AuditEvent.objects.filter(action="token revoked").order_by("pk")
        assert [(event.actor, event.detail["token"]) for event in events] == [
            (ana, made[0].token.pk),
            (ana, made[1].token.pk),
        ]
        assert AuditEvent.objects.get(action="password set by link").detail["tokens"] == 2

    def test_password_by_command_revokes_tokens_and_ends_sessions(
        self, ana: User, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = api_tokens.create(person=ana, scopes=["review"], actor=None)
        client.force_login(ana)
        assert "API tokens revoked: 1" in self.by_command(ana, monkeypatch)
        assert api_tokens.authenticate(made.text) is None
        assert client.get("/").status_code == 302
        ana.refresh_from_db()
        assert ana.check_password("another phrase nobody guesses")
        assert AuditEvent.objects.get(action="password set by command").detail == {
            "username": "ana",
            "tokens": 1,
        }

    def test_password_by_command_requires_local_account(
        self, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(CommandError, match="No user 'bo'"):
            call_command("changepassword", "bo", "--password-stdin")
        ana.set_unusable_password()
        ana.save()
        with pytest.raises(CommandError, match="another provider"):
            self.by_command(ana, monkeypatch)


@pytest.mark.django_db
def test_reactivated_person_has_no_old_tokens(ana: User, max: User) -> None:
    people.deactivate(person=ana, actor=max)
    stale = User.objects.get(pk=ana.pk)
    stale.is_active = True
    with pytest.raises(api_tokens.TokenError, match="deactivated"):
        api_tokens.create(person=stale, scopes=["review"], actor=None)
    people.reactivate(person=ana, actor=max)
    assert not api_tokens.valid_tokens(ana).exists()

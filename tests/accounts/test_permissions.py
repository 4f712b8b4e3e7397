"""Permissions: the roles as groups, and the sentences that deny an action."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.accounts.permissions import (
    ROLES,
    Denied,
    can,
    check,
    check_release,
    check_revise,
    check_withdraw,
    role_of,
    with_permissions,
)
from reviews.models import Backup, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, UserFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db

MAY = {
    "review_evaluation": {"ana", "lea", "max"},
    "lead_review": {"lea", "max"},
    "resolve_conflict": {"lea", "max"},
    "configure_run": {"lea", "max"},
    "read_audit": {"lea", "max"},
    "export_run": {"lea", "max"},
    "import_file": {"max"},
    "delete_run": {"max"},
    "import_context": {"max"},
    "manage_people": {"max"},
    "manage_webhooks": {"max"},
    "manage_site": {"max"},
    "see_every_run": {"max"},
}
SENTENCES = {
    "review_evaluation": "Only a reviewer, a lead or an admin can review evaluations.",
    "lead_review": "You need the lead role for this.",
    "resolve_conflict": "Only a lead or an admin can resolve conflicts.",
    "configure_run": "Only a lead or an admin can change the settings of a run.",
    "read_audit": "Only a lead or an admin can read the audit log.",
    "export_run": "Only a lead or an admin can export a run.",
    "import_file": "Only an admin can import files.",
    "delete_run": "Only an admin can delete a run.",
    "import_context": "Only an admin can import task context.",
    "manage_people": "Only an admin can manage accounts.",
    "manage_webhooks": "Only an admin can manage webhooks.",
    "manage_site": "Only an admin can see jobs and the state of the site.",
    "see_every_run": "Only an admin can see every run.",
}


def roles_in_database() -> dict[str, list[str]]:
    """The permissions of each group, as `ROLES` writes them but sorted."""
    return {
        group.name: sorted(group.permissions.values_list("codename", flat=True))
        for group in Group.objects.all()
    }


ROLES_SORTED = {role: sorted(codenames) for role, codenames in ROLES.items()}


class TestRolesAfterMigrate:
    def test_migrate_writes_roles_of_the_table(self) -> None:
        assert roles_in_database() == ROLES_SORTED

    @pytest.mark.slow
    def test_second_migrate_changes_no_roles(self, ana: User) -> None:
        call_command("migrate", verbosity=0)
        assert roles_in_database() == ROLES_SORTED
        assert role_of(ana) == "reviewer"

    @pytest.mark.slow
    def test_migrate_removes_extra_permissions(self) -> None:
        Group.objects.get(name="reviewer").permissions.add(Permission.objects.get(codename="import_file"))
        call_command("migrate", verbosity=0)
        assert roles_in_database() == ROLES_SORTED

    @pytest.mark.slow
    def test_migrate_restores_removed_roles(self) -> None:
        Group.objects.get(name="lead").delete()
        Group.objects.get(name="admin").permissions.clear()
        call_command("migrate", verbosity=0)
        assert roles_in_database() == ROLES_SORTED

    @pytest.mark.slow
    def test_migrate_keeps_other_groups(self) -> None:
        group = Group.objects.create(name="guests")
        group.permissions.add(Permission.objects.get(codename="read_audit"))
        call_command("migrate", verbosity=0)
        assert roles_in_database() == {**ROLES_SORTED, "guests": ["read_audit"]}


class TestPermissions:
    @pytest.mark.parametrize("codename", MAY)
    @pytest.mark.parametrize("person", ["ana", "lea", "max", "eve"])
    def test_permissions_follow_the_role(
        self, person: str, codename: str, request: pytest.FixtureRequest
    ) -> None:
        user = request.getfixturevalue(person)
        loaded = with_permissions(User.objects).get(pk=user.pk)
        with CaptureQueriesContext(connection) as queries:
            assert can(loaded, codename) is (person in MAY[codename])
        assert not queries.captured_queries
        assert can(user, codename) is (person in MAY[codename])
        if person in MAY[codename]:
            check(user, codename)
        else:
            with pytest.raises(Denied) as denied:
                check(user, codename)
            assert denied.value.reason == SENTENCES[codename]

    def test_table_has_every_permission(self) -> None:
        declared = [*Run._meta.permissions, *Backup._meta.permissions]
        ours = {codename for codename, _ in declared} | {"delete_run"}  # from Django
        assert ours == set(MAY) == {codename for codenames in ROLES.values() for codename in codenames}

    def test_deactivated_person_has_no_permissions(self) -> None:
        former = UserFactory.create(role="admin", is_active=False)
        for person in (former, with_permissions(User.objects).get(pk=former.pk)):
            assert not can(person, "review_evaluation")

    def test_superuser_has_all_permissions(self) -> None:
        superuser = UserFactory.create(is_superuser=True)
        for person in (superuser, with_permissions(User.objects).get(pk=superuser.pk)):
            assert all(can(person, codename) for codename in MAY)


class TestRoleOf:
    def test_role_is_the_group(self, ana: User, lea: User, max: User) -> None:
        assert [role_of(user) for user in (ana, lea, max)] == ["reviewer", "lead", "admin"]

    def test_role_is_the_highest_group(self, ana: User) -> None:
        ana.groups.add(Group.objects.get(name="lead"))
        assert role_of(ana) == "lead"

    def test_role_is_empty_without_group(self, eve: User) -> None:
        eve.groups.add(Group.objects.create(name="guests"))
        assert role_of(eve) == ""


class TestCheckRelease:
    @pytest.mark.parametrize("person", ["ana", "lea", "max"])
    def test_release_is_allowed_for_claimant_and_leads(
        self, ana: User, person: str, request: pytest.FixtureRequest
    ) -> None:
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        check_release(request.getfixturevalue(person), held)

    @pytest.mark.parametrize("person", ["bo", "eve"])
    def test_release_is_denied_for_others(
        self, ana: User, person: str, request: pytest.FixtureRequest
    ) -> None:
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        with pytest.raises(Denied) as denied:
            check_release(request.getfixturevalue(person), held)
        assert denied.value.reason == SENTENCES["lead_review"]


class TestCheckRevise:
    @pytest.mark.parametrize(("by", "may"), [("ana", True), ("bo", False), ("lea", True), ("max", True)])
    def test_revision_is_allowed_for_author_and_leads(
        self, ana: User, by: str, may: bool, request: pytest.FixtureRequest
    ) -> None:
        decided = decide(EvaluationFactory.create(), ana).evaluation
        assert allowed(check_revise, request.getfixturevalue(by), decided) is may

    def test_revision_is_denied_after_role_is_lost(self, ana: User) -> None:
        decided = decide(EvaluationFactory.create(), ana).evaluation
        ana.groups.clear()
        assert not allowed(check_revise, User.objects.get(pk=ana.pk), decided)


class TestCheckWithdraw:
    @pytest.mark.parametrize(("by", "may"), [("ana", True), ("bo", False), ("lea", False)])
    def test_withdrawal_is_allowed_for_person_who_escalated(
        self, ana: User, by: str, may: bool, request: pytest.FixtureRequest
    ) -> None:
        raised = escalations.escalate(
            evaluation_id=EvaluationFactory.create().pk, reviewer=ana, kind="question", reason="", note=""
        )
        assert allowed(check_withdraw, request.getfixturevalue(by), raised) is may


def allowed(rule: Callable[[User, Any], None], user: User, subject: Any) -> bool:
    try:
        rule(user, subject)
    except Denied:
        return False
    return True

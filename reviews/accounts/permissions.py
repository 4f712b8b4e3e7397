"""Permissions by role. `check...` raises `Denied` with the sentence for people; `can...` returns a bool.

Roles are Django groups. `ROLES` is the complete table; each `migrate` writes it to the database.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Manager, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from reviews.models import Escalation, Evaluation, Run, User

_REVIEWER = ["review_evaluation"]
_LEAD = [*_REVIEWER, "lead_review", "resolve_conflict", "configure_run", "read_audit", "export_run"]
_ADMIN = [
    *_LEAD,
    "delete_run",
    "import_file",
    "import_context",
    "manage_people",
    "manage_webhooks",
    "manage_site",
    "see_every_run",
]
# Role -> its permissions, from the lowest role to the highest.
ROLES = {"reviewer": _REVIEWER, "lead": _LEAD, "admin": _ADMIN}
_SENTENCES = {
    "import_file": "Only an admin can import files.",
    "export_run": "Only a lead or an admin can export a run.",
    "review_evaluation": "Only a reviewer, a lead or an admin can review evaluations.",
    "read_audit": "Only a lead or an admin can read the audit log.",
    "lead_review": "You need the lead role for this.",
    "resolve_conflict": "Only a lead or an admin can resolve conflicts.",
    "configure_run": "Only a lead or an admin can change the settings of a run.",
    "delete_run": "Only an admin can delete a run.",
    "import_context": "Only an admin can import task context.",
    "manage_people": "Only an admin can manage accounts.",
    "manage_webhooks": "Only an admin can manage webhooks.",
    "manage_site": "Only an admin can see jobs and the state of the site.",
    "see_every_run": "Only an admin can see every run.",
}


class Denied(Exception):
    """The person may not do this; `reason` is a sentence for them, `heading` the title of the error page."""

    def __init__(self, reason: str, *, heading: str = "Not allowed") -> None:
        super().__init__(reason)
        self.reason = reason
        self.heading = heading


def sync_roles(sender: Any, **_: Any) -> None:
    """Create the groups of `ROLES` with their permissions (a `post_migrate` receiver)."""
    create_permissions(sender, verbosity=0)
    wanted = Permission.objects.filter(content_type__app_label="reviews")
    by_codename = {permission.codename: permission for permission in wanted}
    for role, codenames in ROLES.items():
        group, _created = Group.objects.get_or_create(name=role)
        group.permissions.set([by_codename[codename] for codename in codenames])


def role_of(user: User) -> str:
    """Return the highest role of a user, or an empty string.

    Needs no query for a user loaded by `with_permissions`.
    """
    # `getattr` and not `vars`, because `request.user` is a lazy object.
    loaded = getattr(user, _LOADED_ROLES, None)
    names = set(user.groups.values_list("name", flat=True) if loaded is None else loaded)
    return next((role for role in reversed(ROLES) if role in names), "")


def loaded_role(user: User) -> str:
    """Return the highest role of a user with prefetched groups, or an empty string (no query)."""
    roles = {group.name for group in user.groups.all()}
    return next((role for role in reversed(ROLES) if role in roles), "")


# Attributes of a loaded person: their permissions (keys of `_SENTENCES`) and roles.
_LOADED, _LOADED_ROLES = "loaded_permissions", "loaded_roles"


def with_permissions(people: Manager[User]) -> QuerySet[User]:
    """Load roles and permissions of people in the query that loads them: see `loaded_permissions`."""
    found = Permission.objects.filter(group__user=OuterRef("pk"), content_type__app_label="reviews")
    permissions = ArraySubquery(found.order_by().values("codename"))
    roles = ArraySubquery(Group.objects.filter(user=OuterRef("pk")).order_by().values("name"))
    return people.annotate(**{_LOADED: permissions, _LOADED_ROLES: roles})


@cache
def person_statement(key: str) -> tuple[str, list[Any]]:
    """Return the statement that loads a person as `with_permissions` does, and its parameters.

    `key` is the SQL of the person's key. Every request sends it within another statement, and compiling it
    takes longer than all other work on it.
    """
    statement, values = with_permissions(User.objects).filter(pk=RawSQL(key, ())).query.sql_with_params()  # noqa: S611 (a constant)
    return statement, list(values)


def loaded_permissions(person: User) -> frozenset[str] | None:
    """Return the permissions that were loaded with an active person, as `has_perm` names them.

    None if a query has to look for them.
    """
    if person.is_superuser or not person.is_active or _LOADED not in vars(person):
        return None
    return _full_names(tuple(vars(person)[_LOADED]))


@cache
def _full_names(codenames: tuple[str, ...]) -> frozenset[str]:
    return frozenset(f"reviews.{codename}" for codename in codenames)


def check(user: User, codename: str) -> None:
    """Raise `Denied` unless the user's role has the permission `codename` (a key of `_SENTENCES`)."""
    if not user.has_perm(f"reviews.{codename}"):
        raise Denied(_SENTENCES[codename])


def can(user: User, codename: str) -> bool:
    return user.has_perm(f"reviews.{codename}")


def people_in(run: Run) -> QuerySet[User]:
    """Return the active people with a role who may see a run, by username."""
    if not run.is_restricted:
        return people_with_role()
    sees_all = Q(groups__permissions__codename="see_every_run") | Q(is_superuser=True)
    return people_with_role().filter(Q(pk__in=run.members.values("pk")) | sees_all)


def people_with_role() -> QuerySet[User]:
    """Return the active people with a role, by username."""
    return User.objects.filter(is_active=True, groups__name__in=ROLES).distinct().order_by("username")


def check_release(user: User, evaluation: Evaluation) -> None:
    """Raise `Denied` unless the user has claimed the record or is a lead."""
    if evaluation.claimed_by_id != user.pk:
        check(user, "lead_review")


def check_revise(user: User, evaluation: Evaluation) -> None:
    """Raise `Denied` unless the user is a lead or made the current decision here, not in a file."""
    check(user, "review_evaluation")
    if evaluation.review is None or evaluation.review.reviewer_id != user.pk:
        check(user, "lead_review")


def can_revise(user: User, evaluation: Evaluation) -> bool:
    return not denial_reason(user, "revise", evaluation)


def check_withdraw(user: User, escalation: Escalation) -> None:
    """Raise `Denied` unless the user escalated the record. A lead returns it instead."""
    check(user, "review_evaluation")
    if escalation.kind == Escalation.Kind.DISAGREEMENT:
        raise Denied("A lead must resolve this disagreement. Use Undo to withdraw your own review.")
    if escalation.raised_by_id != user.pk:
        raise Denied("Only the person who escalated this record can withdraw it.")


_RULES: dict[str, Callable[[User, Any], None]] = {
    "release": check_release,
    "revise": check_revise,
    "withdraw": check_withdraw,
}


def denial_reason(user: User, action: str, subject: Evaluation | Escalation | None = None) -> str:
    """Return the sentence that denies an action, or an empty string if it is allowed.

    `action` is a permission, or one of release, revise and withdraw for a subject.
    """
    try:
        if action in _RULES:
            _RULES[action](user, subject)
        else:
            check(user, action)
    except Denied as denied:
        return denied.reason
    return ""

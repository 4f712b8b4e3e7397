"""Who may do what. `check_x` raises `Denied` with the sentence the page shows; `can_x` answers.

Roles are Django groups; `ROLES` is the whole table and is written to the database after each migrate.
"""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

from reviews.models import Escalation, Evaluation, User

ROLES: dict[str, list[str]] = {
    "reviewer": ["review_evaluation"],
    "lead": [
        "review_evaluation",
        "lead_review",
        "settle_conflict",
        "configure_run",
        "read_audit",
        "export_run",
    ],
    "admin": [
        "review_evaluation",
        "lead_review",
        "settle_conflict",
        "configure_run",
        "read_audit",
        "export_run",
        "import_file",
        "import_context",
        "manage_people",
        "manage_webhooks",
    ],
}
_SENTENCES = {
    "import_file": "Only an admin can import files.",
    "export_run": "Only a lead or an admin can export a run.",
    "review_evaluation": "Only a reviewer, a lead or an admin can review evaluations.",
    "read_audit": "Only a lead or an admin can read the audit events.",
    "lead_review": "Only a lead or an admin can decide about the work of others.",
    "settle_conflict": "Only a lead or an admin can settle conflicts.",
    "configure_run": "Only a lead or an admin can change how a run is judged.",
    "import_context": "Only an admin can import task context.",
    "manage_people": "Only an admin can manage accounts.",
    "manage_webhooks": "Only an admin can manage webhooks.",
}


class Denied(Exception):
    """The reason is a sentence for the person who asked."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def sync_roles(sender: Any, **_: Any) -> None:
    """Make the groups and their permissions what `ROLES` says (a `post_migrate` receiver)."""
    create_permissions(sender, verbosity=0)
    wanted = Permission.objects.filter(content_type__app_label="reviews")
    by_codename = {permission.codename: permission for permission in wanted}
    for role, codenames in ROLES.items():
        group, _created = Group.objects.get_or_create(name=role)
        group.permissions.set([by_codename[codename] for codename in codenames])


def role_of(user: User) -> str:
    """The highest role a user has, or an empty string."""
    held = set(user.groups.values_list("name", flat=True))
    return next((role for role in reversed(ROLES) if role in held), "")


def check(user: User, codename: str) -> None:
    """Raise `Denied` unless the user's role has the permission `codename` (a key of `_SENTENCES`)."""
    if not user.has_perm(f"reviews.{codename}"):
        raise Denied(_SENTENCES[codename])


def can(user: User, codename: str) -> bool:
    return not denial_reason(user, codename)


def check_release(user: User, evaluation: Evaluation) -> None:
    """A claim is given back by whoever holds it, or by a lead."""
    if evaluation.claimed_by_id != user.pk:
        check(user, "lead_review")


def check_revise(user: User, evaluation: Evaluation) -> None:
    """A decision in force is changed or reopened by whoever made it here, or by a lead."""
    check(user, "review_evaluation")
    if evaluation.review is None or evaluation.review.reviewer_id != user.pk:
        check(user, "lead_review")


def can_revise(user: User, evaluation: Evaluation) -> bool:
    return not denial_reason(user, "revise", evaluation)


def check_withdraw(user: User, escalation: Escalation) -> None:
    """What was handed to a lead is taken back by whoever did so; a lead returns it."""
    check(user, "review_evaluation")
    if escalation.kind == Escalation.Kind.DISAGREEMENT:
        raise Denied("Opinions that differ are for a lead to settle. Undo takes your own opinion back.")
    if escalation.raised_by_id != user.pk:
        raise Denied("Only whoever handed a record to a lead can take it back.")


_RULES: dict[str, Callable[[User, Any], None]] = {
    "release": check_release,
    "revise": check_revise,
    "withdraw": check_withdraw,
}


def denial_reason(user: User, action: str, subject: Evaluation | Escalation | None = None) -> str:
    """The sentence with which an action is denied, empty where it is not.

    `action` is a permission, or release, revise or withdraw of a subject.
    """
    try:
        if action in _RULES:
            _RULES[action](user, subject)
        else:
            check(user, action)
    except Denied as denied:
        return denied.reason
    return ""

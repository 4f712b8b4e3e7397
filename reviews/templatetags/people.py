"""What templates ask about people."""

from django import template

from reviews.accounts import permissions
from reviews.models import Escalation, Evaluation, User

register = template.Library()


@register.simple_tag
def role_name(user: User) -> str:
    """The highest role the user has, or an empty string (one query)."""
    return permissions.role_of(user)


@register.filter
def role(user: User) -> str:
    """The same of a user whose groups have been fetched (no query)."""
    held = {group.name for group in user.groups.all()}
    return next((role for role in reversed(permissions.ROLES) if role in held), "")


@register.simple_tag
def refusal(user: User, action: str, subject: Evaluation | Escalation | None = None) -> str:
    """The sentence that denies an action, for `includes/refused.html`; empty where they may."""
    return permissions.denial_reason(user, action, subject)

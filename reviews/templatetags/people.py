"""What templates ask about people."""

from django import template

from reviews import permissions
from reviews.models import User

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

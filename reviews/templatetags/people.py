"""What templates ask about people."""

from django import template

from reviews import permissions
from reviews.models import User

register = template.Library()


@register.simple_tag
def role_name(user: User) -> str:
    """The highest role the user has, or an empty string (one query)."""
    return permissions.role_of(user)

"""Show the reader's shortcut keys on buttons."""

from django import template

from cognireview.web.markup import format_html
from reviews.accounts import preferences
from reviews.models import User

register = template.Library()


@register.simple_tag
def key(user: User, command: str) -> str:
    """Return the key of a command as `<kbd>`; empty if shortcuts are off."""
    pressed = preferences.active_key(user, command)
    return format_html("<kbd>{}</kbd>", pressed.upper()) if pressed else ""


@register.simple_tag
def shortcut(user: User, command: str) -> str:
    """Return the attribute that names the key for screen readers; empty if shortcuts are off."""
    pressed = preferences.active_key(user, command)
    return format_html(' aria-keyshortcuts="{}"', pressed.upper()) if pressed else ""


@register.simple_tag
def key_map(user: User) -> dict[str, str]:
    """Return command -> key, for the script."""
    return preferences.active_keys(user)


@register.simple_tag
def all_commands(user: User) -> tuple[preferences.Command, ...]:
    """Return every command; the keys are empty if shortcuts are off."""
    keys = preferences.active_keys(user)
    return tuple(
        preferences.Command(name, keys.get(name, ""), title) for name, _, title in preferences.COMMANDS
    )


@register.simple_tag
def commands(user: User) -> list[preferences.Command]:
    """Return every command with its key, for the list of shortcuts; empty if shortcuts are off."""
    keys = preferences.active_keys(user)
    return [preferences.Command(name, keys[name], title) for name, _, title in preferences.COMMANDS if keys]

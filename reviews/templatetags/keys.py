"""The keys of whoever looks at the page, as they are printed on buttons."""

from django import template
from django.utils.html import format_html

from reviews.accounts import preferences
from reviews.models import User

register = template.Library()


@register.simple_tag
def key(user: User, command: str) -> str:
    """The key of a command as `<kbd>`; nothing where single keys are off."""
    pressed = preferences.active_keys(user).get(command)
    return format_html("<kbd>{}</kbd>", pressed.upper()) if pressed else ""


@register.simple_tag
def shortcut(user: User, command: str) -> str:
    """The attribute that tells screen readers the key of a command; nothing where single keys are off."""
    pressed = preferences.active_keys(user).get(command)
    return format_html(' aria-keyshortcuts="{}"', pressed.upper()) if pressed else ""


@register.simple_tag
def key_map(user: User) -> dict[str, str]:
    """Command -> key, for the script."""
    return preferences.active_keys(user)


@register.simple_tag
def commands(user: User) -> list[preferences.Command]:
    """Every command with its key, for the sheet of keys; none where single keys are off."""
    keys = preferences.active_keys(user)
    return [preferences.Command(name, keys[name], title) for name, _, title in preferences.COMMANDS if keys]

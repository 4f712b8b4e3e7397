"""Show the reader's shortcut keys on buttons."""

from functools import lru_cache

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html
from reviews.accounts import preferences
from reviews.models import User

register = template.Library()


@register.simple_tag
def key(user: User, command: str) -> str:
    """Return the key of a command as `<kbd>`; empty if shortcuts are off.

    It is part of no name of a control: screen readers get it from `shortcut`.
    """
    pressed = preferences.active_key(user, command)
    return format_html('<kbd aria-hidden="true">{}</kbd>', pressed.upper()) if pressed else ""


@register.simple_tag
def shortcut(user: User, command: str) -> str:
    """Return the attribute that names the key for screen readers; empty if shortcuts are off."""
    pressed = preferences.active_key(user, command)
    return format_html(' aria-keyshortcuts="{}"', pressed.upper()) if pressed else ""


@register.simple_tag
def active_key(user: User, command: str) -> str:
    """Return the key of a command as text; empty if shortcuts are off."""
    return preferences.active_key(user, command)


@register.simple_tag
def key_map(user: User) -> SafeString:
    """Return command -> key, for the script."""
    return _key_map(tuple(preferences.active_keys(user).items()))


@lru_cache(maxsize=512)
def _key_map(keys: tuple[tuple[str, str], ...]) -> SafeString:
    return json_script(dict(keys), "key-map")


@register.simple_tag
def all_commands(user: User) -> tuple[preferences.Command, ...]:
    """Return every command; the keys are empty if shortcuts are off."""
    return _all_commands(tuple(preferences.active_keys(user).items()))


@lru_cache(maxsize=512)
def _all_commands(keys: tuple[tuple[str, str], ...]) -> tuple[preferences.Command, ...]:
    known = dict(keys)
    return tuple(command._replace(key=known.get(command.name, "")) for command in preferences.COMMANDS)


@register.simple_tag
def commands(user: User) -> list[preferences.Command]:
    """Return every command with its key, for the list of shortcuts; empty if shortcuts are off."""
    keys = preferences.active_keys(user)
    return [command._replace(key=keys[command.name]) for command in preferences.COMMANDS if keys]

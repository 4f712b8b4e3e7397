"""Show messages as toasts. The tag of a message says which action its Undo button undoes."""

import re
from typing import NamedTuple

from django import template
from django.contrib.messages.storage.base import Message

register = template.Library()
_TAG = re.compile(r"undo-([0-9]+)-([0-9]+)")


class UndoButton(NamedTuple):
    """The action that a toast offers to undo."""

    #: The key of the run.
    run: int
    #: The key of the audit event.
    event: int


def undo_tag(run: int, event: int) -> str:
    """Return the extra tag of a message about an action. The arguments are those of `UndoButton`."""
    return f"undo-{run}-{event}"


@register.filter
def undo_button(message: Message) -> UndoButton | None:
    """Return the action that a message offers to undo, if any."""
    found = _TAG.fullmatch(message.extra_tags or "")
    return UndoButton(*map(int, found.groups())) if found else None

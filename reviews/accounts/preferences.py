"""How a person likes the screen: the theme, and which keys are commands.

A key is the lower-case letter, or the sign, that is typed without Ctrl, Alt or Meta.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.db import transaction

from reviews.audit import events
from reviews.models import User


class Command(NamedTuple):
    """What a key does on the review screen. `title` is said in the sheet of keys."""

    name: str
    key: str
    title: str


COMMANDS = (
    Command("submit", "a", "Agree, or submit what you changed, and go on"),
    Command("skip", "s", "Skip: last in your queue, free for others"),
    Command("flag", "f", "Ask a lead about this record"),
    Command("escalate", "x", "Cannot judge: hand it to a lead"),
    Command("undo", "u", "Undo your last submit"),
    Command("down", "j", "Next criterion; with Shift, look at the next record"),
    Command("up", "k", "Previous criterion; with Shift, look at the previous record"),
    Command("edit", "e", "Edit the justification"),
    Command("comment", "c", "Comment"),
    Command("raw", "r", "Raw judge output"),
    Command("diff", "d", "Differences between the responses"),
    Command("source", "m", "Formulas, or their source"),
    Command("layout", "v", "Another layout"),
    Command("go", "g", "Go to: then Q queue, H your history, R runs"),
    Command("search", "/", "Search, on lists"),
    Command("keys", "?", "This list"),
)
_PUNCTUATION = set("/?.,;:-=+*#")
# They score and number criteria and causes, in every run with the usual words.
_RESERVED = {"y": "Y scores Yes", "p": "P scores Partial", "n": "N scores No"}


class InvalidShortcuts(Exception):
    """These keys cannot be: command -> why, a sentence."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(" ".join(reasons.values()))
        self.reasons = reasons


def active_keys(user: User) -> dict[str, str]:
    """Command -> key, in the order of `COMMANDS`; empty where single keys are off."""
    if not user.has_shortcuts:
        return {}
    return chosen_keys(user)


def chosen_keys(user: User) -> dict[str, str]:
    """Command -> key, whether or not single keys are on."""
    return {command.name: user.shortcuts.get(command.name, command.key) for command in COMMANDS}


@transaction.atomic
def save(*, user: User, theme: str, has_shortcuts: bool, keys: Mapping[str, str]) -> None:
    """Keep what a person likes. `keys` holds a key for each command. Raises `Refused`."""
    keys = {command.name: keys[command.name].strip().lower() for command in COMMANDS}
    reasons = _invalid_keys(keys)
    if reasons:
        raise InvalidShortcuts(reasons)
    user.theme, user.has_shortcuts = theme, has_shortcuts
    user.shortcuts = {
        command.name: keys[command.name] for command in COMMANDS if _differs_from_default(command, keys)
    }
    user.save(update_fields=["theme", "has_shortcuts", "shortcuts"])
    events.record("preferences", actor=user, theme=theme, has_shortcuts=has_shortcuts, keys=user.shortcuts)


def _differs_from_default(command: Command, keys: Mapping[str, str]) -> bool:
    return keys[command.name] != command.key


def _invalid_keys(keys: Mapping[str, str]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    first: dict[str, Command] = {}
    for command in COMMANDS:
        key = keys[command.name]
        if len(key) != 1 or not (key in _PUNCTUATION or (key.isascii() and key.isalpha())):
            reasons[command.name] = (
                f"Choose one letter from A to Z, or one of {' '.join(sorted(_PUNCTUATION))}"
            )
        elif key in _RESERVED:
            reasons[command.name] = f"{_RESERVED[key]}: choose another key."
        elif key in first:
            reasons[command.name] = f"{key.upper()} is taken by “{first[key].title}”: choose another key."
        first.setdefault(key, command)
    return reasons

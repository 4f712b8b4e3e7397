"""Personal preferences: the theme, and the single-key shortcuts.

A key is a lower-case letter or a punctuation mark, typed without Ctrl, Alt or Meta.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import transaction

from reviews.audit import events
from reviews.models import User


class Command(NamedTuple):
    """A command of the review screen or of other pages."""

    name: str
    #: The default key.
    key: str
    #: Its effect on a record; empty if it has none.
    title: str
    #: Its effect on other pages, such as lists; empty if it has none.
    elsewhere: str = ""

    @property
    def full_title(self) -> str:
        """Its effect on all pages."""
        if not self.title or self.elsewhere in {"", self.title}:
            return self.title or self.elsewhere
        return f"{self.title}; in lists: {self.elsewhere[0].lower()}{self.elsewhere[1:]}"


_GO = "Go to: then Q queue, H my reviews, R runs, D dashboard, I inbox, N its next item"
COMMANDS = (
    Command("submit", "a", "Submit and next"),
    Command("skip", "s", "Skip (moves to the end of your queue)"),
    Command("flag", "f", "Ask a lead about this record"),
    Command(
        "escalate",
        "x",
        "Can't judge: send to a lead",
        "Select the row, with Shift all since the last one",
    ),
    Command("undo", "u", "Undo your last action, and then the one before it"),
    Command("down", "j", "Next criterion; with Shift: view the next record", "Next row"),
    Command("up", "k", "Previous criterion; with Shift: view the previous record", "Previous row"),
    Command("reason", "e", "Write your reason"),
    Command("comment", "c", "Comment"),
    Command("guideline", "h", "Guideline of the run"),
    Command("question", "q", "The whole question, or its beginning"),
    Command("compare", "w", "The response with the reference, side by side"),
    Command("model", ",", "Model response"),
    Command("ideal", ".", "Reference answer"),
    Command("raw", "r", "Raw judge output"),
    Command("others", "o", "Other models on the same task"),
    Command("diff", "d", "Highlight differences between the responses"),
    Command("source", "m", "Toggle LaTeX source"),
    Command("layout", "v", "Toggle layout"),
    Command("start", "z", "", "Start reviewing"),
    Command("go", "g", _GO, _GO),
    Command("search", "/", "", "Search in lists"),
    Command("keys", "?", "Keyboard shortcuts", "Keyboard shortcuts"),
)
_DEFAULTS = {command.name: command.key for command in COMMANDS}
# After so many decisions a person knows the keys.
FIRST_DECISIONS = 3
_PUNCTUATION = set("/?.,;:-=+*#")
# These keys enter scores in every run with the default scores.
_RESERVED = {"y": "Y scores Yes", "p": "P scores Partial", "n": "N scores No"}


class InvalidShortcuts(Exception):
    """Some keys cannot be used: `reasons` has a sentence for each such command."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(" ".join(reasons.values()))
        self.reasons = reasons


def active_keys(user: User) -> dict[str, str]:
    """Return the key of each command in the order of `COMMANDS`; empty if shortcuts are off."""
    return chosen_keys(user) if user.has_shortcuts else {}


def active_key(user: User, command: str) -> str:
    """Return the key of a command; empty if shortcuts are off."""
    return user.shortcuts.get(command, _DEFAULTS[command]) if user.has_shortcuts else ""


def chosen_keys(user: User) -> dict[str, str]:
    """Return the key of each command, even if shortcuts are off."""
    return {command.name: user.shortcuts.get(command.name, command.key) for command in COMMANDS}


@transaction.atomic
def save(*, user: User, theme: str, has_shortcuts: bool, keys: Mapping[str, str]) -> None:
    """Save the preferences of a person. `keys` has a key for each command. Raises `InvalidShortcuts`."""
    keys = {command.name: keys[command.name].strip().lower() for command in COMMANDS}
    if reasons := _invalid_keys(keys):
        raise InvalidShortcuts(reasons)
    before = _audited(user)
    user.theme, user.has_shortcuts = theme, has_shortcuts
    user.shortcuts = {name: keys[name] for name, default, *_ in COMMANDS if keys[name] != default}
    user.save(update_fields=["theme", "has_shortcuts", "shortcuts"])
    events.record("preferences", actor=user, before=before, after=_audited(user))


def shows_key_hint(user: User, decisions: int) -> bool:
    """Return whether to show the hint of three keys: until the first decisions, or until it is dismissed.

    `decisions` is the number of decisions that the person has made, up to `FIRST_DECISIONS` or more.
    """
    return user.has_shortcuts and user.wants_key_hint and decisions < FIRST_DECISIONS


@transaction.atomic
def dismiss_key_hint(*, user: User) -> None:
    """Stop showing the hint about three keys to this person."""
    if not user.wants_key_hint:
        return
    user.wants_key_hint = False
    user.save(update_fields=["wants_key_hint"])
    events.record("preferences", actor=user, before={"wants_key_hint": True}, after={"wants_key_hint": False})


def _audited(user: User) -> dict[str, Any]:
    return {"theme": user.theme, "has_shortcuts": user.has_shortcuts, "keys": user.shortcuts}


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
            reasons[command.name] = f"{_RESERVED[key]}. Choose another key."
        elif key in first:
            reasons[command.name] = (
                f"{key.upper()} is used for “{first[key].full_title}”. Choose another key."
            )
        first.setdefault(key, command)
    return reasons

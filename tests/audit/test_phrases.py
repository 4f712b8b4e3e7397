"""Every action of the program has a phrase for the page of the audit log."""

import ast
from functools import cache
from pathlib import Path

import pytest

from reviews.audit.phrases import PHRASES, action_title, phrase_parts
from reviews.models import BulkChange

# The calls whose action is not a literal, by file: the actions.
COMPUTED = {
    "accounts/api_tokens.py": {"token made", "token revoked"},
    "dashboard/bulk_changes.py": {
        f"bulk {undo}{kind}" for kind in BulkChange.Kind.values for undo in ("", "undo ")
    },
    "review/current_decision.py": {"submit", "adjudicate", "resolve", "revise", "close", "restore"},
    "review/independent_reviews.py": {"disagreement", "take over"},
    "review/undo.py": {"undo skip", "undo release"},
    "views/accounts/second_factor.py": {
        "authenticator app added",
        "authenticator app removed",
        "passkey added",
        "passkey removed",
        "recovery codes made",
    },
}


@cache
def recorded() -> list[tuple[str, str]]:
    """Return the file and the action of each call that records an event; no action if it is computed."""
    found = []
    for path in sorted(Path("reviews").rglob("*.py")):
        text = path.read_text()
        is_read = "events" in text and ".record" in text
        for node in ast.walk(ast.parse(text)) if is_read else ():
            if not isinstance(node, ast.Call):
                continue
            if not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in {"record", "record_each"} or "events" not in ast.unparse(
                node.func.value
            ):
                continue
            action = node.args[0]
            literal = action.value if isinstance(action, ast.Constant) else ""
            found.append((str(path.relative_to("reviews")), str(literal)))
    return found


@pytest.mark.slow
def test_every_recorded_action_has_a_phrase() -> None:
    actions = {action for _, action in recorded() if action}.union(*COMPUTED.values())
    assert len(actions) > 80
    assert actions - PHRASES.keys() == set()


def test_every_computed_action_is_listed() -> None:
    assert {file for file, action in recorded() if not action} == COMPUTED.keys()


def test_phrase_has_text_and_fields() -> None:
    assert phrase_parts("restore") == [
        ("restored version ", False),
        ("restored", True),
        (" of ", False),
        ("record", True),
    ]
    assert phrase_parts("look at it") == [("look at it", False)]


def test_title_of_an_action_has_words_for_its_fields() -> None:
    assert action_title("restore") == "Restored version … of a record"
    assert len({action_title(action) for action in PHRASES}) == len(PHRASES)

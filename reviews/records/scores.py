"""A score as JSON has it: a text, a number or a truth value, and each stays what it is.

`1` is not `"1"` and `true` is not `1`; `4` and `4.0` are one number.
"""

import json
from collections.abc import Mapping
from typing import Any

Score = str | int | float | bool

# What a form posts for a judge's score that is none of the run's: whatever it is, it need not be posted.
AS_JUDGED = "as judged"
# The same for a score of a decision that came with a file.
AS_IN_FILE = "as in the file"
_LONGEST_WORD = 200
_BEYOND = 10**18  # no 64 bits hold it, whichever it is


def is_score(value: Any) -> bool:
    """Whether a JSON value says anything: a text that is not blank, a number of some use, a truth value."""
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int | float) and -_BEYOND < value < _BEYOND


def identity(score: Score) -> tuple[str, Score]:
    """What two scores have in common if they are the same one."""
    kind = "text" if isinstance(score, str) else "truth" if isinstance(score, bool) else "number"
    return kind, score


def encode_score(score: Score) -> str:
    """A score in a form: a text as it is, unless it reads as something else; the rest as JSON."""
    if isinstance(score, str) and _is_plain(score):
        return score
    return json.dumps(score)


def decode_score(text: str) -> Score:
    """Decode a form value. Anything but a JSON number, boolean or quoted string is a string."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, Score) and is_score(value) else text


def _is_plain(text: str) -> bool:
    is_taken = text in {AS_JUDGED, AS_IN_FILE}
    return text.isprintable() and text == text.strip() and not is_taken and decode_score(text) == text


def score_of(entry: Any) -> Any:
    """The score in an entry of `parsed_rubric_scores`, or the entry itself where it is no object."""
    return entry.get("score") if isinstance(entry, Mapping) else entry


def format_score(score: Any) -> str:
    """A score as people read it: a number or truth value as JSON spells it, nothing for none."""
    if score is None:
        return ""
    return score[:_LONGEST_WORD] if isinstance(score, str) else json.dumps(score)[:_LONGEST_WORD]


def criterion_title(name: str) -> str:
    """A criterion's name as people read it."""
    words = name.replace("_", " ").strip()[:_LONGEST_WORD]
    return words[:1].upper() + words[1:]

"""Scores as JSON values: strings, numbers and booleans, which keep their types.

`1` is not `"1"`, and `true` is not `1`; `4` and `4.0` are the same number.
"""

import json
from collections import Counter
from functools import lru_cache
from typing import Any

Score = str | int | float | bool

# The form value for a judge's score that is not one of the run's scores.
AS_JUDGED = "as judged"
# The form value for such a score of an imported decision.
AS_IN_FILE = "as in the file"
_LONGEST_WORD = 200
# Groups of criteria are read down to this depth.
_DEEPEST = 6
_BEYOND = 10**18  # out of the range of 64 bits, whichever number it is


def is_score(value: Any) -> bool:
    """Return whether a JSON value is a score: a non-blank string, a number in range or a boolean."""
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int | float) and -_BEYOND < value < _BEYOND


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number in range. Booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and is_score(value)


def identity(score: Score) -> tuple[str, Score]:
    """Return a key that is equal for equal scores."""
    kind = "text" if isinstance(score, str) else "truth" if isinstance(score, bool) else "number"
    return kind, score


def likeness(score: Score) -> tuple[str, Score]:
    """Return a key that is equal for scores that mean the same: texts ignore case and outer spaces."""
    return identity(score.strip().casefold() if isinstance(score, str) else score)


def is_alike(one: Any, other: Any) -> bool:
    """Return whether two JSON values are scores that mean the same, or are equal."""
    return likeness(one) == likeness(other) if is_score(one) and is_score(other) else bool(one == other)


def encode_score(score: Score) -> str:
    """Encode a score for a form: as JSON, or as is if a string decodes to itself."""
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


def unnest(scores: dict[str, Any]) -> dict[str, Any]:
    """Return scores without groups of criteria, as in `{"accuracy": {"facts": {"score": ...}, ...}}`.

    A criterion of a group keeps its own name, as in scores that are extracted from raw output; one whose name
    occurs twice also has those of its groups: `accuracy.facts`.
    """
    if all("score" in entry for entry in scores.values()):
        return scores
    found: list[tuple[tuple[str, ...], Any]] = []
    _collect(scores, (), found)
    counts = Counter(path[-1] for path, _ in found)
    unnested = {path[-1] if counts[path[-1]] == 1 else ".".join(path): entry for path, entry in found}
    return unnested if len(unnested) == len(found) else scores


def _collect(group: dict[str, Any], path: tuple[str, ...], found: list[tuple[tuple[str, ...], Any]]) -> None:
    """Append the criteria of a group with their paths. Those in no group need no score."""
    for name, entry in group.items():
        place, before = (*path, name), len(found)
        is_group = isinstance(entry, dict) and "score" not in entry
        if is_group and len(place) < _DEEPEST:
            _collect(entry, place, found)
        is_criterion = not path or (isinstance(entry, dict) and not is_group)
        if len(found) == before and is_criterion:
            found.append((place, entry))


@lru_cache(maxsize=1024)
def read_score(text: str | None) -> Any:
    """Parse a score from its JSON text. Returns the text itself if it was cut off."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def score_of(entry: Any) -> Any:
    """Return the score of an entry of `parsed_rubric_scores`, or the entry itself if it is not an object."""
    return entry.get("score") if isinstance(entry, dict) else entry


def justification_of(entry: Any) -> str:
    """Return the justification of an entry of `parsed_rubric_scores`; empty without a text."""
    text = entry.get("justification") if isinstance(entry, dict) else None
    return text if isinstance(text, str) else ""


def format_score(score: Any) -> str:
    """Format a score for people: strings as they are, other scores as JSON, None as an empty string."""
    if score is None:
        return ""
    return score[:_LONGEST_WORD] if isinstance(score, str) else json.dumps(score)[:_LONGEST_WORD]


def criterion_title(name: str) -> str:
    """Format the name of a criterion for people."""
    words = name.replace("_", " ").strip()[:_LONGEST_WORD]
    return words[:1].upper() + words[1:]

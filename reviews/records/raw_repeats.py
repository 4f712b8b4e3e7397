"""Leave out the part of a judge's raw output that only repeats its parsed scores."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

_REPEATED = {"score", "justification"}


def texts_beyond_scores(raw: str, scores: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of raw output, without a JSON object of scores that equals the parsed `scores`.

    Scores with other members than a score and a justification are not left out.
    """
    start, end = raw.find("{"), raw.rfind("}") + 1
    members = _members(raw[start:end]) if scores and -1 < start < end else {}
    others = [] if members == scores else [name for name in members if members[name] != scores]
    if len(others) == len(members) or not _are_only_judged(scores):
        yield raw
        return
    yield raw[:start]
    for name in others:
        value = members[name]
        yield name
        yield value if isinstance(value, str) else orjson.dumps(value).decode()
    yield raw[end:]


def _members(text: str) -> dict[str, Any]:
    """Parse an object; empty for any other text."""
    try:
        found = orjson.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _are_only_judged(scores: Mapping[str, Any]) -> bool:
    return all(isinstance(entry, dict) and entry.keys() <= _REPEATED for entry in scores.values())

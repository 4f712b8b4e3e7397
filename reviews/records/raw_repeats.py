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
    if not _is_repeated(members, scores):
        yield raw
        return
    yield raw[:start]
    for name, value in members.items() if members != scores else ():
        if value != scores:
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


def _is_repeated(members: Mapping[str, Any], scores: Mapping[str, Any]) -> bool:
    if not members or not (members == scores or scores in members.values()):
        return False
    return all(isinstance(entry, dict) and entry.keys() <= _REPEATED for entry in scores.values())

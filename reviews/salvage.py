"""Scores out of raw judge output that failed to parse: proposals for a reviewer, never parsed scores.

The text is searched for objects that carry a score. Each is read as strictly as its damage allows, in
steps that have names, and keeps the place it was read from. Nothing is made up: a score that is not
spelled out whole in the text is no proposal.
"""

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import json_repair

from reviews.latex import double_backslashes

VERSION = 1
"""Of the rules below: grows when the same text would give other proposals."""

STEPS = ("fence", "unwrap", "key case", "backslash", "truncation")
"""What may have been done, in this order.

fence: a markdown fence or other text around the JSON was put aside. unwrap: the criteria were not where
they belong, in `{"evaluation": {...}}`. key case: `score` or `justification` was spelled another way, or the
criteria were a list. backslash: LaTeX was kept from being read as JSON escapes. truncation: the JSON
was cut off or broken, and its parts were read one by one.
"""

MAX_CHARACTERS = 1_000_000
MAX_CRITERIA = 100
# Objects that are no criterion: wrappers, and what looks like an object but cannot be read. Each costs up
# to a pass over the text, so this keeps the time in proportion to the length.
MAX_MISSES = 32
MAX_MENDED_CHARACTERS = 10_000

Score = str | int | float | bool


class Proposal(NamedTuple):
    """One criterion as the judge wrote it.

    `span` is where its own part (key and value) starts and ends in `raw_text`, in characters. `repairs` are
    the steps that changed what that part says: some of "key case", "backslash", "truncation".
    """

    criterion: str
    score: Score
    justification: str
    span: tuple[int, int]
    repairs: tuple[str, ...]


class Salvage(NamedTuple):
    """What could be read, in the text's order, and which of `STEPS` it took."""

    proposals: tuple[Proposal, ...] = ()
    steps: tuple[str, ...] = ()


class _Part(NamedTuple):
    """An object with a score, where it stands in the mended text, and the steps it took to read it."""

    criterion: str
    score: Score
    justification: str
    start: int
    end: int
    repairs: set[str]


def salvage(raw_judge_output: Mapping[str, Any]) -> Salvage:
    """Read criteria and scores out of a judge's raw output. Raises nothing; garbage gives an empty `Salvage`.

    A criterion that stands there twice is proposed once, as it stands last.
    """
    raw = raw_text(raw_judge_output)
    if len(raw) > MAX_CHARACTERS:
        return Salvage()
    text, doubled = double_backslashes(raw)
    try:
        parts, broken = _read(text)
    except RecursionError:
        return Salvage()
    if not parts:
        return Salvage()
    proposals = tuple(_proposal(part, doubled) for part in parts)
    steps = _surroundings(text, parts, broken=broken).union(*(proposal.repairs for proposal in proposals))
    return Salvage(proposals, tuple(step for step in STEPS if step in steps))


# The text


def raw_text(raw_judge_output: Mapping[str, Any]) -> str:
    """The text that spans refer to: `raw_content`, or else what other text the object holds.

    An object that holds the criteria itself, or no text at all, is written out as JSON.
    """
    content = raw_judge_output.get("raw_content") if isinstance(raw_judge_output, Mapping) else None
    if isinstance(content, str) and content.strip():
        return content
    strings, has_scores = _strings(raw_judge_output)
    if strings and not has_scores:
        return "\n\n".join(strings)
    try:
        return json.dumps(raw_judge_output, indent=2, ensure_ascii=False) if raw_judge_output else ""
    except (RecursionError, TypeError, ValueError):
        return ""


def _strings(data: Any) -> tuple[list[str], bool]:
    """Every string value at any depth, in order, and whether any object beside them carries a score."""
    strings, has_scores, left = [], False, [data]
    while left:
        value = left.pop()
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, Mapping):
            has_scores = has_scores or _spelling(value, _SCORE) is not None
            left.extend(reversed(value.values()))
        elif isinstance(value, list):
            left.extend(reversed(value))
    return strings, has_scores


# Reading objects


def _no_number(_: str) -> None:
    return None


def _integer(spelled: str) -> int | None:
    return int(spelled) if len(spelled) < 19 else None  # noqa: PLR2004 (what 64 bits hold)


def _float(spelled: str) -> float | None:
    number = float(spelled)
    return number if math.isfinite(number) else None


# Line breaks inside strings are taken as they are. Numbers no column could hold are no score.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_number, parse_int=_integer, parse_float=_float)
_OBJECT = re.compile(r'\{\s*"')
_KEY = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*:\s*\Z', re.DOTALL)
_FENCE_END = re.compile(r"\n\s*```")

_SCORE = ("score",)
_JUSTIFICATION = (
    "justification",
    "reason",
    "reasoning",
    "rationale",
    "explanation",
    "comment",
    "comments",
    "feedback",
)
_CRITERION = ("criterion", "criteria", "name", "category", "dimension", "parameter", "rubric")


def _read(text: str) -> tuple[list[_Part], bool]:
    """The criteria of a text, and whether any object in it could not be read whole."""
    parts: dict[str, _Part] = {}
    at, misses, broken = 0, 0, False
    while misses < MAX_MISSES and len(parts) < MAX_CRITERIA and (opening := _OBJECT.search(text, at)):
        brace = opening.start()
        key = _KEY.search(text, at, brace)
        start, name = (key.start(), _string(key[1])) if key else (brace, "")
        value, end = _decode(text, brace)
        if mend := value is None:
            broken = True
            value, end = _mend(text, brace)
        part = _part(name, value, start, end)
        at = end
        ...
    return list(parts.values()), broken

"""Find the groups around criteria in raw judge output: `{"accuracy": {"facts": {"score": ...}}}`.

The text may be truncated or invalid, so its brackets are followed instead of parsing it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reviews.records.patterns import STRING_BODY

# The keys by which an object in a list names itself.
NAMES = ("criterion", "criteria", "name", "category", "dimension", "parameter")
_WRAPPER = "evaluation"
# A string that does not end takes the rest of the text, so that each character is examined once.
_TOKEN = re.compile(
    rf'"(?P<string>{STRING_BODY})(?:"(?:\s*+:\s*+(?:(?P<opens>[{{\[])|"(?P<text>{STRING_BODY})"))?|\Z)'
    r"|(?P<bracket>[{}\[\]])",
    re.DOTALL,
)


@dataclass(slots=True)
class _Level:
    """An object or list that is open."""

    bracket: str
    #: Its key, or the name that an object in a list gives itself; empty without one.
    name: str


def names_with_groups(text: str, criteria: Sequence[tuple[str, int]]) -> list[str]:
    """Return the names of criteria, given in order with their positions, with their groups where needed.

    A criterion whose name several groups have is named as in parsed scores: `accuracy.facts`.
    """
    names = [name for name, _ in criteria]
    if len(set(names)) == len(names):
        return names
    groups = _groups_around(text, [start for _, start in criteria])
    counts = Counter(name for name, _ in {*zip(names, groups, strict=True)})
    return [
        ".".join((*group, name)) if counts[name] > 1 else name
        for name, group in zip(names, groups, strict=True)
    ]


def _groups_around(text: str, places: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the names of the objects and lists around each position, the outermost first.

    Levels around all positions, and the wrapper of the schema, are left out.
    """
    levels: list[_Level] = []
    found: list[tuple[str, ...]] = []
    done = text.find("{")
    for place in places:
        _follow(text, done, place, levels)
        found.append(tuple(level.name for level in levels if level.name not in {"", _WRAPPER}))
        done = place
    least = min(map(len, found))
    shared = next((n for n in range(least) if len({names[n] for names in found}) > 1), least)
    return [names[shared:] for names in found]


def _follow(text: str, start: int, end: int, levels: list[_Level]) -> None:
    """Open and close levels as the brackets of a part of the text do."""
    for token in _TOKEN.finditer(text, start, end):
        bracket = token["opens"] or token["bracket"]
        if bracket in {"}", "]"}:
            _close("{" if bracket == "}" else "[", levels)
        elif bracket:
            if not token["opens"] and levels and levels[-1].bracket == "{":
                levels.clear()  # an object without a key does not belong to the one before, which is broken
            levels.append(_Level(bracket, token["string"] or ""))
        elif token["text"] and levels and not levels[-1].name and token["string"].strip().lower() in NAMES:
            levels[-1].name = token["text"]


def _close(bracket: str, levels: list[_Level]) -> None:
    """Close the innermost level with this bracket, and those in it."""
    if any(level.bracket == bracket for level in levels):
        while levels.pop().bracket != bracket:
            pass

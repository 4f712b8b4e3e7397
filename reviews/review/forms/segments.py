"""The width of the score buttons: cells of one width in one column, for all criteria of a form."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from reviews.rubric.score_input import Choice, ScoreInput

#: The longest label on a button; the rest is cut.
MAX_LABEL = 24
_SHORT, _MEDIUM = 3, 9
# What a key adds to a label, in letters: cells have some room to spare.
_KEY = 1
#: The most cells that fit on the line of a criterion's title.
_BESIDE = {"short": 5, "medium": 3, "long": 1}


class SegmentLayout(NamedTuple):
    """The layout of the score buttons."""

    #: The width of a cell.
    cell: Literal["short", "medium", "long"]
    #: Number of cells on the line of the title; 0 if the buttons have a line of their own.
    beside: int


def segment_layout(inputs: Iterable[ScoreInput]) -> SegmentLayout:
    """Return the layout that fits the scores of all criteria."""
    inputs = list(inputs)
    longest = max((_length(choice) for one in inputs for choice in one.choices), default=0)
    cell: Literal["short", "medium", "long"] = (
        "short" if longest <= _SHORT else "medium" if longest <= _MEDIUM else "long"
    )
    count = max((len(one.choices) for one in inputs), default=0)
    fits = 0 < count <= _BESIDE[cell] and not any(one.has_field for one in inputs)
    return SegmentLayout(cell, count if fits else 0)


def _length(choice: Choice) -> int:
    """Return the length of a label, with its key if it does not begin with it."""
    begins_with_key = choice.label.lower().startswith(choice.key)
    return min(len(choice.label), MAX_LABEL) + (0 if begins_with_key else _KEY)

"""The causes that a row of the review form offers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reviews.records.rubric import Cause, Circumstance, Direction

#: The page shows so many causes at a time, with the digits from 1 as their keys.
SHOWN_CAUSES = 6


@dataclass(frozen=True, slots=True)
class CauseOption:
    """One radio button of a cause."""

    word: str
    title: str
    #: A digit; empty if the cause is not shown.
    key: str
    checked: bool
    #: The comparisons with the judge's score for which the cause is offered; empty for all.
    directions: tuple[Direction, ...]


def cause_options(
    causes: Sequence[Cause],
    *,
    direction: Direction | None,
    circumstances: Collection[Circumstance],
    chosen: str,
) -> list[CauseOption]:
    """Return the causes for a record with these circumstances, in the order of the rubric.

    The first six that fit the direction have keys. Scores without an order have no direction (None): only
    causes for all directions fit. The chosen cause is always among the options.
    """
    allowed = [one for one in causes if {*circumstances}.issuperset(one.needs) or one.word == chosen]
    fitting = [one for one in allowed if not one.directions or direction in one.directions]
    keys = {one.word: str(place) for place, one in enumerate(fitting[:SHOWN_CAUSES], start=1)}
    return [
        CauseOption(one.word, one.title, keys.get(one.word, ""), one.word == chosen, one.directions)
        for one in allowed
    ]

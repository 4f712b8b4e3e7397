"""Divide records among several people: evenly or by numbers, and whole tasks to one person if wanted."""

from collections.abc import Sequence
from typing import NamedTuple

from reviews.models import User


class SplitRefused(Exception):
    """The records cannot be divided like this. The message is a sentence."""


class Share(NamedTuple):
    """The part of one person."""

    person: User
    #: The number of records; None for an even share of the records that are left.
    number: int | None = None


class Split(NamedTuple):
    """How to divide records."""

    shares: tuple[Share, ...]
    #: Whether all records of a task are for the same person.
    keeps_tasks: bool = True

    @property
    def people(self) -> list[User]:
        return [share.person for share in self.shares]

    def sizes(self, records: int) -> list[int]:
        """Return how many of so many records each person is to get. Raises `SplitRefused`."""
        if not self.shares:
            raise SplitRefused("Choose at least one person.")
        wanted = sum(share.number or 0 for share in self.shares)
        if wanted > records:
            raise SplitRefused(f"The numbers add up to {wanted:,}, but only {records:,} can be split.")
        even = [place for place, share in enumerate(self.shares) if share.number is None]
        sizes = [share.number or 0 for share in self.shares]
        for order, place in enumerate(even):
            each, more = divmod(records - wanted, len(even))
            sizes[place] = each + (order < more)
        return sizes

    def divide(self, tasks: Sequence[str | None]) -> list[User | None]:
        """Return the person for each record, given its task; None for records that stay as they are.

        Nobody gets more records than their number. Even shares differ by less than a task. Raises
        `SplitRefused`.
        """
        sizes, people = self.sizes(len(tasks)), self.people
        if not self.keeps_tasks:
            in_turn = [person for person, size in zip(people, sizes, strict=True) for _ in range(size)]
            return [*in_turn, *[None] * (len(tasks) - len(in_turn))]
        found: list[User | None] = [None] * len(tasks)
        # The largest tasks first, each for the person who lacks most: the small ones even out the shares.
        for places in sorted(_by_task(tasks), key=len, reverse=True):
            chosen = max(range(len(sizes)), key=lambda place: self._need(place, sizes, len(places)))
            if self._need(chosen, sizes, len(places)) == _TOO_MANY:
                continue
            sizes[chosen] -= len(places)
            for place in places:
                found[place] = people[chosen]
        return found

    def _need(self, place: int, left: list[int], records: int) -> float:
        """Return how many records a person still lacks, or `_TOO_MANY` if so many exceed their number."""
        is_exact = self.shares[place].number is not None
        return _TOO_MANY if is_exact and records > left[place] else left[place]


_TOO_MANY = float("-inf")


def _by_task(tasks: Sequence[str | None]) -> list[list[int]]:
    """Return the places of the records of each task. A record without a task is alone."""
    found: dict[object, list[int]] = {}
    for place, task in enumerate(tasks):
        found.setdefault(place if task is None else task, []).append(place)
    return list(found.values())

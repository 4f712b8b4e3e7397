"""Correct the probabilities of rated records when a larger share is reduced before its records are reviewed.

A larger share raises the probability of records that were rated already, because the records that it adds
represent the same part of the run. If a smaller share removes some of these before anybody reviews them, the
rated records represent more again.

The records that stay rated were drawn with the larger share where reviewers have reached the added records,
and with the smaller one elsewhere. The queue gives out records by task. So for each rated record, the added
records next to it in this order show the part of them that was reached.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import mode
from typing import NamedTuple

from django.db import connection

from reviews.models import Run
from reviews.review import status_changes

_NEGLIGIBLE = 1e-9
# The added records that are looked at on each side of a rated record.
_NEIGHBOURS = 3
# The first probability is that at the lock-in: blind ratings keep the ratio of both when it is raised.
_RATED = """
    SELECT id, sample_probability, sample_probability * (
        SELECT min(blind_scores.probability / rating.probability)
        FROM rating JOIN blind_scores ON blind_scores.id = rating.blind_scores_id
        WHERE rating.evaluation_id = evaluation.id
    )
    FROM evaluation
    WHERE run_id = %(run)s AND is_sampled AND sample_probability IS NOT NULL
    ORDER BY length(task_id), task_id, id
"""


class Difference(NamedTuple):
    """A difference between the sample as it is and as it is wanted."""

    record: int
    is_sampled: bool
    is_wanted: bool
    #: The probability of being drawn now, in (0, 1] if it is wanted.
    probability: float
    #: A number for the cell of the record.
    cell: int
    #: The key of the import of the record.
    source: int
    #: The largest share of the cell and the import, from 0 to 1, that does not contain the record.
    outside: float

    @property
    def group(self) -> tuple[int, int]:
        """The records that are drawn together: those of a cell and an import."""
        return self.cell, self.source


class _Sampled(NamedTuple):
    """A record of the sample, before others are removed."""

    difference: Difference
    #: The place of the record in the order of the queue.
    place: int
    probability: float
    #: The probability when somebody scored it blind; None for other records.
    first: float | None


def correct_probabilities(run: Run, differences: Iterable[Difference]) -> None:
    """Correct the probabilities of rated records before others are removed from the sample."""
    found = {one.record: one for one in differences if one.is_sampled}
    reduced = {one.group for one in found.values() if not one.is_wanted}
    groups: dict[tuple[int, int], list[_Sampled]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_RATED, {"run": run.pk})
        for place, (key, *probabilities) in enumerate(cursor):
            if key in found and found[key].group in reduced:
                groups[found[key].group].append(_Sampled(found[key], place, *probabilities))
    changed = dict(pair for records in groups.values() for pair in _corrected(records))
    if changed:
        status_changes.reduce_probabilities(changed)


def _corrected(records: Sequence[_Sampled]) -> Iterator[tuple[int, float]]:
    """Yield the rated records of a group whose probability changes, given in the order of the queue."""
    removed = [one.probability for one in records if one.first is None and not one.difference.is_wanted]
    if not removed:
        return
    before = mode(removed)
    for one in records:
        base = max(one.first or 1.0, one.difference.probability)
        if base < before - _NEGLIGIBLE:
            added = [other for other in records if base <= other.difference.outside + _NEGLIGIBLE < before]
            left = 1 - _part_reached(one, added)
            if left:
                yield one.difference.record, 1 / (1 / one.probability + left * (1 / base - 1 / before))


def _part_reached(rated: _Sampled, added: Sequence[_Sampled]) -> float:
    """Return the part of the added records next to a rated one that somebody scored blind."""
    at = bisect(added, rated.place, key=lambda one: one.place)
    nearest = added[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
    return sum(one.first is not None for one in nearest) / len(nearest) if nearest else 1.0

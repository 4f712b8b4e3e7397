"""Correct the probabilities of rated records when a larger share is reduced before its records are reviewed.

A larger share raises the probability of records that were rated already, because the records that it adds
represent the same part of the run. If a smaller share removes some of these before anybody reviews them, the
rated records represent more again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from django.db import connection

from reviews.models import Run
from reviews.queue import allocation
from reviews.review import status_changes
from reviews.sampling.planned_shares import CELL_SQL

_NEGLIGIBLE = 1e-9
# The first probability is that at the lock-in: blind ratings keep the ratio of both when it is raised.
_SAMPLED = f"""
    SELECT {CELL_SQL}, id, sample_probability, sample_probability * (
        SELECT min(blind_scores.probability / rating.probability)
        FROM rating JOIN blind_scores ON blind_scores.id = rating.blind_scores_id
        WHERE rating.evaluation_id = evaluation.id
    )
    FROM evaluation
    WHERE run_id = %(run)s AND is_sampled AND sample_probability IS NOT NULL
    ORDER BY 1, {allocation.POSITION_SQL}, id
"""  # noqa: S608 (constants)


class _Sampled(NamedTuple):
    """A record of the sample, before others are removed."""

    key: int
    probability: float
    #: The probability when somebody scored it blind; None for other records.
    first: float | None

    @property
    def is_raised(self) -> bool:
        """Whether a larger share was drawn after somebody scored the record blind."""
        return self.first is not None and self.first < self.probability - _NEGLIGIBLE


def correct_probabilities(run: Run, removed: Mapping[int, float]) -> None:
    """Correct the probabilities of rated records before others are removed from the sample.

    `removed` has the new share of each record that is not wanted any more.
    """
    cells: dict[int, list[_Sampled]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLED, {"run": run.pk, "purpose": allocation.SAMPLE})
        for cell, *row in cursor:
            cells[cell].append(_Sampled(*row))
    changed = {
        key: probability
        for records in cells.values()
        if (shares := [removed[one.key] for one in records if one.key in removed])
        for key, probability in _corrected(records, max(shares))
    }
    if changed:
        status_changes.reduce_probabilities(changed)


def _corrected(records: Sequence[_Sampled], share: float) -> Iterator[tuple[int, float]]:
    """Yield the raised records of a cell, given in the order of the draw, with their probabilities.

    The queue gives out records in one order, so of the records that the larger share added, those come first
    that are like the raised ones. As far as these are rated, the raised probability is right.
    """
    raised = [one for one in records if one.is_raised]
    if not raised:
        return
    largest = max(one.probability for one in records)
    first = min(one.first or 1.0 for one in raised)
    base = max(first, share)
    at_first, stay = (ceil(len(records) * part / largest - _NEGLIGIBLE) for part in (first, base))
    beyond = records[stay:]
    rated = sum(one.first is not None for one in beyond)
    alike = min(1.0, len(raised) / max(1, at_first)) * len(beyond)
    reached = min(1.0, rated / alike) if alike else 1.0
    for one in raised:
        if base < one.probability:
            yield one.key, 1 / (reached / one.probability + (1 - reached) / base)

"""Which records a share of a run falls on: the same ones always, told by their id alone.

A record's place is as good as drawn by lot: independent of what it holds, of other records, and of its
place for another purpose. A larger share holds all of a smaller one.
"""

import hashlib

from reviews.models import Run

BLIND, SAMPLE, OVERLAP = "blind", "sample", "overlap"

# A record's place for the purpose `%(purpose)s` as SQL, to order by: in the order of `position`.
POSITION_SQL = "sha256(convert_to(%(purpose)s || ':' || evaluation_id, 'UTF8'))"
# As many bytes as a float holds exactly.
_BYTES = 6
_PLACES: int = 256**_BYTES


def position(purpose: str, evaluation_id: str) -> float:
    """The place of a record, from 0 up to but not 1: it is in every share that is larger."""
    digest = hashlib.sha256(f"{purpose}:{evaluation_id}".encode()).digest()
    return int.from_bytes(digest[:_BYTES]) / _PLACES


def is_blind(run: Run, evaluation_id: str) -> bool:
    """Whether the record is in the run's blind share."""
    return position(BLIND, evaluation_id) < run.blind_share


def required_independent_reviews(run: Run, evaluation_id: str) -> int:
    """How many people are to review the record, each on their own: 1 outside the run's overlap share."""
    return run.overlap if position(OVERLAP, evaluation_id) < run.overlap_share else 1

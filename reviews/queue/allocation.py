"""Decide which records and decisions a share of a run contains: by a hash of the purpose and the id.

The choice is deterministic and as good as random: it does not depend on the record's content, on other
records, or on the choice for another purpose. A larger share contains every smaller one.
"""

import hashlib
from math import ceil

from django.db.models import F, FloatField, Func, Value
from django.db.models.functions import Random

from reviews.models import Run

BLIND, SAMPLE, OVERLAP, SPOT_CHECK = "blind", "sample", "overlap", "spot check"

# SQL to order records by, for the purpose `%(purpose)s`. The order is that of `position`.
POSITION_SQL = "sha256(convert_to(%(purpose)s || ':' || evaluation_id, 'UTF8'))"
# As many bytes as a float represents exactly.
_BYTES = 6
_POSITIONS: int = 256**_BYTES


def position(purpose: str, evaluation_id: str) -> float:
    """Return the record's position in [0, 1). A share contains the record if it is larger."""
    digest = hashlib.sha256(f"{purpose}:{evaluation_id}".encode()).digest()
    return int.from_bytes(digest[:_BYTES]) / _POSITIONS


def position_expression(purpose: str, column: str = "evaluation_id") -> Func:
    """Return the expression of `position` for a column with the ids of records."""
    return Func(Value(purpose), F(column), function="share_position", output_field=FloatField())


def random_order(seed: str | None, column: str = "evaluation_id") -> Func:
    """Return an expression to sort records by at random. With a seed, the order depends only on their ids.

    PostgreSQL's own seed is no substitute: its plan decides which row gets which random number.
    """
    return Random() if seed is None else position_expression(seed, column)


def bound(share: float) -> bytes:
    """Return the bound of a share: the digests below it, as `POSITION_SQL` gives them, are in the share."""
    below = ceil(share * _POSITIONS)
    return below.to_bytes(_BYTES) if below < _POSITIONS else b"\xff" * (hashlib.sha256().digest_size + 1)


def is_blind(run: Run, evaluation_id: str) -> bool:
    return position(BLIND, evaluation_id) < run.blind_share


def required_independent_reviews(run: Run, evaluation_id: str) -> int:
    """Return how many people have to review the record independently: 1 outside the run's overlap share."""
    return run.overlap if position(OVERLAP, evaluation_id) < run.overlap_share else 1


def is_spot_checked(run: Run, evaluation_id: str, version: int) -> bool:
    """Return whether a decision, a version of a record, is in the run's standing sample for spot checks."""
    return position(SPOT_CHECK, f"{version}:{evaluation_id}") < run.spot_check_share

"""Statements that change the status of many records at once.

`decisions` changes single records. No other package changes a status.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connection

from reviews.database.statements import execute, fetch_all
from reviews.models import Evaluation, Import
from reviews.queue.claim_columns import clear_claims
from reviews.records.schema import Record
from reviews.records.status import NOT_REQUIRED, TRANSITIONS

_SAMPLED = TRANSITIONS["sample", NOT_REQUIRED]

_DRAWN = "unnest(%(keys)s::bigint[], %(probabilities)s::float8[]) AS drawn (key, probability)"
_SAMPLE = f"""
    UPDATE evaluation
    SET is_sampled = true, human_review_status = %(sampled)s, sample_probability = probability
    FROM {_DRAWN}
    WHERE evaluation.id = key AND human_review_status = %(not_required)s AND review_id IS NULL
"""  # noqa: S608 (a constant)
#: SQL: whether nobody has worked on a record, claims and escalations aside.
IS_UNTOUCHED = " AND ".join(
    f"NOT EXISTS (SELECT FROM {table} WHERE {table}.evaluation_id = evaluation.id)"
    for table in ("review", "blind_scores", "draft")
)
# Its blind ratings have the probability at lock-in, times the blind share.
_RAISE_RATINGS = f"""
    UPDATE rating
    SET probability = least(1, rating.probability * drawn.probability / evaluation.sample_probability)
    FROM {_DRAWN} JOIN evaluation ON evaluation.id = key
    WHERE rating.evaluation_id = key AND blind_scores_id IS NOT NULL
      AND sample_probability < drawn.probability
"""  # noqa: S608 (a constant)
# A record that was reached while the sample was larger was drawn with the larger probability.
_CHANGE_PROBABILITIES = f"""
    UPDATE evaluation SET sample_probability = probability
    FROM {_DRAWN}
    WHERE evaluation.id = key AND (
        sample_probability < probability
        OR (NOT is_escalated AND (claimed_until IS NULL OR claimed_until <= now()) AND {IS_UNTOUCHED})
    )
"""  # noqa: S608 (a constant)
_REDUCE_RATINGS = f"""
    UPDATE rating SET probability = rating.probability * drawn.probability / evaluation.sample_probability
    FROM {_DRAWN} JOIN evaluation ON evaluation.id = key
    WHERE rating.evaluation_id = key AND blind_scores_id IS NOT NULL
"""  # noqa: S608 (a constant)
_REDUCE = f"UPDATE evaluation SET sample_probability = probability FROM {_DRAWN} WHERE evaluation.id = key"  # noqa: S608
# A record that somebody is working on stays in the queue.
_LOCK_UNTOUCHED = """
    SELECT id FROM evaluation
    WHERE id = ANY(%(keys)s) AND human_review_status = %(sampled)s AND review_id IS NULL AND NOT is_escalated
      AND (claimed_until IS NULL OR claimed_until <= now())
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
"""
# A statement of its own: reviews and drafts that were saved before the lock was taken are visible to it.
_UNSAMPLE = f"""
    UPDATE evaluation
    SET is_sampled = false, human_review_status = %(not_required)s, sample_probability = NULL
    WHERE id = ANY(%(keys)s) AND {IS_UNTOUCHED}
    RETURNING id, claimed_by_id IS NOT NULL
"""  # noqa: S608 (a constant)

_TYPES = {
    "TextField": "text",
    "JSONField": "jsonb",
    "BooleanField": "boolean",
    "DateTimeField": "timestamptz",
    "BigIntegerField": "bigint",
    "BinaryField": "bytea",
}
_COLUMNS = (
    "source_line",
    "content_hash",
    "extracted_scores",
    "criteria_order",
    "is_sampled",
    "is_outdated",
    *Record._fields,
)
_COLUMN_TYPES = {name: _TYPES[Evaluation._meta.get_field(name).get_internal_type()] for name in _COLUMNS}
# The new rows come as one JSON text.
_UPDATE_RECORDS = f"""
    UPDATE evaluation SET
        source_import_id = %s, {", ".join(f"{name} = new.{name}" for name in _COLUMNS)},
        sample_probability = CASE
            WHEN new.is_sampled OR (evaluation.needs_human_review AND new.needs_human_review)
            THEN sample_probability
        END,
        version = version + 1, review_id = CASE WHEN new.keeps_review THEN review_id END
    FROM json_to_recordset(%s::json) AS new (
        id bigint, keeps_review boolean, {", ".join(f"{name} {kind}" for name, kind in _COLUMN_TYPES.items())}
    )
    WHERE evaluation.id = new.id
"""  # noqa: S608 (our own column names)


def sample_records(probabilities: Mapping[int, float]) -> int:
    """Add unflagged records to the random sample and to the queue. Return how many were added.

    The probability, in (0, 1], is that of being drawn, by record.
    """
    return _execute(probabilities, _SAMPLE)


def change_probabilities(probabilities: Mapping[int, float]) -> None:
    """Change the probability of being drawn, by drawn record, and that of its blind ratings.

    It never decreases for a record that somebody has worked on.
    """
    _execute(probabilities, _RAISE_RATINGS, _CHANGE_PROBABILITIES)


def reduce_probabilities(probabilities: Mapping[int, float]) -> None:
    """Set the probability of being drawn, by drawn record, and that of its blind ratings in proportion."""
    _execute(probabilities, _REDUCE_RATINGS, _REDUCE)


def _execute(probabilities: Mapping[int, float], *statements: str) -> int:
    """Execute statements with the probabilities by record. Return the rows that the last one changed."""
    values: dict[str, Any] = {
        "keys": [*probabilities],
        "probabilities": [*probabilities.values()],
        "sampled": _SAMPLED,
        "not_required": NOT_REQUIRED,
    }
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, values)
        return int(cursor.rowcount)


def unsample_records(keys: list[int]) -> int:
    """Remove records that nobody has worked on from the sample and the queue. Return their number."""
    locked = [key for (key,) in fetch_all(_LOCK_UNTOUCHED, {"keys": keys, "sampled": _SAMPLED})]
    status = TRANSITIONS["put back", _SAMPLED]
    removed = fetch_all(_UNSAMPLE, {"keys": locked, "not_required": status})
    expired_claims = [key for key, has_claim in removed if has_claim]
    clear_claims(Evaluation.objects.filter(pk__in=expired_claims))
    return len(removed)


def update_records(source: Import, rows: Sequence[dict[str, Any]]) -> None:
    """Give known records the values of their new lines in a file.

    Each row has "id", "source_line", "content_hash" (as a bytea literal in hexadecimal), "extracted_scores",
    "criteria_order", "is_sampled", "is_outdated", "keeps_review" (the current decision stays), and the
    columns of `Record`.
    """
    execute(_UPDATE_RECORDS, [source.pk, orjson.dumps(rows).decode()])

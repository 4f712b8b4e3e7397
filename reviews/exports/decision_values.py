"""Encode the human_* values of a decision as in a file."""

import json
from functools import lru_cache
from operator import itemgetter
from typing import Any

import orjson
from django.db.models import Expression, Func, TextField, Value
from django.db.models.functions import Cast

from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import keeps_line


def decision_columns(prefix: str = "") -> list[str | Expression]:
    """Return the columns of a decision, in the order of the parameters of `human_values`.

    PostgreSQL formats the timestamp, and returns the scores as text: half the work of converting both
    to Python values.
    """
    status, reviewer, moment, scores, comments = (prefix + name for name in HUMAN_FIELDS)
    spelled = Func(
        moment, Value('YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), function="to_char", output_field=TextField()
    )
    return [
        f"{prefix}review_id",
        f"{prefix}is_sampled",
        status,
        reviewer,
        spelled,
        Cast(scores, TextField()),
        comments,
    ]


def human_values(review: int | None, is_sampled: bool, *columns: str | None) -> dict[str, Any] | None:  # noqa: FBT001 (by their order)
    """Return the five human_* values as in a file, or None if the line keeps its own (`keeps_line`)."""
    values: dict[str, Any] = dict(zip(HUMAN_FIELDS, columns, strict=True))
    status = values["human_review_status"]
    if keeps_line(has_review=review is not None, is_sampled=is_sampled, status=status):
        return None
    scores = values["human_corrected_scores"]
    if scores is not None:
        values["human_corrected_scores"] = orjson.loads(scores)
    return values


def order_criteria(line: bytes, human: dict[str, Any]) -> dict[str, Any]:
    """Sort the corrected criteria as in the line. PostgreSQL does not keep the order of JSON keys.

    Parsed criteria are keys in `parsed_rubric_scores`. Unparsed ones are in the raw output, with escaped
    quotes.
    """
    scores = human["human_corrected_scores"]
    if not scores:
        return human
    parsed, end = line.find(b'"parsed_rubric_scores"'), len(line)
    keys, keys_in_text = _spelled(tuple(scores), ascii_only=line.isascii())
    places = [line.find(key, parsed) for key in keys]
    if -1 in places:
        # First the parsed criteria, then those in the raw output, then those added by reviewers.
        in_text = [line.find(key) + 1 or end for key in keys_in_text]
        places = [place if place >= 0 else end + other for place, other in zip(places, in_text, strict=True)]
    order = sorted(zip(places, scores, strict=True), key=itemgetter(0))
    return human | {"human_corrected_scores": {criterion: scores[criterion] for _, criterion in order}}


@lru_cache(maxsize=1000)
def _spelled(criteria: tuple[str, ...], *, ascii_only: bool) -> tuple[list[bytes], list[bytes]]:
    """Return the criteria as JSON keys, and as keys of JSON inside a JSON string."""
    encode = json.JSONEncoder(ensure_ascii=ascii_only).encode
    return (
        [encode(criterion).encode() for criterion in criteria],
        [encode(f'"{criterion}"')[1:-1].encode() for criterion in criteria],
    )

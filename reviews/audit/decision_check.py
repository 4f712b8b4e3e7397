"""Compare the decisions in the database with their copies in the audit log. Reads only.

The hash chain protects only the log. A change of a decision that bypasses the triggers of its table leaves
the log as it was, so the two differ.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db import connection

from reviews.records import status as status_rules
from reviews.records.schema import HUMAN_FIELDS

# Actions that make a version the current decision. `undo` and `reopen` end a current decision.
_DECIDING = ("submit", "adjudicate", "resolve", "revise", "restore", "close", "resolve conflict")
# Actions that create a version. Reopening turns a file's decision into a version.
_CREATING = (*_DECIDING, "independent review", "reopen")
_WITHDRAWING = ("undo", "undo independent review")

# An evaluation_id is unique in its run only.
_RECORD = "evaluation.evaluation_id || ' of run ' || quote_literal(run.name)"
_JOIN_RUN = "JOIN run ON run.id = evaluation.run_id"

# Each record with its newest event that has human_* values. JSON is compared as text: as jsonb, 1 = 1.0.
# Timestamps are compared in Python because the log has another format.
_CURRENT = f"""
    WITH newest AS (
        SELECT event.evaluation_id, max(seal.position) AS position
        FROM audit_event event JOIN audit_seal seal ON seal.event_id = event.id
        WHERE event.detail ? 'human' AND event.evaluation_id IS NOT NULL
        GROUP BY event.evaluation_id
    )
    SELECT {_RECORD}, evaluation.human_review_status, evaluation.is_sampled,
           evaluation.review_id, review.version, evaluation.human_review_timestamp,
           event.id, event.action, event.actor_name,
           CASE WHEN jsonb_typeof(event.detail -> 'version') = 'number'
                THEN event.detail -> 'version' = to_jsonb(review.version) END,
           event.detail #> '{{human,keeps_line}}' IS NOT NULL,
           event.detail #>> '{{human,after,human_review_timestamp}}',
           undone.before #>> '{{review}}',
           ARRAY_REMOVE(ARRAY[
               CASE WHEN evaluation.human_review_status IS DISTINCT FROM
                   event.detail #>> '{{human,after,human_review_status}}' THEN 'human_review_status' END,
               CASE WHEN evaluation.human_reviewer_id IS DISTINCT FROM
                   event.detail #>> '{{human,after,human_reviewer_id}}' THEN 'human_reviewer_id' END,
               CASE WHEN coalesce(evaluation.human_corrected_scores, 'null')::text IS DISTINCT FROM
                   coalesce(event.detail #> '{{human,after,human_corrected_scores}}', 'null')::text
                   THEN 'human_corrected_scores' END,
               CASE WHEN evaluation.human_review_comments IS DISTINCT FROM
                   event.detail #>> '{{human,after,human_review_comments}}' THEN 'human_review_comments' END
           ], NULL)
    FROM evaluation
    {_JOIN_RUN}
    LEFT JOIN review ON review.id = evaluation.review_id
    LEFT JOIN newest ON newest.evaluation_id = evaluation.id
    LEFT JOIN audit_seal seal ON seal.position = newest.position
    LEFT JOIN audit_event event ON event.id = seal.event_id
    LEFT JOIN review undone ON event.action = 'undo' AND undone.evaluation_id = evaluation.id
        AND to_jsonb(undone.version) = event.detail -> 'version'
    WHERE evaluation.review_id IS NOT NULL OR newest.position IS NOT NULL
    ORDER BY evaluation.id
"""  # noqa: S608 (constants)
_VERSIONS = f"""
    SELECT {_RECORD}, review.version, person.username
    FROM review
    JOIN evaluation ON evaluation.id = review.evaluation_id
    {_JOIN_RUN}
    JOIN person ON person.id = review.reviewer_id
    WHERE NOT EXISTS (
        SELECT FROM audit_event event
        WHERE event.evaluation_id = review.evaluation_id AND event.actor_id = review.reviewer_id
          AND event.action = ANY(%s) AND event.detail -> 'version' = to_jsonb(review.version)
          AND coalesce(event.detail -> 'scores', event.detail #> '{{human,after,human_corrected_scores}}',
                       'null')::text = coalesce(review.corrected_scores, 'null')::text
          AND coalesce(event.detail ->> 'comments', event.detail #>> '{{human,after,human_review_comments}}')
              IS NOT DISTINCT FROM review.comments
          AND coalesce(event.detail -> 'causes', '{{}}')::text = review.causes::text
    )
    ORDER BY review.id
"""  # noqa: S608 (constants)
_BLIND_SCORES = f"""
    SELECT {_RECORD}, person.username
    FROM blind_scores
    JOIN evaluation ON evaluation.id = blind_scores.evaluation_id
    {_JOIN_RUN}
    JOIN person ON person.id = blind_scores.reviewer_id
    WHERE NOT EXISTS (
        SELECT FROM audit_event event
        WHERE event.evaluation_id = blind_scores.evaluation_id AND event.actor_id = blind_scores.reviewer_id
          AND event.action = 'blind scores' AND (event.detail -> 'scores')::text = blind_scores.scores::text
    )
    ORDER BY blind_scores.id
"""  # noqa: S608 (constants)
_WITHDRAWALS = f"""
    SELECT {_RECORD}, review.version
    FROM withdrawal
    JOIN review ON review.id = withdrawal.review_id
    JOIN evaluation ON evaluation.id = review.evaluation_id
    {_JOIN_RUN}
    WHERE NOT EXISTS (
        SELECT FROM audit_event event
        WHERE event.evaluation_id = review.evaluation_id AND event.actor_id = withdrawal.actor_id
          AND event.action = ANY(%s) AND event.detail -> 'version' = to_jsonb(review.version)
    )
    ORDER BY withdrawal.id
"""  # noqa: S608 (constants)
_REMOVED = """
    SELECT event.id, event.action, event.actor_name,
           event.record || ' of run ' || quote_literal(event.run_name), event.detail ->> 'version'
    FROM audit_event event
    LEFT JOIN review ON review.evaluation_id = event.evaluation_id
        AND to_jsonb(review.version) = event.detail -> 'version'
    LEFT JOIN withdrawal ON withdrawal.review_id = review.id
    WHERE jsonb_typeof(event.detail -> 'version') = 'number' AND (
        (event.action = ANY(%s) AND review.id IS NULL)
        OR (event.action = ANY(%s) AND withdrawal.id IS NULL)
    ) AND NOT EXISTS (
        SELECT FROM audit_event deletion
        WHERE deletion.run_id = event.run_id AND deletion.action = 'delete run'
    )
    ORDER BY event.id
"""


def find_differences() -> Iterator[str]:
    """Yield a sentence for each decision that differs from the audit log. Call it in a transaction.

    Compares the human_* values and the current version of each record; the scores, comments, causes and
    reviewer of each version; blind scores; and undone versions. Decisions of a deleted run are gone with it.
    """
    yield from _current_decisions()
    for record, version, reviewer in _rows(_VERSIONS, [*_CREATING]):
        yield f"{record}: version {version} by {reviewer} differs from the audit log"
    for record, reviewer in _rows(_BLIND_SCORES):
        yield f"{record}: the blind scores of {reviewer} differ from the audit log"
    for record, version in _rows(_WITHDRAWALS, [*_WITHDRAWING]):
        yield f"{record}: version {version} is marked as undone, but the audit log has no such undo"
    for event, action, actor, record, version in _rows(_REMOVED, [*_CREATING], [*_WITHDRAWING]):
        gone = "the undo" if action in _WITHDRAWING else "the decision"
        yield f"{record}: {gone} of version {version} in event {event} ({action} by {actor}) was removed"


def _current_decisions() -> Iterator[str]:
    for record, status, is_sampled, *row in _rows(_CURRENT):
        review, version, moment, event, action, actor, is_same, keeps_line, logged, before, differing = row
        if event is None:
            yield f"{record}: has a current decision, but the audit log has none"
            continue
        name = f"event {event} ({action} by {actor or 'the program'})"
        if keeps_line or review is None:
            is_kept = status_rules.keeps_line(
                has_review=review is not None, is_sampled=is_sampled, status=status
            )
            may_be_open = keeps_line or (action == "undo" and before is None)
            if not (is_kept and may_be_open):
                yield f"{record}: the decision of {name} is not the current one"
        elif (action in _DECIDING and is_same is False) or (action == "undo" and before != str(review)):
            yield f"{record}: the current version {version} is not the one of {name}"
        else:
            found = {*differing, *_differing_moment(moment, logged)}
            if found:
                fields = ", ".join(name for name in HUMAN_FIELDS if name in found)
                yield f"{record}: {fields} changed since {name}"


def _differing_moment(moment: dt.datetime | None, logged: str | None) -> list[str]:
    try:
        same = moment == (dt.datetime.fromisoformat(logged) if logged else None)
    except ValueError:
        same = False
    return [] if same else ["human_review_timestamp"]


def _rows(statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(2_000):
            yield from rows

"""The next record for a reviewer: found, locked and claimed by one statement.

Whoever looks for a free record passes over rows that others have locked, and PostgreSQL checks the claim
columns again on the newest version of the row it locks: two reviewers never get the same record. (A claim
in a table of its own was tried and handed out 381 of 1,600 twice.)
"""

import datetime as dt
from typing import Any, NamedTuple, cast

from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.models import Q

from reviews.models import Evaluation, Run, User
from reviews.records.status import QUEUE_STATUSES

# How far from the front of the queue a task that nobody is at is looked for, and among how many claims.
LOOK_AHEAD = 500


class Claimed(NamedTuple):
    """A record, whether the reviewer held it before, and the revision of a draft of theirs on it."""

    evaluation: Evaluation
    was_held: bool
    draft: int | None


def claim_first(
    *, run: Run, reviewer: User, until: dt.datetime, condition: Q, beside: int | None = None
) -> Claimed | None:
    """Claim, until then, what the reviewer holds already or else the first that is free.

    `condition` is on the evaluation. With `beside`, the key of the record on a screen, it is about a spare
    one: of what the reviewer holds those are spare that end no later than `until`.
    """
    values: dict[str, Any] = {"run": run.pk, "reviewer": reviewer.pk, "until": until, "beside": beside}
    for evaluation in Evaluation.objects.raw(_statement(_filter(run, condition)), values):
        evaluation.run = run
        return Claimed(evaluation, vars(evaluation)["was_held"], vars(evaluation)["draft"])
    return None


def _filter(run: Run, condition: Q) -> str:
    if not condition:
        return ""
    query = Evaluation.objects.filter(condition, run=run).order_by().values("pk").query
    statement = cast("DatabaseOperations", connection.ops).compose_sql(*query.sql_with_params())
    return f"AND evaluation.id IN ({statement})".replace("%", "%%")


# Task by task (shorter ids first, so 9 comes before 10), then by model: the order of the queue index, which
# has what nobody holds.
_ORDER = "ORDER BY assigned_to_id, priority DESC, length(task_id), task_id, model_id, id"
_LOCKED = "LIMIT 1 FOR NO KEY UPDATE OF evaluation SKIP LOCKED"
_WORDS = ", ".join(f"'{word}'" for word in QUEUE_STATUSES)
_IN_QUEUE = f"FROM evaluation WHERE evaluation.run_id = %(run)s AND human_review_status IN ({_WORDS})"
_OPEN = f"""
    {_IN_QUEUE} AND NOT is_escalated AND evaluation.id IS DISTINCT FROM %(beside)s
    AND evaluation.id NOT IN (SELECT evaluation_id FROM skip WHERE skip.reviewer_id = %(reviewer)s)
    AND evaluation.id NOT IN (SELECT evaluation_id FROM opinion WHERE reviewer_id = %(reviewer)s AND is_open)
    AND evaluation.id NOT IN (
        SELECT evaluation_id FROM reveal WHERE reviewer_id = %(reviewer)s AND how = 'opinions'
    )
"""  # noqa: S608 (our own SQL)
_HELD = f"""
    SELECT id {_IN_QUEUE} AND claimed_by_id = %(reviewer)s AND claimed_until > now()
    AND (%(beside)s::bigint IS NULL OR (evaluation.id <> %(beside)s AND claimed_until <= %(until)s))
"""
# What somebody let run out was first before, and is first again.
_RAN_OUT = f"""
    SELECT id {_OPEN} AND claimed_by_id IS NOT NULL AND claimed_until <= now()
    AND (assigned_to_id IS NULL OR assigned_to_id = %(reviewer)s)
"""
# The task in mind is that of the record beside, or of the last review if that was in this run.
_TASK = """
    SELECT CASE WHEN %(beside)s::bigint IS NOT NULL
    THEN (SELECT task_id FROM evaluation WHERE id = %(beside)s)
    ELSE (
        SELECT CASE last.run_id WHEN %(run)s THEN last.task_id END
        FROM review JOIN evaluation last ON last.id = review.evaluation_id
        WHERE review.reviewer_id = %(reviewer)s ORDER BY review.id DESC LIMIT 1
    ) END AS id
"""
_TASKS_OF_OTHERS = f"""
    SELECT busy.task_id FROM evaluation busy
    WHERE busy.run_id = %(run)s AND busy.claimed_by_id <> %(reviewer)s AND busy.claimed_until > now()
      AND busy.task_id IS NOT NULL
    ORDER BY busy.claimed_until DESC LIMIT {LOOK_AHEAD}
"""  # noqa: S608 (our own SQL)


def _statement(filtered: str) -> str:
    """Each part of `coalesce` is looked at, and locks a row, only where those before it find nothing."""
    mine = _parts_of_free("mine", "= %(reviewer)s", filtered)
    nobodys = _parts_of_free("nobodys", "IS NULL", filtered)
    return f"""
        WITH task AS MATERIALIZED ({_TASK}),
        held AS MATERIALIZED (
            {_HELD} {filtered} ORDER BY claimed_until DESC LIMIT 1 FOR NO KEY UPDATE OF evaluation
        ),
        {_most_urgent("mine", "= %(reviewer)s", filtered)},
        {_most_urgent("nobodys", "IS NULL", filtered)},
        next AS MATERIALIZED (
            SELECT coalesce(
                (SELECT id FROM held), ({_RAN_OUT} {filtered} {_ORDER} {_LOCKED}), {mine}, {nobodys}
            ) AS id
        )
        UPDATE evaluation SET claimed_by_id = %(reviewer)s, claimed_until = %(until)s
        FROM next WHERE evaluation.id = next.id
        RETURNING evaluation.*, EXISTS (SELECT FROM held) AS was_held, (
            SELECT revision FROM draft WHERE evaluation_id = evaluation.id AND reviewer_id = %(reviewer)s
        ) AS draft
    """  # noqa: S608 (our own SQL, and a filter that Django has quoted)


def _free(assigned: str, filtered: str) -> str:
    return f"{_OPEN} AND claimed_by_id IS NULL AND assigned_to_id {assigned} {filtered}"


def _most_urgent(name: str, assigned: str, filtered: str) -> str:
    """The priority of what comes first. Not locked: others would find the last record but one locked too."""
    return f"{name} AS MATERIALIZED (SELECT priority {_free(assigned, filtered)} {_ORDER} LIMIT 1)"


def _parts_of_free(name: str, assigned: str, filtered: str) -> str:
    """Of the most urgent: of the task in mind, else of a task nobody else is at; else the first."""
    free = _free(assigned, filtered)
    urgent = f"{free} AND priority = (SELECT priority FROM {name})"  # noqa: S608 (our own SQL)
    same_task = "length(task_id) = (SELECT length(id) FROM task) AND task_id = (SELECT id FROM task)"
    near = f"SELECT id {urgent} {_ORDER} LIMIT {LOOK_AHEAD}"
    of_others = f"evaluation.id = ANY(ARRAY({near})) AND evaluation.task_id NOT IN ({_TASKS_OF_OTHERS})"
    return f"""
        (SELECT id {urgent} AND {same_task} {_ORDER} {_LOCKED}),
        (SELECT id {urgent} AND {of_others} {_ORDER} {_LOCKED}),
        (SELECT id {free} {_ORDER} {_LOCKED})
    """

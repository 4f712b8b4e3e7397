"""Find, lock and claim the next record for a reviewer. The statement is in `next_record.sql`."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.models import Q

from reviews.database.compiled_queries import CompiledStatement
from reviews.database.statements import fetch_all
from reviews.models import Evaluation, Run, User
from reviews.models.runs import sees_every_run
from reviews.queue.claim_columns import Claim

_SQL = Path(__file__).with_suffix(".sql").read_text()
_FILTER = "/* filter */"
# By name: a prepared `evaluation.*` would fail after a migration has added a column.
_COLUMNS = ", ".join(f"evaluation.{field.column}" for field in Evaluation._meta.concrete_fields)


def _twice(part: str) -> str:
    """Return the text up to "end" for the reviewer's own records, then for those assigned to nobody."""
    own, rest = part.split("/* end */")
    unassigned = own.rstrip().replace("assigned_to_id = %(reviewer)s", "assigned_to_id IS NULL")
    return f"{own.rstrip()},\n{unassigned.replace('own_', 'open_')}{rest}"


_START, *_BOTH = _SQL.replace("/* columns */", _COLUMNS).split("/* both */")
_CLAIM_NEXT = "".join([_START, *map(_twice, _BOTH)])


def _part(name: str) -> str:
    """Return a subquery of the statement, about the run `offered`, without its filter and lock."""
    part = _CLAIM_NEXT.partition(f"{name} AS MATERIALIZED (")[2].partition("\n)")[0]
    return part.partition(" FOR NO KEY UPDATE")[0].replace(_FILTER, "").replace("%(run)s", "offered.id")


_RUNS_WITH_RECORDS = f"""
    WITH excluded AS MATERIALIZED ({_part("excluded")})
    SELECT id FROM run AS offered WHERE id = ANY(%(runs)s) AND coalesce(
        ({_part("claimed")}),
        (SELECT 1 FROM ({_part("own_dated")}) AS own),
        (SELECT 1 FROM ({_part("open_dated")}) AS open),
        ({_part("expired")})
    ) IS NOT NULL
"""  # noqa: S608 (constants)


class Claimed(NamedTuple):
    evaluation: Evaluation
    #: Whether the reviewer had claimed the record before.
    was_claimed: bool
    #: The revision of the draft that the reviewer left on the record.
    draft: int | None


def claim_first(
    *, run: Run, claim: Claim, condition: Q, after: Sequence[int] | None = None
) -> Claimed | None:
    """Claim the record that the reviewer has claimed already, or else the first available one.

    `condition` filters the records of the run. `after` has the keys of the records on the reviewer's page, in
    their order, when the one after them is prefetched: the reviewer's other claims do not count then. A
    restricted run has records for its members and admins only.
    """
    assert claim.claimed_by
    values: dict[str, Any] = {
        "run": run.pk,
        "reviewer": claim.claimed_by.pk,
        "until": claim.claimed_until,
        "is_prefetched": claim.claim_is_prefetched,
        "after": None if after is None else list(after),
        "sees_every_run": sees_every_run(claim.claimed_by),
    }
    for evaluation in _statement(_filter(run, condition)).rows(values):
        evaluation.run, evaluation.claimed_by = run, claim.claimed_by
        return Claimed(evaluation, vars(evaluation)["was_claimed"], vars(evaluation)["draft"])
    return None


def runs_with_records(*, runs: Iterable[Run], reviewer: User) -> list[Run]:
    """Return those of these runs, in their order, in which `claim_first` would find a record.

    Whether the reviewer may see a run is not checked, and locks are ignored.
    """
    offered = list(runs)
    values = {"runs": [run.pk for run in offered], "reviewer": reviewer.pk, "after": None}
    rows = fetch_all(_RUNS_WITH_RECORDS, values)
    found = {pk for [pk] in rows}
    return [run for run in offered if run.pk in found]


@lru_cache(maxsize=64)
def _statement(condition: str) -> CompiledStatement[Evaluation]:
    return CompiledStatement(Evaluation, _CLAIM_NEXT.replace(_FILTER, condition))


def _filter(run: Run, condition: Q) -> str:
    if not condition:
        return ""
    query = Evaluation.objects.filter(condition, run=run).order_by().values("pk").query
    statement = cast("DatabaseOperations", connection.ops).compose_sql(*query.sql_with_params())
    return f"AND evaluation.id IN ({statement})".replace("%", "%%")

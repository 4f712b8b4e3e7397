"""The rubric of a run: declared by a lead or admin, or else inferred from its files.

A change of the rubric changes pages at once, but no record. `search.indexing` adapts lists and filters.
"""

from dataclasses import replace
from functools import lru_cache

import orjson
from django.db import transaction

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import RunLock
from reviews.models import Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import RubricError, rubric_from_json, rubric_problems
from reviews.rubric.found_scales import merge_rubrics


def run_rubric(run: Run) -> Rubric:
    """Return the rubric of a run, with defaults for missing parts."""
    return _read(orjson.dumps(run.rubric)) if run.rubric else Rubric()


@lru_cache(maxsize=256)
def _read(stored: bytes) -> Rubric:
    return rubric_from_json(orjson.loads(stored))


def hold_rubric(run: Run) -> None:
    """Keep the verdicts of a run from changing until the transaction ends, and load its rubric.

    Verdicts that are saved afterwards follow the same rubric as all others. A transaction that locks records
    must do so before, because an import with another rubric locks records first.
    """
    lock_rubric(run)
    run.refresh_from_db(fields=["rubric"])


def lock_rubric(run: Run) -> None:
    """Take the lock of `hold_rubric`, for callers that load the rubric afterwards."""
    locks.acquire_for_run(RunLock.RUBRIC, run.pk, is_shared=True)


@transaction.atomic
def declare_rubric(*, run_id: int, actor: User | None, rubric: Rubric, seen: str | None = None) -> Run:
    """Declare the rubric of a run. Later imports do not change it.

    `seen` is the fingerprint of the rubric that the actor saw, if it must not replace another one. `actor` is
    None for the command line. Raises `RubricError`, and `SettingsChanged` if somebody else has changed the
    rubric meanwhile.
    """
    if actor:
        check(actor, "configure_run")
    if problems := [*rubric_problems(rubric)]:
        raise RubricError(problems)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = run_rubric(run)
    if seen not in {None, before.fingerprint}:
        raise SettingsChanged
    run.rubric, run.is_rubric_declared = rubric.as_json(), True
    run.save(update_fields=["rubric", "is_rubric_declared"])
    events.record("declare rubric", actor=actor, run=run, before=before.as_json(), after=rubric.as_json())
    return run


def extended_rubric(run: Run, found: Rubric) -> Rubric:
    """Return the rubric of a run with the criteria and scales found in a file."""
    before = run_rubric(run)
    return merge_rubrics(before, found) if run.rubric else replace(found, causes=before.causes)


@transaction.atomic
def extend_rubric(*, run_id: int, found: Rubric) -> None:
    """Add the criteria and scales found in a file to the rubric of a run, unless somebody has declared it."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.is_rubric_declared:
        return
    before, after = run_rubric(run), extended_rubric(run, found)
    if after != before or not run.rubric:
        run.rubric = after.as_json()
        run.save(update_fields=["rubric"])
        events.record("infer rubric", actor=None, run=run, before=before.as_json(), after=after.as_json())

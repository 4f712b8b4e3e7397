"""Change the rubric of a run that has records."""

from django.db import transaction

from reviews.database import locks
from reviews.database.locks import RunLock
from reviews.models import Import, Run, User
from reviews.records.rubric import Rubric
from reviews.review.rated_verdicts import rate_again
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.search import indexing


@transaction.atomic
def change_rubric(*, run_id: int, actor: User | None, rubric: Rubric, seen: str | None = None) -> Run:
    """Declare the rubric of a run (`declare_rubric`), and compute all verdicts by the new rubric.

    Raises `RubricError` and `SettingsChanged`.
    """
    indexing.lock_before_run()
    before = run_rubric(Run.objects.select_for_update(no_key=True).get(pk=run_id))
    run = declare_rubric(run_id=run_id, actor=actor, rubric=rubric, seen=seen)
    follow_rubric(run, before)
    return run


def follow_rubric(run: Run, before: Rubric, *, except_for: Import | None = None) -> None:
    """Compute the verdicts of records and ratings again if the rubric of the run gives others than before.

    The records of a large run are indexed by a job; those of `except_for` are indexed already. The caller has
    acquired the lock by `indexing.lock_before_run`, and locks no record afterwards. Reviews that are being
    saved are waited for, and later ones wait.
    """
    if not run_rubric(run).judges_like(before):
        indexing.index_again(run, except_for=except_for)
        locks.acquire_for_run(RunLock.RUBRIC, run.pk)
        rate_again(run)

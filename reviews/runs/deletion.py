"""Delete a run with everything about it, except its audit events.

A request hides the run at once. A job then deletes the records in parts, each in one transaction, so that a
stopped job continues where it ended. The functions in `run_deletion.sql` do the work.
"""

from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import execute, fetch_value
from reviews.models import Export, Run, User
from reviews.records.conflicts import Conflict
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import check_no_import, end_claims

JOB = "reviews.tasks.delete_runs"
RECORDS_PER_PART = 2_000
# Foreign keys are checked after each statement, so that the checks of a large run fit in memory.
_CHECK_AT_ONCE = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED"


class ExportUnderWay(Conflict):
    """An export of the run is being built."""


@transaction.atomic
def request_deletion(*, run_id: int, actor: User | None, confirmation: str) -> Run:
    """Hide a run and have a job delete it. A repeated request changes nothing.

    Raises `InvalidSettings` for `confirmation` unless it is the name of the run, `ImportUnderWay` and
    `ExportUnderWay`.
    """
    if actor:
        check(actor, "delete_run")
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    if confirmation.strip() != run.name:
        raise InvalidSettings({"confirmation": ["This is not the name of the run."]})
    if run.deletion_requested_at:
        return run
    check_no_import(run)
    if run.exports.filter(state=Export.State.UNFINISHED).exists():
        raise ExportUnderWay("An export of this run is being built. Wait for its end.")
    run.deletion_requested_at = timezone.now()
    run.archived_at = run.archived_at or run.deletion_requested_at
    run.save(update_fields=["deletion_requested_at", "archived_at"])
    events.record(
        "delete run",
        actor=actor,
        run=run,
        records=run.evaluations.count(),
        decisions=run.reviews.count(),
        files=list(run.files.values_list("sha256", flat=True)),
        claims=end_claims(run),
    )
    jobs.configure_task(JOB).defer()
    return run


def delete_next_part() -> bool:
    """Delete the next records of a run whose deletion was requested, and after its last records the run.

    Return whether there is more to delete now. Nothing is deleted while a file is imported: an import that
    began before the request may still add records to the run. Concurrent calls take turns.
    """
    with transaction.atomic():
        locks.acquire(Lock.DELETION)
        run = Run.objects.exclude(deletion_requested_at=None).order_by("pk").first()
        if run is None:
            return False
        if not locks.try_acquire(Lock.IMPORT):
            return False
        is_empty = not run.evaluations.exists()
        # Jobs may still index its records.
        locks.acquire(Lock.INDEXING)
        execute(_CHECK_AT_ONCE)
        deleted = fetch_value("SELECT delete_run_records(%s, %s)", [run.pk, RECORDS_PER_PART])
        if deleted:
            events.record("delete records", actor=None, run=run, records=deleted)
        elif is_empty:
            execute("SELECT delete_run(%s)", [run.pk])
            events.record("run deleted", actor=None, run=run)
        return True

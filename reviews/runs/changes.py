"""Rename, archive, unarchive and delete a run. Its audit events stay."""

from django.db import IntegrityError, transaction
from django.utils import timezone
from procrastinate.contrib.django import app as jobs

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import execute, fetch_value
from reviews.imports.runs import check_run_name
from reviews.models import Evaluation, Export, Import, Run, User
from reviews.queue.claim_columns import clear_claims, lock_free
from reviews.records.conflicts import Conflict
from reviews.rubric.run_settings import InvalidSettings
from reviews.storage.errors import ImportRefused


class ImportUnderWay(Conflict):
    """A file is being imported into the run."""


@transaction.atomic
def rename_run(*, run_id: int, actor: User | None, name: str) -> Run:
    """Give a run another name. Addresses of pages stay, and those of the API change.

    Raises `InvalidSettings` for `name` if the name is invalid or belongs to another run. Raises
    `ImportUnderWay`, because a new name waits for the transactions that add records.
    """
    run = _locked(run_id, actor)
    try:
        check_run_name(name)
    except ImportRefused as refused:
        raise InvalidSettings({"name": [str(refused)]}) from refused
    if name == run.name:
        return run
    check_no_import(run)
    if Import.objects.filter(run=None, run_name=name, state__in=Import.UNFINISHED).exists():
        raise InvalidSettings({"name": [f"A file is being imported into a new run named {name!r}."]})
    before, run.name = run.name, name
    try:
        with transaction.atomic():
            run.save(update_fields=["name"])
    except IntegrityError as taken:
        raise InvalidSettings({"name": [f"There is another run named {name!r}."]}) from taken
    events.record("rename run", actor=actor, run=run, before=before, after=name)
    return run


@transaction.atomic
def archive_run(*, run_id: int, actor: User | None) -> Run:
    """Make a run read-only and remove it from lists. Its claims end; drafts and decisions stay.

    Reading and exporting still work. Raises `ImportUnderWay`.
    """
    run = _locked(run_id, actor)
    if run.archived_at:
        return run
    check_no_import(run)
    run.archived_at = timezone.now()
    run.save(update_fields=["archived_at"])
    events.record("archive run", actor=actor, run=run, claims=end_claims(run))
    return run


@transaction.atomic
def unarchive_run(*, run_id: int, actor: User | None) -> Run:
    """Return an archived run to the lists, and allow changes again."""
    run = _locked(run_id, actor)
    if run.archived_at:
        run.archived_at = None
        run.save(update_fields=["archived_at"])
        events.record("unarchive run", actor=actor, run=run)
    return run


def check_no_import(run: Run) -> None:
    """Raise `ImportUnderWay` if a file is being imported into the run."""
    if run.imports.filter(state__in=Import.UNFINISHED).exists():
        raise ImportUnderWay(
            "A file is being imported into this run. Wait for its end, or cancel the import."
        )


def end_claims(run: Run) -> int:
    """End the claims on the records of a run. Return their number. Those on locked records expire."""
    return clear_claims(lock_free(Evaluation.objects.filter(run=run, claimed_by__isnull=False)))


def _locked(run_id: int, actor: User | None) -> Run:
    """Check the actor, None for a command, and lock the run against other changes and imports."""
    if actor:
        check(actor, "configure_run")
    return Run.objects.select_for_update(no_key=True).get(pk=run_id)


JOB = "reviews.tasks.delete_runs"
RECORDS_PER_PART = 2_000
# Foreign keys are checked after each statement, so that the checks of a large run fit in memory.
_CHECK_AT_ONCE = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED"


class ExportUnderWay(Conflict):
    """An export of the run is being built."""


@transaction.atomic
def request_deletion(*, run_id: int, actor: User | None, confirmation: str) -> Run:
    """Hide a run and have a job delete it. A repeated request changes nothing.

    The job deletes the records in parts, each in one transaction, so that a stopped job continues where it
    ended. The functions in `run_deletion.sql` do the work.

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

"""Rename, archive and unarchive a run."""

from django.db import IntegrityError, transaction
from django.utils import timezone

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.imports.runs import check_run_name
from reviews.models import Evaluation, Import, Run, User
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

"""The settings of a run's queue: the columns of the run that `QueueSettings` names."""

from django.db import transaction

from cognireview.types.encoding import members
from cognireview.types.runs import QueueSettings
from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.days import check_year
from reviews.models import Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings, fingerprint

MAX_CLAIM_MINUTES = 24 * 60


@transaction.atomic
def configure_queue(
    *, run_id: int, actor: User | None, settings: QueueSettings, seen: str | None = None
) -> Run:
    """Change the settings of a run's queue. Claims have a new length from their next renewal on.

    `actor=None` is the program itself. `seen` is the fingerprint of the settings that the actor saw; None
    replaces any. Raises `InvalidSettings`, and `SettingsChanged` if somebody else has changed the settings
    since.
    """
    if actor:
        check(actor, "configure_run")
    _check(settings)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before, after = members(QueueSettings, run), members(QueueSettings, settings)
    if seen not in {None, fingerprint(before)}:
        raise SettingsChanged
    if after != before:
        for name, value in vars(settings).items():
            setattr(run, name, value)
        run.save(update_fields=[*vars(settings)])
        events.record("configure queue", actor=actor, run=run, before=before, after=after)
    return run


def _check(settings: QueueSettings) -> None:
    """Raise `InvalidSettings` with every problem."""
    problems = {}
    if settings.claim_minutes is not None and not 1 <= settings.claim_minutes <= MAX_CLAIM_MINUTES:
        problems["claim_minutes"] = [f"Enter a whole number from 1 to {MAX_CLAIM_MINUTES:,}."]
    try:
        if settings.due_on:
            check_year(settings.due_on)
    except ValueError as error:
        problems["due_on"] = [str(error)]
    if problems:
        raise InvalidSettings(problems)

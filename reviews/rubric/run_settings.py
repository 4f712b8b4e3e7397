"""Save a setting of a run, and the error of settings that a run cannot have."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.models import Run, User


class InvalidSettings(ValueError):
    """Settings that a run cannot have. `problems` has the sentences by the name of the setting."""

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.problems = problems


@transaction.atomic
def save_setting(*, run_id: int, actor: User, column: str, value: Any, action: str) -> Run:
    """Save a checked value in a column of a run, with an audit event of this action if the value changes."""
    check(actor, "configure_run")
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = getattr(run, column)
    if value != before:
        setattr(run, column, value)
        run.save(update_fields=[column])
        events.record(action, actor=actor, run=run, before=_as_json(before), after=_as_json(value))
    return run


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value

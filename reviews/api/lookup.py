"""Look up the row of an API path, such as a run or a record."""

import uuid
from typing import Any, TypeVar

from django.http import Http404
from django.shortcuts import get_object_or_404

from reviews.database.compiled_queries import CompiledQuery, parameter
from reviews.models import (
    BulkChange,
    Escalation,
    Evaluation,
    Export,
    Import,
    KnownAnswerCheck,
    Run,
    SpotCheck,
    User,
)
from reviews.models.evaluations import with_draws_samples
from reviews.models.runs import in_visible_runs
from reviews.queue.progress import number_of_records
from reviews.review import blind_scoring, versions

_RUN = CompiledQuery(lambda: with_draws_samples(Run.objects.filter(name=parameter("name"))))
_COUNTS: dict[str, Any] = {"records": number_of_records()}
_COUNTED_RUN = CompiledQuery(lambda: _RUN.queryset.annotate(**_COUNTS))
_RECORD = CompiledQuery(
    lambda: Evaluation.objects.filter(
        run__name=parameter("run"), evaluation_id=parameter("record")
    ).select_related("run", "claimed_by", "review__reviewer")
)
_RECORD_TO_DECIDE = CompiledQuery(
    lambda: _RECORD.queryset.annotate(
        is_repeated=versions.is_sent(parameter("submission")),
        has_locked_in=blind_scoring.has_locked_in(parameter("reader")),
    )
)
Row = TypeVar("Row", BulkChange, Escalation, Export, Import, KnownAnswerCheck, SpotCheck)
_NAMED: dict[type[Any], tuple[str, ...]] = {
    BulkChange: ("run", "actor", "assigned_to"),
    Escalation: ("run", "evaluation", "raised_by", "resolved_by"),
    Export: ("run", "created_by", "only_import", "progress"),
    Import: ("run", "progress"),
    KnownAnswerCheck: ("run", "started_by"),
    SpotCheck: ("review__evaluation__run", "review__reviewer", "resolved_by", "correction"),
}


def get_run(name: str, reader: User) -> Run:
    """Return the run, which knows whether it draws samples. One query."""
    return _find_run(_RUN, name, reader)


def get_counted_run(name: str, reader: User) -> tuple[Run, int]:
    """Return the run as `get_run` does, and the number of its records. One query."""
    run = _find_run(_COUNTED_RUN, name, reader)
    return run, vars(run)["records"]


def _find_run(query: CompiledQuery[Run], name: str, reader: User) -> Run:
    found = query.first(name=name) if name.isprintable() else None
    if found is None or not found.is_visible_to(reader):
        raise Http404("There is no run with this name.")
    return found


def check_visible(name: str, reader: User) -> None:
    """Raise `Http404` if there is a run with this name, which is not being deleted, that is hidden."""
    found = Run.objects.filter(name=name, deletion_requested_at=None).first()
    if found and not found.is_visible_to(reader):
        raise Http404("There is no run with this name.")


def get_record(
    run: str, evaluation_id: str, reader: User, *, submission: uuid.UUID | None = None
) -> Evaluation:
    """Return the record with its run, reviewer and decision. One query.

    With a `submission`, it has the annotations `is_repeated` (see `versions.is_sent`) and `has_locked_in`.
    """
    values = {"run": run, "record": evaluation_id}
    record = None
    if not run.isprintable() or "\0" in evaluation_id:
        pass
    elif submission is None:
        record = _RECORD.first(**values)
    else:
        record = _RECORD_TO_DECIDE.first(**values, submission=submission, reader=reader.pk)
    if record is None or not record.run.is_visible_to(reader):
        get_run(run, reader)
        raise Http404("The run has no record with that evaluation_id.")
    return record


def load(model: type[Row], key: int, reader: User) -> Row:
    """Return a row of a run with the rows that its response names."""
    rows = model.objects.filter(in_visible_runs(reader)).select_related(*_NAMED[model])
    return get_object_or_404(rows, pk=key)

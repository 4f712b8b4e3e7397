"""Look up the row of an API path, such as a run or a record. Raise `Http404` if the person may see none."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404

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
from reviews.models.runs import in_visible_runs


def get_run(name: str, reader: User, **annotations: Any) -> Run:
    """Return the run; `annotations` are expressions that the same query loads."""
    rows = Run.objects.annotate(**annotations)
    found = rows.filter(name=name).first() if name.isprintable() else None
    if found is None or not found.is_visible_to(reader):
        raise Http404("There is no run with this name.")
    return found


def check_visible(name: str, reader: User) -> None:
    """Raise `Http404` if there is a run with this name, which is not being deleted, that is hidden."""
    found = Run.objects.filter(name=name, deletion_requested_at=None).first()
    if found and not found.is_visible_to(reader):
        raise Http404("There is no run with this name.")


def get_record(run: str, evaluation_id: str, reader: User, **annotations: Any) -> Evaluation:
    """Return the record with its run, reviewer and decision; `annotations` as for `get_run`. One query."""
    rows = Evaluation.objects.select_related("run", "claimed_by", "review__reviewer").annotate(**annotations)
    is_possible = run.isprintable() and "\0" not in evaluation_id
    record = rows.filter(run__name=run, evaluation_id=evaluation_id).first() if is_possible else None
    if record is None or not record.run.is_visible_to(reader):
        get_run(run, reader)
        raise Http404("The run has no record with that evaluation_id.")
    return record


def load_import(import_id: int, reader: User) -> Import:
    rows = Import.objects.filter(in_visible_runs(reader)).select_related("run", "progress")
    return get_object_or_404(rows, pk=import_id)


def load_export(export_id: int, reader: User) -> Export:
    rows = Export.objects.filter(in_visible_runs(reader))
    return get_object_or_404(
        rows.select_related("run", "created_by", "only_import", "progress"), pk=export_id
    )


def load_escalation(escalation_id: int, reader: User) -> Escalation:
    rows = Escalation.objects.filter(in_visible_runs(reader))
    return get_object_or_404(
        rows.select_related("run", "evaluation", "raised_by", "resolved_by"), pk=escalation_id
    )


def load_bulk_change(change_id: int, reader: User) -> BulkChange:
    rows = BulkChange.objects.filter(in_visible_runs(reader))
    return get_object_or_404(rows.select_related("run", "actor", "assigned_to"), pk=change_id)


def load_known_answer_check(check_id: int, reader: User) -> KnownAnswerCheck:
    rows = KnownAnswerCheck.objects.filter(in_visible_runs(reader)).select_related("run", "started_by")
    return get_object_or_404(rows, pk=check_id)


def load_spot_check(check_id: int, reader: User) -> SpotCheck:
    rows = SpotCheck.objects.filter(in_visible_runs(reader))
    rows = rows.select_related("review__evaluation__run", "review__reviewer", "resolved_by", "correction")
    return get_object_or_404(rows, pk=check_id)

"""The records beside one, in the order of the file: to be looked at, which claims nothing."""

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from reviews.models import Evaluation

# Comparisons of rows, which PostgreSQL answers from the index on a place; `OR` it would not.
_BEHIND = "(evaluation.first_import_id, evaluation.first_line) > (%s, %s)"
_BEFORE = "(evaluation.first_import_id, evaluation.first_line) < (%s, %s)"


def following(evaluation: Evaluation) -> int | None:
    """The key of the next record of the run; None behind the last."""
    return _first(evaluation, _BEHIND, ["first_import_id", "first_line"])


def preceding(evaluation: Evaluation) -> int | None:
    """The key of the record before; None before the first."""
    return _first(evaluation, _BEFORE, ["-first_import_id", "-first_line"])


def _first(evaluation: Evaluation, comparison: str, order: list[str]) -> int | None:
    place = [evaluation.first_import_id, evaluation.first_line]
    beside = RawSQL(comparison, place, output_field=BooleanField())  # noqa: S611 (constant SQL)
    return evaluation.run.evaluations.filter(beside).order_by(*order).values_list("pk", flat=True).first()

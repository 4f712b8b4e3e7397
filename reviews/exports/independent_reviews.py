"""Export all independent reviews of a run; its main export has one decision for each record."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import orjson
from django.db.models import BooleanField, ExpressionWrapper, F, Q

from reviews.audit import reveals
from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.models import IndependentReview, Review, Run, User


@yield_from_replica
def independent_review_lines(run: Run, reader: User | None = None) -> Iterator[bytes]:
    """Yield all reviews of records with several reviewers as JSONL, in the order of the records.

    Each line has `evaluation_id`, `reviewer`, `submitted_at`, `scores` (as `human_corrected_scores`),
    `comments`, `causes`, `is_current` (whether it is the decision in the export) and `withheld`. A lead's
    adjudication is included; withdrawn reviews are not. Scores, comments and causes of other people's open
    independent reviews are withheld from a `reader` who may still review the record. Without a reader
    nothing is withheld.
    """
    several = IndependentReview.objects.filter(evaluation__run=run, review__withdrawal=None).values(
        "evaluation"
    )
    counted = Review.objects.filter(
        Q(independent_review__isnull=False) | Q(pk=F("evaluation__review")), withdrawal=None
    )
    found = counted.filter(run=run, evaluation__in=several).select_related("reviewer")
    found = found.annotate(record=F("evaluation__evaluation_id"), current=F("evaluation__review"))
    found = found.order_by("evaluation__first_import__sequence", "evaluation__first_line", "version")
    found = found.annotate(withheld=_withheld(run, reader))
    with HeldTransaction():
        for review in found.iterator(chunk_size=500):
            yield orjson.dumps(_line(review)) + b"\n"


def _withheld(run: Run, reader: User | None) -> "ExpressionWrapper[Any]":
    """Return the condition on which a review is withheld."""
    if reader is None:
        return ExpressionWrapper(Q(pk__in=()), BooleanField())
    sealed = run.evaluations.filter(reveals.independent_reviews_hidden_from(reader))
    by_others = ~Q(reviewer=reader) & Q(independent_review__is_open=True)
    return ExpressionWrapper(by_others & Q(evaluation__in=sealed), BooleanField())


def _line(review: Any) -> dict[str, Any]:
    content = {"scores": review.corrected_scores, "comments": review.comments, "causes": review.causes}
    return {
        "evaluation_id": review.record,
        "reviewer": review.reviewer.username,
        "submitted_at": review.submitted_at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        **(dict.fromkeys(content) if review.withheld else content),
        "is_current": review.current == review.pk,
        "withheld": review.withheld,
    }


def independent_reviews_file_name(run: Run) -> str:
    """Return a file name. It starts with the run's name, which may contain any printable character."""
    return f"{run.name}-independent-reviews.jsonl"

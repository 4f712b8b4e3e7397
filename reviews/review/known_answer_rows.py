"""Read the records and the known answers of a check: see `known_answers`."""

from django.db.models import QuerySet

from reviews.models import Evaluation, IndependentReview, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.models.evaluations import IN_QUEUE, LARGE_COLUMNS


def is_collecting(evaluation: Evaluation) -> bool:
    """Return whether a running check collects independent reviews of a record, however many there are."""
    found = KnownAnswer.objects.filter(evaluation=evaluation, known_answer_check__ended_at=None)
    return found.exists()


def running_check(run: Run) -> KnownAnswerCheck | None:
    return KnownAnswerCheck.objects.select_related("started_by").filter(run=run, ended_at=None).first()


def own_answer(check: KnownAnswerCheck, evaluation: Evaluation) -> IndependentReview | None:
    """Return the known answer to a record that waits for reviews."""
    open_reviews = evaluation.independent_reviews.filter(is_open=True, reviewer=check.started_by_id)
    return open_reviews.select_related("review").first()


def answers_to_give(person: User) -> QuerySet[KnownAnswer]:
    """Return the records of running checks that wait for the known answer by a person."""
    given = IndependentReview.objects.filter(is_open=True, reviewer=person)
    rows = KnownAnswer.objects.filter(
        known_answer_check__started_by=person, known_answer_check__ended_at=None
    )
    waiting = Evaluation.objects.filter(IN_QUEUE, review=None, is_escalated=False)
    rows = rows.filter(evaluation__in=waiting).exclude(evaluation__in=given.values("evaluation"))
    rows = rows.select_related("evaluation__run", "known_answer_check")
    return rows.defer(*(f"evaluation__{column}" for column in LARGE_COLUMNS))

"""Conditions for records with a hidden judge output or hidden flag reasons.

Lists, filters, sort orders and search use them, so that they reveal no more than the page of a record.
"""

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q
from django.db.models.expressions import Combinable

from reviews.models import Reveal, Review, Run, User
from reviews.models.evaluations import IN_QUEUE

_NO_RECORD = Q(pk__in=[])


def hidden_from(reader: User | None, run: Run) -> Q:
    """Return the condition for records of the run whose judge output is hidden from this person.

    The same rule as `blind_scoring.is_hidden`. Without a reader, for anybody who has not seen the output.
    """
    return hidden_in_share(reader, run, run.blind_share) if run.blind_share else _NO_RECORD


def hidden_in_share(reader: User | Combinable | None, run: Run | Combinable, share: float | Combinable) -> Q:
    """Return `hidden_from` for a run with this blind share, which is not 0."""
    hidden = _in_share(share) & (Q(has_answer=True) | Q(_answer_in_context()))
    return hidden if reader is None else hidden & ~_shown_to(reader, run)


def hidden_from_all(run: Run) -> tuple[Q, Q]:
    """Return `hidden_from(None, run)` in two parts: records with an answer, and with one in task context.

    PostgreSQL counts the former by an index alone.
    """
    hidden = _in_share(run.blind_share) if run.blind_share else _NO_RECORD
    return hidden & Q(has_answer=True), hidden & Q(has_answer=False) & Q(_answer_in_context())


def _in_share(share: float | Combinable) -> Q:
    """Return the condition for records in the queue that nobody has seen. With an answer, they are hidden."""
    return IN_QUEUE & Q(review=None, was_shown=False, blind_position__lt=share)


def _answer_in_context() -> Func:
    """Return the expression for whether task context has the answer of the record's model."""
    columns = map(F, ("run", "task_id", "model_id", "response_id"))
    return Func(*columns, function="answered_by_context", output_field=BooleanField())


def _shown_to(reader: User | Combinable, run: Run | Combinable) -> Q:
    of_record = Q(evaluation=OuterRef("pk"))
    shown = Reveal.objects.filter(of_record | Q(evaluation=None), run=run, reviewer=reader)
    return Q(Exists(shown)) | Q(Exists(Review.objects.filter(of_record, reviewer=reader)))


def reason_hidden(run: Run) -> Q:
    """Return the condition for records of the run with hidden flag reasons: see `Run.draws_samples`."""
    return IN_QUEUE if run.draws_samples else _NO_RECORD

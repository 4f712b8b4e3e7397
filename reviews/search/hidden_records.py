"""Conditions for records with a hidden judge output or hidden flag reasons.

Lists, filters, sort orders and search use them, so that they reveal no more than the page of a record.
"""

from django.db.models import BooleanField, Exists, F, FloatField, Func, OuterRef, Q, Value
from django.db.models.lookups import LessThan

from reviews.models import Reveal, Review, Run, User
from reviews.models.evaluations import IN_QUEUE
from reviews.queue import allocation

_NO_RECORD = Q(pk__in=[])


class _Share(Func):
    """`allocation.share_of` in SQL, exact to the last bit."""

    template = (
        "(('x' || left(encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex'), 12))::bit(48)::bigint"
        " / 281474976710656.0::float8)"
    )
    arg_joiner = " || "
    output_field = FloatField()


class _AnswerInContext(Func):
    """Whether task context has the answer of the record's model."""

    function = "answered_by_context"
    output_field = BooleanField()


def hidden_from(reader: User | None, run: Run) -> Q:
    """Return the condition for records of the run whose judge output is hidden from this person.

    The same rule as `blind_scoring.is_hidden`. Without a reader, for anybody who has not seen the output.
    """
    if not run.blind_share:
        return _NO_RECORD
    answer = _AnswerInContext(F("run"), F("task_id"), F("model_id"), F("response_id"))
    hidden = (
        IN_QUEUE
        & Q(review=None, was_shown=False)
        & Q(LessThan(_Share(Value(f"{allocation.BLIND}:"), F("evaluation_id")), run.blind_share))
        & (Q(has_answer=True) | Q(answer))
    )
    return hidden if reader is None else hidden & ~_shown_to(reader, run)


def _shown_to(reader: User, run: Run) -> Q:
    of_record = Q(evaluation=OuterRef("pk"))
    shown = Reveal.objects.filter(of_record | Q(evaluation=None), run=run, reviewer=reader)
    return Q(Exists(shown)) | Q(Exists(Review.objects.filter(of_record, reviewer=reader)))


def reason_hidden(run: Run) -> Q:
    """Return the condition for records of the run with hidden flag reasons: see `Run.draws_samples`."""
    return IN_QUEUE if run.draws_samples else _NO_RECORD

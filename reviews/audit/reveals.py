"""Record who has seen the judge's scores or other people's independent reviews. Rows are never removed."""

from django.db.models import Q

from reviews.audit import events
from reviews.models import Evaluation, Reveal, Run, User
from reviews.records.status import NOT_REQUIRED, QUEUE_STATUSES

How = Reveal.How
# Records in the queue, and records that a random sample may add to it.
_MAY_BE_REVIEWED = Q(human_review_status__in=(*QUEUE_STATUSES, NOT_REQUIRED), review=None)


def were_scores_shown_to(evaluation: Evaluation, reader: User) -> bool:
    """Return whether the judge's scores of the record, or of its whole run, were ever shown to a person."""
    shown = Q(evaluation=evaluation) | Q(evaluation=None)
    return Reveal.objects.filter(shown, run=evaluation.run_id, reviewer=reader).exists()


def has_read_independent_reviews(evaluation: Evaluation, reader: User) -> bool:
    """Return whether a person took over the record to adjudicate it."""
    return Reveal.objects.filter(evaluation=evaluation, reviewer=reader, how=How.INDEPENDENT_REVIEWS).exists()


def independent_reviews_hidden_from(reader: User) -> Q:
    """Return the condition for records whose independent reviews the reader must not see yet.

    These records are in the queue, and the reader has not taken them over to adjudicate them.
    """
    read = Reveal.objects.filter(reviewer=reader, how=How.INDEPENDENT_REVIEWS)
    return Q(human_review_status__in=QUEUE_STATUSES) & ~Q(pk__in=read.values("evaluation"))


def record_reveal(*, evaluation: Evaluation, reader: User, how: Reveal.How) -> None:
    """Record once that a record was revealed to a person, in the transaction that reveals it."""
    _record(evaluation.run, evaluation, reader, how)


def record_download(*, run: Run, reader: User) -> None:
    """Record once that a person downloads a file with the judge's scores of a whole run.

    Skip runs without records left to review, now or by a later random sample.
    """
    if run.evaluations.filter(_MAY_BE_REVIEWED).exists():
        _record(run, None, reader, How.DOWNLOADED)


def _record(run: Run, evaluation: Evaluation | None, reader: User, how: Reveal.How) -> None:
    _, is_new = Reveal.objects.get_or_create(run=run, evaluation=evaluation, reviewer=reader, how=how)
    if is_new:
        events.record("reveal", actor=reader, run=run, evaluation=evaluation, how=how)

"""Draw new decisions into the standing sample of a run, for spot checks by a lead."""

from reviews.models import Evaluation, Review, SpotCheck
from reviews.queue import allocation


def draw(evaluation: Evaluation, review: Review) -> None:
    """Draw a new current decision for a spot check if it is in the share of its run.

    Called in the transaction of the decision. The share and the record's id determine the result, so the
    audit log needs no event of its own.
    """
    if allocation.is_spot_checked(evaluation.run, evaluation.evaluation_id, review.version):
        SpotCheck.objects.create(review=review, run_id=review.run_id, reviewer_id=review.reviewer_id)

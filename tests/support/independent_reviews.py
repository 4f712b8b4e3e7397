"""Independent reviews that agree, differ or come late."""

from reviews.models import Escalation, Evaluation, User
from tests.support.work import SCORES, decide

OTHER = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}


def differ(evaluation: Evaluation, ana: User, bo: User) -> Escalation:
    """Ana and bo give independent reviews that differ on one criterion."""
    decide(evaluation, ana)
    decide(evaluation, bo, scores=OTHER, comments="It is right.")
    return Escalation.objects.get(outcome="open")


def actions(evaluation: Evaluation) -> list[str]:
    return list(evaluation.events.order_by("pk").values_list("action", flat=True))

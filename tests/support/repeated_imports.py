"""Files with the same records again."""

from reviews.models import Evaluation, Import
from tests.support.lines import line

THREE = [line("eval_1"), line("eval_2"), line("eval_3")]


def evaluation(evaluation_id: str = "eval_1") -> Evaluation:
    return Evaluation.objects.get(evaluation_id=evaluation_id)


def outcomes(done: Import) -> list[tuple[int, str, str, str]]:
    """Return the outcomes of all lines that are not new or blank."""
    return [tuple(exception.values()) for exception in done.listed_exceptions()]

"""Records with a decision made here and another one in a file."""

from typing import Any

import pytest

from reviews.models import Evaluation, FileConflict, Run, User
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

Outcome = FileConflict.Outcome
CARLA: dict[str, Any] = {
    "human_review_status": "Reviewed",
    "human_reviewer_id": "carla",
    "human_review_timestamp": "2026-11-19T10:00:00.000000Z",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "Skips a step."}},
    "human_review_comments": "Seen in the file.",
}


def evaluation(evaluation_id: str = "eval_1") -> Evaluation:
    return Evaluation.objects.get(evaluation_id=evaluation_id)


def open_conflict(evaluation_id: str = "eval_1") -> FileConflict:
    return FileConflict.objects.get(evaluation__evaluation_id=evaluation_id, outcome=Outcome.OPEN)


def disputed(ana: User, *names: str) -> Run:
    """A run in which ana decided each record, and a file has other decisions by carla."""
    import_data(file_of(*(line(name) for name in names)))
    for name in names:
        decide(evaluation(name), ana)
    import_data(file_of(*(line(name, **CARLA) for name in names)))
    return Run.objects.get()


class OneConflict:
    """A run in which ana decided the only record, and a file has another decision by carla."""

    @pytest.fixture
    def run(self, _disputed: None) -> Run:
        return Run.objects.get()

    @pytest.fixture
    def ana(self, _disputed: None) -> User:
        return User.objects.get(username="ana")

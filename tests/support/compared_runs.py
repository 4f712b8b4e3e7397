"""Two runs whose judges are compared."""

import pytest

from reviews.models import Evaluation, Run, User
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, judged, rate
from tests.support.rubrics import rubric_data

#: The number of responses by the verdicts of the first judge, the second one and the reviewer.
RESPONSES = {
    ("Pass", "Pass", "Pass"): 4,
    ("Fail", "Fail", "Fail"): 2,
    ("Fail", "Pass", "Fail"): 1,
    ("Pass", "Fail", "Fail"): 8,
    ("Pass", "Pass", "Fail"): 3,
}
CASES = [case for case, number in RESPONSES.items() for _ in range(number)]


def run_of(name: str) -> Run:
    return RunFactory.create(name=name, rubric=rubric_data(CLARITY), blind_share=0)


def rate_first(first: Run, second: Run, reviewer: User) -> list[Evaluation]:
    """Rate the records of the first run, and return those of the second one."""
    rate(judged(first, [case[0] for case in CASES]), reviewer, [case[2] for case in CASES])
    return judged(second, [case[1] for case in CASES], judge_llm_model="judge-2")


class RatedOnce:
    """The rated runs, shared by the tests of a class."""

    @pytest.fixture
    def first(self, _rated_once: None) -> Run:
        return Run.objects.get(name="monday")

    @pytest.fixture
    def second(self, _rated_once: None) -> Run:
        return Run.objects.get(name="tuesday")

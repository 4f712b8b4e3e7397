"""The record on the review screen, with independent reviews or a decision from the file.

Modules replace `run` and `record` where they need others.
"""

import pytest

from reviews.models import Escalation, Evaluation, Review, Run, User
from reviews.queue import claims
from tests.support.decided_files import BY_CARLA, record_of
from tests.support.factories import EvaluationFactory
from tests.support.independent_pages import DEEP, SCORES
from tests.support.work import decide


@pytest.fixture
def record(run: Run) -> Evaluation:
    scores = {"clarity": {"score": "No", "justification": "Unclear."}}
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=scores)


@pytest.fixture
def claimed(record: Evaluation, ana: User) -> Evaluation:
    """The record, claimed by ana."""
    return claims.claim(evaluation_id=record.pk, reviewer=ana)


@pytest.fixture
def first(record: Evaluation, ana: User) -> Review:
    """An independent review by ana."""
    return decide(record, ana, scores=DEEP, comments="A word of ana.", causes={"depth": "too strict"})


@pytest.fixture
def differing(first: Review, bo: User) -> Escalation:
    decide(Evaluation.objects.get(), bo, scores=SCORES, comments="A word of bo.")
    return Escalation.objects.get()


@pytest.fixture
def decided_before() -> Evaluation:
    return record_of(**BY_CARLA)

"""The record on the review screen. Modules replace `run` and `record` where they need others."""

import pytest

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory


@pytest.fixture
def record(run: Run) -> Evaluation:
    scores = {"clarity": {"score": "No", "justification": "Unclear."}}
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=scores)


@pytest.fixture
def claimed(record: Evaluation, ana: User) -> Evaluation:
    """The record, claimed by ana."""
    return claims.claim(evaluation_id=record.pk, reviewer=ana)

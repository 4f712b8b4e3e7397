"""A run with a decision, and its event."""

import pytest

from reviews.models import Evaluation, Run, User
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra & more")


@pytest.fixture
def decided(run: Run, ana: User) -> Evaluation:
    record = EvaluationFactory.create(run=run)
    decide(record, ana)
    return record

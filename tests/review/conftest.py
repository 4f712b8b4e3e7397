"""A record of the run, and a third reviewer."""

import pytest

from reviews.models import Evaluation, Run, User
from tests.support.factories import EvaluationFactory, UserFactory


@pytest.fixture
def evaluation(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run)


@pytest.fixture
def cy() -> User:
    """A third reviewer."""
    return UserFactory.create(username="cy", role="reviewer")

"""Programs of people, and a record that they ask for."""

import pytest

from reviews.models import Evaluation, User
from tests.support.api_requests import Program, program_of
from tests.support.factories import EvaluationFactory, GoldSetFactory


@pytest.fixture
def of_ana(ana: User) -> Program:
    return program_of(ana)


@pytest.fixture
def of_bo(bo: User) -> Program:
    return program_of(bo)


@pytest.fixture
def of_lea(lea: User) -> Program:
    return program_of(lea)


@pytest.fixture
def of_max(max: User) -> Program:
    return program_of(max)


@pytest.fixture
def record() -> Evaluation:
    """A record of a run with a gold set."""
    made = EvaluationFactory.create()
    GoldSetFactory.create(run=made.run)
    return made

"""Two runs whose judges are compared."""

import pytest

from reviews.models import Evaluation, Run, User
from tests.support.compared_runs import rate_first, run_of


@pytest.fixture
def first() -> Run:
    return run_of("monday")


@pytest.fixture
def second() -> Run:
    return run_of("tuesday")


@pytest.fixture
def rated(first: Run, second: Run, ana: User) -> list[Evaluation]:
    """The records of the second run. People rated those of the first one."""
    return rate_first(first, second, ana)

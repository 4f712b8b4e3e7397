"""The run of the dashboard, and spot checks of its decisions."""

import pytest
from django.test import Client

from reviews.models import Run, SpotCheck, User
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


@pytest.fixture
def reviewed(algebra: Run, ana: User) -> Run:
    """The run with three records decided by ana."""
    for _ in range(3):
        decide(EvaluationFactory.create(run=algebra), ana)
    return algebra


@pytest.fixture
def drawn(as_lea: Client, reviewed: Run) -> list[SpotCheck]:
    as_lea.post("/spot-checks/", {"reviewer": "ana", "count": 2})
    return list(SpotCheck.objects.order_by("pk"))

"""The run of the dashboard."""

import pytest

from reviews.models import Run
from tests.support.factories import RunFactory


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")

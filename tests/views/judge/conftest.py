"""The run of the judge's pages."""

import pytest

from reviews.models import Run
from tests.support.factories import RunFactory
from tests.support.judge_pages import CLARITY
from tests.support.rubrics import rubric_data


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra", rubric=rubric_data(CLARITY))

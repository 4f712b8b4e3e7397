"""A run whose rated records are frozen in a gold set, and another run to measure."""

import pytest

from reviews.judge.gold.gold_sets import freeze
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, GoldSet, Run, User
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, rated_records
from tests.support.rubrics import rubric_data


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="monday", rubric=rubric_data(CLARITY), blind_share=0)


@pytest.fixture
def other() -> Run:
    return RunFactory.create(name="tuesday", rubric=rubric_data(CLARITY), blind_share=0)


@pytest.fixture
def rated(run: Run, ana: User) -> list[Evaluation]:
    return rated_records(run, ana)


@pytest.fixture
def gold(run: Run, rated: list[Evaluation], lea: User) -> GoldSet:
    assert rated
    return freeze(scope=JudgeScope(run), name="algebra", actor=lea).gold_set

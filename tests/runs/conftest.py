"""An imported run to read again, and a run with rows in all tables."""

import pytest

from reviews.models import Run, User
from tests.support.deletions import full_run
from tests.support.rereads import FIRST, SECOND, bring, how


@pytest.fixture(scope="class")
def _imported(class_world: None) -> None:
    bring(FIRST, "first.jsonl", how())
    bring(SECOND, "second.jsonl")


@pytest.fixture
def run(_imported: None) -> Run:
    return Run.objects.get()


@pytest.fixture
def full(ana: User, bo: User, lea: User, max: User) -> Run:
    return full_run("algebra", ana, bo, lea, max)

"""An imported run to read again, and a run with rows in all tables."""

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from reviews.models import Run, User
from tests.support.deletions import full_run
from tests.support.rereads import FIRST, SECOND, bring, how
from tests.support.shared_world import shared_world


@pytest.fixture(scope="class")
def _imported(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_world(django_db_blocker):
        bring(FIRST, "first.jsonl", how())
        bring(SECOND, "second.jsonl")
        yield


@pytest.fixture
def run(_imported: None) -> Run:
    return Run.objects.get()


@pytest.fixture
def full(ana: User, bo: User, lea: User, max: User) -> Run:
    return full_run("algebra", ana, bo, lea, max)

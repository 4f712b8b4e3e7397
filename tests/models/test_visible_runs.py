"""Which runs a person may see: open ones, and restricted ones that they are a member of."""

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.models import Evaluation, Run, User
from reviews.models.runs import hidden_runs, in_visible_runs
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(ana: User) -> Run:
    run = RunFactory.create(is_restricted=True)
    run.members.add(ana)
    return run


def test_restricted_run_is_visible_to_members_and_admins(
    run: Run, ana: User, bo: User, lea: User, max: User
) -> None:
    is_visible = {person: run.is_visible_to(person) for person in (ana, bo, lea, max)}
    assert is_visible == {ana: True, bo: False, lea: False, max: True}


def test_open_run_is_visible_to_everybody(run: Run, ana: User, bo: User) -> None:
    is_open = RunFactory.create()
    assert [*Run.objects.visible_to(bo)] == [is_open]
    assert {*Run.objects.visible_to(ana)} == {run, is_open}


def test_rows_are_visible_with_their_run(run: Run, ana: User, bo: User, max: User) -> None:
    records = [EvaluationFactory.create(run=run), EvaluationFactory.create()]
    seen = {
        person.username: set(Evaluation.objects.filter(in_visible_runs(person))) for person in (ana, bo, max)
    }
    assert seen == {"ana": {*records}, "bo": {records[1]}, "max": {*records}}


def test_members_of_other_runs_do_not_count(run: Run, bo: User) -> None:
    RunFactory.create(is_restricted=True).members.add(bo)
    assert [*hidden_runs(bo)] == [run]


def test_run_that_is_being_deleted_is_hidden_from_everybody(max: User, ana: User) -> None:
    record = EvaluationFactory.create(run=RunFactory.create(deletion_requested_at=timezone.now()))
    for person in (ana, max):
        assert not Run.objects.visible_to(person).exists()
        assert not Evaluation.objects.filter(in_visible_runs(person)).exists()
        assert not record.run.is_visible_to(person)


def test_open_run_needs_no_query(bo: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = RunFactory.create()
    with django_assert_num_queries(0):
        assert run.is_visible_to(bo)

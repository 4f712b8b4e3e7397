"""The search of the palette: what each person finds."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from reviews.models import Run, User
from reviews.queue.members import configure_members
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


def found(client: Client, words: str) -> list[str]:
    """The titles of the found rows."""
    response = client.get("/search/", {"q": words})
    assert response.status_code == 200
    return [row.title for group in response.context["groups"] for row in group.rows]


def test_search_without_words_shows_the_newest_runs(as_ana: Client) -> None:
    for number in range(10):
        RunFactory.create(name=f"Run {number}")
    assert found(as_ana, "") == [f"Run {number}" for number in range(9, 1, -1)]


def test_search_finds_runs_by_a_part_of_the_name(as_ana: Client) -> None:
    RunFactory.create(name="Algebra nightly")
    RunFactory.create(name="Geometry")
    assert found(as_ana, "GEBRA") == ["Algebra nightly"]


@pytest.mark.parametrize("words", ["5500", "task 5500", "Task 5500", "eval_1"])
def test_search_finds_records_by_task_and_evaluation_id(as_ana: Client, words: str) -> None:
    EvaluationFactory.create(evaluation_id="eval_1", task_id="5500", model_id="o1")
    EvaluationFactory.create(evaluation_id="eval_12", task_id="55001", model_id="o1")
    assert found(as_ana, words) == ["Task 5500 · o1"]


@pytest.mark.slow
def test_search_shows_nothing_of_runs_that_the_person_may_not_see(
    as_ana: Client, bo: User, max: User
) -> None:
    record = EvaluationFactory.create(evaluation_id="eval_1", task_id="5500", run__name="Algebra")
    configure_members(run_id=record.run_id, members=[bo.username], actor=max)
    assert [found(as_ana, words) for words in ("Algebra", "5500", "eval_1", "")] == [[], [], [], []]


@pytest.mark.slow
def test_search_shows_people_to_leads_and_admins_only(
    client: Client, ana: User, bo: User, lea: User, max: User
) -> None:
    urls = {}
    for person in (ana, lea, max):
        client.force_login(person)
        groups = client.get("/search/?q=bo").context["groups"]
        urls[person.username] = [row.url for group in groups for row in group.rows]
    assert urls == {"ana": [], "lea": [f"/people/{bo.pk}/activity/"], "max": [f"/people/{bo.pk}/"]}


@pytest.mark.parametrize("words", ["\0", "\ud800", "%", "_", "'", "x" * 100_000, "1e400", "task", "<b>"])
def test_search_takes_any_input(as_lea: Client, words: str) -> None:
    EvaluationFactory.create()
    encoded = words.encode("utf-8", "surrogatepass")
    assert as_lea.get("/search/", {"q": encoded}).status_code == 200


@pytest.mark.slow
def test_search_takes_a_constant_number_of_queries(
    as_lea: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Run.objects.bulk_create(Run(name=f"Run {number}") for number in range(1000))
    EvaluationFactory.create(task_id="5500")
    with django_assert_max_num_queries(12):
        assert len(found(as_lea, "5500")) == 1

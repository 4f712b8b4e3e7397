"""Task context of a record: the right context, and the right response in it."""

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.evidence import task_context
from reviews.models import Evaluation
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create(
        run=RunFactory.create(name="algebra"), task_id="7", model_id="o1", response_id="r2"
    )


def answered(record: Evaluation) -> object:
    found = task_context.find_context(record)
    assert found
    return found.response


def test_context_of_run_precedes_shared_context(record: Evaluation) -> None:
    bring(task(prompt="For all."))
    bring(task(prompt="For algebra."), run="algebra")
    found = task_context.find_context(record)
    assert found
    assert found.prompt == "For algebra."


def test_context_of_other_run_or_task_is_ignored(record: Evaluation) -> None:
    RunFactory.create(name="geometry")
    bring(task(), run="geometry")
    bring(task(task_id="07"))
    assert task_context.find_context(record) is None
    record.task_id = None
    assert task_context.find_context(record) is None


def test_context_has_response_of_the_records_model(record: Evaluation) -> None:
    answers = [{"model_id": model, "response_text": f"I am {model}."} for model in ("o1", "o3")]
    bring(task(model_responses=answers))
    assert answered(record) == "I am o1."
    record.model_id = "o4"
    assert answered(record) is None


def test_context_prefers_the_judged_response(record: Evaluation) -> None:
    answers = [
        {"model_id": "o1", "response_id": number, "response_text": f"Number {number}."}
        for number in ("r1", "r2", "r3")
    ]
    bring(task(model_responses=answers))
    assert answered(record) == "Number r2."


def test_context_takes_two_queries(
    record: Evaluation, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    bring(task())
    with django_assert_num_queries(2):
        task_context.find_context(record)


def test_contexts_of_several_records_take_two_queries(
    record: Evaluation, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    answers = [{"model_id": model, "response_text": f"I am {model}."} for model in ("o1", "o3")]
    bring(task(prompt="For all.", model_responses=answers))
    bring(task(prompt="For algebra.", task_id="8"), run="algebra")
    others: list[dict[str, str | None]] = [
        {"task_id": "7", "model_id": "o3"},
        {"task_id": "8"},
        {"task_id": None},
        {"task_id": ""},
    ]
    records = [record, *(EvaluationFactory.create(run=record.run, **other) for other in others)]
    with django_assert_num_queries(2):
        found = task_context.find_contexts(records)
    assert [one and (one.prompt, one.response) for one in found] == [
        ("For all.", "I am o1."),
        ("For all.", "I am o3."),
        ("For algebra.", None),
        None,
        None,
    ]
    assert task_context.find_contexts([]) == []

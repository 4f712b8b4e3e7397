"""Other records of a task, grouped by their final answer."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.evidence import siblings
from reviews.evidence.siblings import normalise_answer
from reviews.models import Evaluation, Run
from tests.support.factories import SCORES, EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def record(run: Run, model: str, answer: Any = None, **fields: Any) -> Evaluation:
    response = answer and {"model": "gpt-4o", "response": {"final_answer": answer}}
    values = {"task_id": "7", "model_id": model, "structured_model_response": response} | fields
    return EvaluationFactory.create(run=run, **({"verification_message": None} | values))


def answers(evaluation: Evaluation) -> list[tuple[str, list[str]]]:
    found = siblings.find_siblings(evaluation).answers
    return [(answer.text, [sibling.model for sibling in answer.siblings]) for answer in found]


def test_siblings_are_grouped_by_answer_own_answer_first(run: Run) -> None:
    record(run, "a", "$2$")
    own = record(run, "b", r"\boxed{\frac{1}{2}}")
    record(run, "c", r"\( \dfrac{1}{2} \)")
    record(run, "d")
    assert answers(own) == [(r"\boxed{\frac{1}{2}}", ["b", "c"]), ("$2$", ["a"]), ("", ["d"])]
    assert (siblings.find_siblings(own).others, siblings.find_siblings(own).agreeing) == (3, 1)


def test_answer_falls_back_to_verifier(run: Run) -> None:
    own = record(run, "a", verification_message="Mismatch (Extracted: '54', Correct: '')")
    assert answers(own) == [("54", ["a"])]


def test_siblings_exclude_other_tasks_and_runs(run: Run) -> None:
    own = record(run, "a", "1")
    record(run, "b", "1", task_id="8")
    record(RunFactory.create(), "c", "1")
    assert answers(own) == [("1", ["a"])]
    assert siblings.find_siblings(record(run, "d", task_id=None)).answers == []


def test_sibling_has_verdicts_of_judge_and_reviewer(run: Run) -> None:
    own = record(run, "a", "1", aggregated_score="Fail", human_corrected_scores={"Depth": {"score": "Yes"}})
    raw = {"raw_content": '{"Depth": {"score": "Partial", "justification": "Some."}}'}
    record(run, "b", "1", aggregated_score=None, parsed_rubric_scores={}, raw_judge_output=raw)
    [answer] = siblings.find_siblings(own).answers
    verdicts = [(one.model, one.judged, one.decided, one.is_this) for one in answer.siblings]
    assert verdicts == [("a", "Fail", "Pass", True), ("b", "Partial", "", False)]


def test_criteria_come_from_siblings_with_same_judge_prompt(run: Run) -> None:
    own = record(run, "a", parsed_rubric_scores={"Own": {"score": "Yes"}})
    record(run, "b")
    record(run, "c", parsed_rubric_scores={"Other": {"score": "Yes"}}, judge_prompt_template_path="other.txt")
    assert sorted(siblings.find_siblings(own).criteria) == sorted(SCORES)


@pytest.mark.parametrize("count", [1, 3])
def test_siblings_take_one_query(
    run: Run, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    own, *_others = [record(run, f"model {number}", "1") for number in range(count)]
    with django_assert_num_queries(1):
        siblings.find_siblings(own)


def test_number_of_siblings_is_limited(run: Run) -> None:
    own = record(run, "model 0")
    EvaluationFactory.create_batch(105, run=run, task_id="7", model_id="model 1")
    found = siblings.find_siblings(own)
    assert (found.others, found.are_cut) == (99, True)


@pytest.mark.parametrize(
    ("answer", "same"),
    [
        ("$x = 1$.", "x=1"),
        (r"\[ x = 1 \]", "x=1"),
        (r"$$\boxed{x\,=\,1}$$", "x=1"),
        ("**60**", "60"),
        (r"\left( \tfrac{1}{2} \right)", r"(\frac{1}{2})"),
        ("  two   words ", "twowords"),
    ],
)
def test_equivalent_answers_are_normalised_alike(answer: str, same: str) -> None:
    assert normalise_answer(answer) == same


@pytest.mark.parametrize("answer", [r"\boxed{1}+\boxed{2}", "$a$ or $b$", "A", "-1"])
def test_different_answers_are_normalised_differently(answer: str) -> None:
    assert normalise_answer(answer) == "".join(answer.split())

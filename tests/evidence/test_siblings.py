"""Other records of a task, grouped by their final answer."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.evidence import siblings
from reviews.evidence.siblings import MAX_CRITERIA, MAX_OTHERS, SiblingScore
from reviews.models import Evaluation, Run
from reviews.records.answers import MAX_CHARS
from tests.support.factories import SCORES, EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


def record(run: Run, model: str, answer: Any = None, **fields: Any) -> Evaluation:
    response = answer and {"model": "gpt-4o", "response": {"final_answer": answer}}
    values = {"task_id": "7", "model_id": model, "structured_model_response": response} | fields
    return EvaluationFactory.create(run=run, **({"verification_message": None} | values))


def answers(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(one.model, one.answer) for one in siblings.find_siblings(evaluation).records]


def test_siblings_follow_this_record_those_with_its_answer_first(run: Run) -> None:
    record(run, "a", "$2$")
    own = record(run, "b", r"\boxed{\frac{1}{2}}")
    record(run, "c", r"\( \dfrac{1}{2} \)")
    record(run, "d")
    record(run, "e", "7")
    record(run, "f", "2.")
    found = siblings.find_siblings(own)
    assert [(one.model, one.is_this, one.is_same_answer) for one in found.records] == [
        ("b", True, True),
        ("c", False, True),
        ("a", False, False),
        ("f", False, False),
        ("e", False, False),
        ("d", False, False),
    ]
    assert (found.others, found.agreeing) == (5, 1)


def test_answers_that_are_too_long_to_compare_are_not_the_same(run: Run) -> None:
    own = record(run, "a", "x" * MAX_CHARS + "1")
    record(run, "b", "x" * MAX_CHARS + "2")
    assert siblings.find_siblings(own).agreeing == 0


def test_answer_falls_back_to_verifier(run: Run) -> None:
    own = record(run, "a", verification_message="Mismatch (Extracted: '54', Correct: '')")
    assert answers(own) == [("a", "54")]


def test_siblings_exclude_other_tasks_and_runs(run: Run) -> None:
    own = record(run, "a", "1")
    record(run, "b", "1", task_id="8")
    record(RunFactory.create(), "c", "1")
    assert answers(own) == [("a", "1")]
    assert siblings.find_siblings(record(run, "d", task_id=None)).records == []


def test_sibling_has_scores_and_verdicts_of_judge_and_reviewer(run: Run) -> None:
    own = record(run, "a", "1", aggregated_score="Fail", human_corrected_scores={"Depth": {"score": "Yes"}})
    raw = {"raw_content": '{"Depth": {"score": "Partial", "justification": "Some."}}'}
    record(run, "b", "1", aggregated_score=None, parsed_rubric_scores={}, raw_judge_output=raw)
    record(run, "c", "1", parsed_rubric_scores={"Depth": "No", "Style": {"score": {}}}, aggregated_score=None)
    found = siblings.find_siblings(own, None, ["Depth", "style_of_proof"])
    assert [(one.model, one.judged, one.decided) for one in found.records] == [
        ("a", "Fail", "Pass"),
        ("b", "Partial", ""),
        ("c", "", ""),
    ]
    assert found.titles == ["Depth", "Style of proof"]
    assert [one.scores for one in found.records] == [
        [SiblingScore("", "Yes", "yes"), SiblingScore("", "", None)],
        [SiblingScore("Partial", "", "partial"), SiblingScore("", "", None)],
        [SiblingScore("No", "", "no"), SiblingScore("", "", None)],
    ]


def test_siblings_without_verdicts_have_no_scores_either(run: Run) -> None:
    own = record(run, "a", "1", aggregated_score="Fail", parsed_rubric_scores={"Depth": {"score": "No"}})
    found = siblings.find_siblings(own, None, ["Depth"])
    assert found.have_verdicts
    bare = found.without_verdicts()
    assert not bare.have_verdicts
    assert [(one.answer, one.scores) for one in bare.records] == [("1", [])]
    assert (bare.titles, bare.criteria) == ([], [])


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


@pytest.mark.slow
def test_number_of_siblings_is_limited(run: Run) -> None:
    EvaluationFactory.create_batch(60, run=run, task_id="7", model_id="model 1")
    own = record(run, "model 2")
    found = siblings.find_siblings(own, None, [f"Criterion {number}" for number in range(20)])
    assert (found.others, found.are_cut, len(found.titles)) == (MAX_OTHERS, True, MAX_CRITERIA)
    assert found.records[0].is_this

"""A run's rubric is inferred from its records."""

import json
from typing import Any

import pytest

from reviews.models import Run
from reviews.rubric.definition import Rubric, run_rubric
from reviews.rubric.inference import infer_rubric
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


def judged(number: int, **scores: Any) -> bytes:
    entries = {name: {"score": score, "justification": "So."} for name, score in scores.items()}
    return line(f"eval_{number}", parsed_rubric_scores=entries)


def inferred(*lines: bytes) -> Rubric:
    run = import_data(file_of(*lines)).target_run
    infer_rubric(run)
    return run_rubric(Run.objects.get(pk=run.pk))


def scores_from(*scores: Any) -> tuple[Any, ...]:
    return inferred(*(judged(number, a=score) for number, score in enumerate(scores))).scores


def test_inferred_criteria_are_those_of_most_records_in_file_order() -> None:
    lines = [judged(number, the_longest_name_of_all="Yes", b="No", a="Yes") for number in range(3)]
    found = inferred(*lines, judged(9, b="No", the_odd_one="Yes"))
    assert found.criteria == ("the_longest_name_of_all", "b", "a")


def test_one_of_two_rubrics_in_a_run_is_inferred() -> None:
    found = inferred(
        judged(1, a="Yes", b="Yes"), judged(2, a="Yes", b="No"), judged(3, c="No"), judged(4, d="No")
    )
    assert found.criteria == ("a", "b")


def test_unrelated_rubric_is_not_added() -> None:
    inferred(judged(1, a="Yes", b="Yes"))
    found = inferred(*(judged(number, c="Yes", d="No") for number in range(2, 9)))
    assert found.criteria == ("a", "b")


def test_criterion_of_most_related_records_is_added() -> None:
    inferred(judged(1, a="Yes"))
    found = inferred(*(judged(number, b="Yes", a="No") for number in range(2, 9)))
    assert found.criteria == ("a", "b")


@pytest.mark.parametrize(
    ("found", "scores"),
    [
        (["No", "Yes"], ("Yes", "Partial", "No")),
        (["no", "yes", "no"], ("yes", "partial", "no")),
        (["YES", "PARTIAL"], ("YES", "PARTIAL", "NO")),
        (["Yes", "yes", "Yes"], ("Yes", "Partial", "No")),
        ([1, 3, 2.5, 5], (5, 3, 2.5, 1)),
        ([True, False], (True, False)),
        (["Fail", "Pass"], ("Pass", "Fail")),
        (["Poor", "Fair", "Good", "Excellent"], ("Excellent", "Good", "Fair", "Poor")),
        (["Fail", "Blue", "Pass"], ("Pass", "Fail", "Blue")),
        (["1", 1, 2], ("1", 2, 1)),
    ],
)
def test_inferred_scores_are_sorted_best_first(found: list[Any], scores: tuple[Any, ...]) -> None:
    kept = scores_from(*found)
    assert [(type(score), score) for score in kept] == [(type(score), score) for score in scores]


def test_invalid_score_is_not_inferred() -> None:
    assert scores_from("Yes", None, "", ["Yes"], "x" * 41) == ("Yes", "Partial", "No")


def test_rare_score_is_not_inferred() -> None:
    assert scores_from(*["Pass", "Fail"] * 60, "Yess") == ("Pass", "Fail")


def test_scores_are_inferred_from_raw_output() -> None:
    raw = {"raw_content": json.dumps({"rigor": {"score": 4}, "clarity": {"score": 2}})}
    found = inferred(line("eval_1", parsed_rubric_scores={}, raw_judge_output=raw))
    assert (found.criteria, found.scores) == (("rigor", "clarity"), (4, 2))


def test_run_without_scores_keeps_the_default_rubric() -> None:
    assert inferred(line("eval_1", parsed_rubric_scores={}, raw_judge_output={})) == Rubric()


def test_import_without_new_records_infers_nothing() -> None:
    first = inferred(judged(1, a="Yes"))
    assert inferred(judged(1, a="Yes")) == first


def test_sample_covers_the_whole_file(django_assert_max_num_queries: Any) -> None:
    run = import_data(file_of(*(judged(number, a=number // 100) for number in range(1000)))).target_run
    with django_assert_max_num_queries(15):
        infer_rubric(run)
    assert run_rubric(Run.objects.get(pk=run.pk)).scores == tuple(range(9, -1, -1))


def test_public_sample_gives_its_four_criteria(sample: bytes) -> None:
    run = import_data(sample).target_run
    infer_rubric(run)
    found = run_rubric(Run.objects.get(pk=run.pk))
    assert found.criteria == (
        "correctness_of_final_answer",
        "completeness_of_steps",
        "accuracy_of_intermediate_results",
        "validity_of_assumptions",
    )
    assert found.scores == ("Yes", "Partial", "No")

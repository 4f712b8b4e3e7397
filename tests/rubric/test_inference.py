"""A run's rubric is inferred from its records."""

import json
from typing import Any

import pytest

from reviews.models import Run
from reviews.records.rubric import Rubric, VerdictRule
from reviews.records.scales import YES_PARTIAL_NO, PairwiseScale, RangeScale, Scale, ValueScale
from reviews.rubric.inference import infer_rubric
from reviews.rubric.run_rubric import run_rubric
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


def judged(number: int, **scores: Any) -> bytes:
    entries = {name: {"score": score, "justification": "So."} for name, score in scores.items()}
    return line(f"eval_{number}", parsed_rubric_scores=entries)


def inferred(*lines: bytes) -> Rubric:
    run = import_data(file_of(*lines)).target_run
    infer_rubric(run)
    return run_rubric(Run.objects.get(pk=run.pk))


def scale_from(*scores: Any) -> Scale:
    return inferred(*(judged(number, a=score) for number, score in enumerate(scores))).scale_of("a")


def test_inferred_criteria_are_those_of_most_records_in_file_order() -> None:
    lines = [judged(number, the_longest_name_of_all="Yes", b="No", a="Yes") for number in range(3)]
    found = inferred(*lines, judged(9, b="No", the_odd_one="Yes"))
    assert found.names == ("the_longest_name_of_all", "b", "a")


def test_one_of_two_rubrics_in_a_run_is_inferred() -> None:
    found = inferred(
        judged(1, a="Yes", b="Yes"), judged(2, a="Yes", b="No"), judged(3, c="No"), judged(4, d="No")
    )
    assert found.names == ("a", "b")


def test_unrelated_rubric_is_not_added() -> None:
    inferred(judged(1, a="Yes", b="Yes"))
    found = inferred(*(judged(number, c="Yes", d="No") for number in range(2, 9)))
    assert found.names == ("a", "b")


def test_criterion_of_most_related_records_is_added() -> None:
    inferred(judged(1, a="Yes"))
    found = inferred(*(judged(number, b="Yes", a="No") for number in range(2, 9)))
    assert found.names == ("a", "b")


@pytest.mark.parametrize(
    ("found", "values", "last_yes", "last_partial"),
    [
        (["No", "Yes"], ("Yes", "Partial", "No"), "Yes", "Partial"),
        (["no", "yes", "no"], ("yes", "partial", "no"), "yes", "partial"),
        (["YES", "PARTIAL"], ("YES", "PARTIAL", "NO"), "YES", "PARTIAL"),
        (["Yes", "yes", "Yes"], ("Yes", "Partial", "No"), "Yes", "Partial"),
        ([True, False], (True, False), True, None),
        ([False], (True, False), True, None),
        (["Fail", "Pass"], ("Pass", "Fail"), "Pass", None),
        (["Poor", "Fair", "Good", "Excellent"], ("Excellent", "Good", "Fair", "Poor"), None, None),
        (["Fail", "Blue", "Pass"], ("Pass", "Fail", "Blue"), None, None),
    ],
)
def test_inferred_values_are_sorted_best_first(
    found: list[Any], values: tuple[Any, ...], last_yes: Any, last_partial: Any
) -> None:
    assert repr(scale_from(*found)) == repr(ValueScale(values, last_yes, last_partial))


@pytest.mark.parametrize(
    ("found", "scale"),
    [
        ([8, 3, 9, 5], RangeScale(1, 10)),
        ([8, -1, 9], RangeScale(1, 10)),
        ([5], RangeScale(1, 5)),
        ([0], RangeScale(0, 1)),
        ([1, 3, 2.5, 5], RangeScale(1, 5, is_integer=False)),
        ([8.0, 3.0], RangeScale(1, 10, is_integer=False, step=1)),
        ([0.92, 0.45], RangeScale(0, 1, is_integer=False)),
        (["1", 1, 2], RangeScale(1, 3)),
        ([4, 5, "N/A"], RangeScale(1, 5)),
        ([101, 250], RangeScale(101, 250)),
        (["4", "5", "1"], RangeScale(1, 5)),
        (["0.92", "0.45"], RangeScale(0, 1, is_integer=False)),
        (["8", " 3 ", "N/A"], RangeScale(1, 10)),
    ],
)
def test_inferred_range_is_the_narrowest_usual_one(found: list[Any], scale: RangeScale) -> None:
    assert scale_from(*found) == scale


def test_words_for_the_better_response_are_inferred_as_preferences() -> None:
    found = inferred(judged(1, winner="model_a"), judged(2, winner="tie"), judged(3, winner="model_b"))
    assert found.scale_of("winner") == PairwiseScale("model_a", "model_b", "tie")
    assert found.rule == VerdictRule("none")


@pytest.mark.parametrize("number", [10**17, 1e17, 10**18 - 1, -(10**17)])
def test_huge_number_makes_no_range(number: float) -> None:
    assert scale_from(number, number) == YES_PARTIAL_NO


def test_invalid_score_is_not_inferred() -> None:
    assert scale_from("Yes", None, "", ["Yes"], "x" * 41) == YES_PARTIAL_NO


@pytest.mark.slow
def test_rare_score_is_not_inferred() -> None:
    assert scale_from(*["Pass", "Fail"] * 60, "Yess") == ValueScale(("Pass", "Fail"), "Pass")


def test_scale_of_most_criteria_is_that_of_the_rubric() -> None:
    found = inferred(*(judged(number, a="Pass", b=number, c="Fail", d="Pass") for number in range(3, 6)))
    assert found.scale_of("b") == RangeScale(1, 5)
    assert found.criterion("a").scale == found.criterion("d").scale


@pytest.mark.slow
def test_range_has_no_levels_and_no_verdict() -> None:
    assert inferred(judged(1, a=4), judged(2, a=2)).rule == VerdictRule("none")
    assert inferred(judged(3, a="Yes"), judged(4, a="No")).rule == VerdictRule("worst")


def test_scores_are_inferred_from_raw_output() -> None:
    raw = {"raw_content": json.dumps({"rigor": {"score": 4}, "clarity": {"score": 2}})}
    found = inferred(line("eval_1", parsed_rubric_scores={}, raw_judge_output=raw))
    assert (found.names, found.scale_of("rigor")) == (("rigor", "clarity"), RangeScale(1, 5))


@pytest.mark.slow
def test_later_file_widens_the_scale() -> None:
    assert inferred(judged(1, a=4), judged(2, a=2)).scale_of("a") == RangeScale(1, 5)
    assert inferred(judged(3, a=9), judged(4, a=7)).scale_of("a") == RangeScale(1, 10)


def test_run_without_scores_keeps_the_default_rubric() -> None:
    assert inferred(line("eval_1", parsed_rubric_scores={}, raw_judge_output={})) == Rubric()


@pytest.mark.slow
def test_import_without_new_records_infers_nothing() -> None:
    first = inferred(judged(1, a="Yes"))
    assert inferred(judged(1, a="Yes")) == first


@pytest.mark.slow
def test_sample_covers_the_whole_file(django_assert_max_num_queries: Any) -> None:
    run = import_data(file_of(*(judged(number, a=number // 100) for number in range(1000)))).target_run
    with django_assert_max_num_queries(15):
        infer_rubric(run)
    assert run_rubric(Run.objects.get(pk=run.pk)).scale_of("a") == RangeScale(0, 10)


@pytest.mark.slow
def test_public_sample_gives_its_four_criteria(sample: bytes) -> None:
    run = import_data(sample).target_run
    infer_rubric(run)
    found = run_rubric(Run.objects.get(pk=run.pk))
    assert found.names == (
        "correctness_of_final_answer",
        "completeness_of_steps",
        "accuracy_of_intermediate_results",
        "validity_of_assumptions",
    )
    assert found.scale == YES_PARTIAL_NO
    assert found.rule == VerdictRule("worst")

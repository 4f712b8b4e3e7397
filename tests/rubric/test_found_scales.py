"""Scales recognised from scores of files, and rubrics extended by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import MAX_CRITERIA, rubric_from_json
from reviews.records.scales import MAX_NUMBER, YES_PARTIAL_NO, PairwiseScale, RangeScale, Scale, ValueScale
from reviews.rubric.found_scales import (
    complete_range,
    merge_rubrics,
    merge_scales,
    range_of_scores,
    scale_of_preferences,
    scale_of_texts,
)
from tests.support.rubrics import rubric_of


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([1, 2, 3, 4, 5, 6, 8, 9, 10], RangeScale(1, 10)),
        ([9], RangeScale(1, 10)),
        ([5], RangeScale(1, 5)),
        ([0], RangeScale(0, 1)),
        ([1, 0], RangeScale(0, 1)),
        ([2, 3], RangeScale(1, 3)),
        ([0, 3], RangeScale(0, 3)),
        ([0, 4], RangeScale(0, 5)),
        ([0, 7], RangeScale(0, 10)),
        ([11], RangeScale(0, 100)),
        ([101], RangeScale(101, 102)),
        ([-3, 3], RangeScale(-3, 3)),
        ([0.92, 0.45], RangeScale(0, 1, is_integer=False)),
        ([1, 2.5], RangeScale(1, 3, is_integer=False)),
        ([1.0, 2.0], RangeScale(1, 3, is_integer=False, step=1)),
        ([8.0, 3.0], RangeScale(1, 10, is_integer=False, step=1)),
        ([0.0], RangeScale(0, 1, is_integer=False, step=1)),
        ([-1, 8, 9], RangeScale(1, 10)),
        ([-1, 0.5], RangeScale(0, 1, is_integer=False)),
        ([-1.0, 8.0], RangeScale(1, 10, is_integer=False, step=1)),
        ([-1], RangeScale(-1, 0)),
        ([-1, -2, 1], RangeScale(-2, 1)),
        ([-0.5, 120], RangeScale(-0.5, 120, is_integer=False)),
    ],
)
def test_range_of_scores_is_the_narrowest_usual_one(scores: list[float], scale: RangeScale) -> None:
    assert range_of_scores(scores) == scale


def test_range_keeps_a_step_that_fits() -> None:
    assert complete_range(200, 300, is_integer=False, step=50).step == 50
    assert complete_range(200, 301, is_integer=False, step=50).step is None


@given(
    st.lists(
        st.integers(1 - MAX_NUMBER, MAX_NUMBER - 1) | st.floats(1 - MAX_NUMBER, MAX_NUMBER - 1), min_size=1
    )
)
def test_range_of_any_scores_is_valid_and_has_most_of_them(scores: list[float]) -> None:
    scale = range_of_scores(scores)
    assert [*scale.problems()] == []
    assert rubric_from_json(Rubric(scale=scale).as_json()).scale == scale
    assert all(scale.fit(score) is not None for score in scores if score != -1)


@pytest.mark.parametrize(
    ("texts", "values", "pass_from", "partial_from"),
    [
        (["No"], ("Yes", "Partial", "No"), "Yes", "Partial"),
        (["no", "yes"], ("yes", "partial", "no"), "yes", "partial"),
        (["PARTIAL"], ("YES", "PARTIAL", "NO"), "YES", "PARTIAL"),
        (["Fail", "Pass"], ("Pass", "Fail"), "Pass", None),
        (
            ["Poor", "Fail", "Good", "Excellent", "Fair"],
            ("Excellent", "Good", "Fair", "Poor", "Fail"),
            "Excellent",
            "Poor",
        ),
        (["correct", "incorrect", "Correct "], ("correct", "incorrect"), "correct", None),
        (["Pass", "Blue", "Fail"], ("Pass", "Fail", "Blue"), None, None),
        (["good", "poor"], ("good", "poor"), None, None),
        (["I"], ("C", "P", "I"), "C", "P"),
        (["N", "I", "C"], ("C", "P", "I"), "C", "P"),
        (["C", "I", "D"], ("C", "I", "D"), None, None),
        (["C", "N"], ("C", "N"), None, None),
    ],
)
def test_texts_are_sorted_best_first_with_levels_of_known_words(
    texts: list[str], values: tuple[str, ...], pass_from: str | None, partial_from: str | None
) -> None:
    scale = scale_of_texts(texts)
    assert scale
    assert (scale.values, scale.pass_from, scale.partial_from) == (values, pass_from, partial_from)
    assert [*scale.problems()] == []


@pytest.mark.parametrize(
    ("texts", "scale"),
    [
        (["model_a", "tie", "model_b"], PairwiseScale("model_a", "model_b", "tie")),
        (["model_1", "model_2"], PairwiseScale("model_1", "model_2", "tie")),
        (["Model_B", "Draw", "tie (bothbad)"], PairwiseScale("model_a", "Model_B", "Draw", "tie (bothbad)")),
        (["A", "B", "Tie"], PairwiseScale("A", "B", "Tie")),
        (["A", "B"], None),
        (["model_a"], None),
        (["tie"], None),
        (["model_a", "tie", "broken"], None),
        ([], None),
    ],
)
def test_words_for_the_better_response_make_a_pairwise_scale(
    texts: list[str], scale: PairwiseScale | None
) -> None:
    assert scale_of_preferences(texts) == scale
    assert not [*(scale.problems() if scale else ())]


@pytest.mark.parametrize("texts", [[], ["Blue"], ["Blue", "blue "]])
def test_single_text_makes_no_scale(texts: list[str]) -> None:
    assert scale_of_texts(texts) is None


PASS_FAIL = ValueScale(("Pass", "Fail"), "Pass")
BOOLEAN = ValueScale((True, False), pass_from=True)


@pytest.mark.parametrize(
    ("known", "found", "merged"),
    [
        (RangeScale(1, 5), RangeScale(1, 5), RangeScale(1, 5)),
        (RangeScale(1, 5), RangeScale(1, 10), RangeScale(1, 10)),
        (RangeScale(1, 10), RangeScale(0, 1), RangeScale(0, 10)),
        (RangeScale(1, 5), RangeScale(0, 1, is_integer=False), RangeScale(0, 5, is_integer=False)),
        (
            RangeScale(1, 3, is_integer=False, step=1),
            RangeScale(1, 5, is_integer=False, step=1),
            RangeScale(1, 5, is_integer=False, step=1),
        ),
        (PASS_FAIL, ValueScale(("Pass", "Partial", "Fail"), "Pass", "Partial"), None),
        (ValueScale(("Good", "Fine")), ValueScale(("Fine", "Meh")), ValueScale(("Good", "Fine", "Meh"))),
        (PASS_FAIL, ValueScale(("pass", "FAIL "), "pass"), PASS_FAIL),
        (PASS_FAIL, ValueScale(("Pass", "Blue")), PASS_FAIL),
        (PASS_FAIL, RangeScale(1, 5), PASS_FAIL),
        (RangeScale(1, 5), PASS_FAIL, RangeScale(1, 5)),
        (BOOLEAN, PASS_FAIL, BOOLEAN),
        (PairwiseScale(), PASS_FAIL, PairwiseScale()),
        (PairwiseScale(), PairwiseScale(both_bad="neither"), None),
        (PairwiseScale(both_bad="neither"), PairwiseScale(), PairwiseScale(both_bad="neither")),
    ],
)
def test_merged_scale_has_the_scores_of_both(known: Scale, found: Scale, merged: Scale | None) -> None:
    assert merge_scales(known, found) == (found if merged is None else merged)


def test_too_many_values_are_not_merged() -> None:
    known = ValueScale(tuple("abcdefgh"))
    assert merge_scales(known, ValueScale(tuple("ijklmnop"))) == known


def test_word_of_a_later_file_gets_its_place_between_the_others() -> None:
    merged = merge_scales(PASS_FAIL, ValueScale(("Pass", "Partial", "Fail"), "Pass", "Partial"))
    assert [merged.level(word) for word in ("Pass", "Partial", "Fail")] == ["yes", "partial", "no"]


def test_merged_criteria_keep_their_scales() -> None:
    known = Rubric((Criterion("a"), Criterion("b", scale=PASS_FAIL)), RangeScale(1, 5))
    found = Rubric((Criterion("b"), Criterion("c"), Criterion("a", scale=BOOLEAN)), YES_PARTIAL_NO)
    merged = merge_rubrics(known, found)
    assert merged.names == ("a", "b", "c")
    assert merged.scale == RangeScale(1, 5)
    assert merged.scale_of("a") == RangeScale(1, 5)
    assert {"Pass", "Fail"} <= {*merged.scale_of("b").buttons}
    assert merged.scale_of("c") == YES_PARTIAL_NO


def test_merged_rubric_has_at_most_as_many_criteria_as_allowed() -> None:
    known, found = rubric_of(*map(str, range(60))), rubric_of(*map(str, range(50, 150)))
    assert merge_rubrics(known, found).names == tuple(map(str, range(MAX_CRITERIA)))


def test_first_levels_bring_a_verdict() -> None:
    known = rubric_of("a", scale=RangeScale(1, 5), rule=VerdictRule("none"))
    assert merge_rubrics(known, rubric_of("b")).rule == VerdictRule("worst")
    assert merge_rubrics(rubric_of("b"), known).rule == VerdictRule("worst")


INFERRED = st.lists(st.integers(-5, 200) | st.floats(-1e14, 1e14), min_size=1, max_size=5).map(
    range_of_scores
) | st.lists(
    st.sampled_from(["Yes", "No", "Partial", "Pass", "Fail", "Good", "Blue", "yes"]), min_size=2, max_size=5
).map(scale_of_texts).map(lambda scale: scale or BOOLEAN)


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), INFERRED), min_size=1), min_size=2, max_size=4))
def test_merged_rubrics_are_valid(files: list[list[tuple[str, Scale]]]) -> None:
    rubrics = [
        Rubric(tuple(Criterion(name, scale=scale) for name, scale in dict(file).items()), file[0][1])
        for file in files
    ]
    merged = rubrics[0]
    for found in rubrics[1:]:
        merged = merge_rubrics(merged, found)
        assert merge_rubrics(merged, merged) == merged
    assert rubric_from_json(merged.as_json()) == merged
    assert {*merged.names} == {name for file in files for name, _ in file}

"""Scales are completed from the scores that a file happens to have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric import Rubric
from reviews.records.rubric_file import rubric_from_json
from reviews.records.scales import MAX_NUMBER, PairwiseScale, RangeScale
from reviews.rubric.found_scales import complete_range, range_of_scores, scale_of_preferences, scale_of_texts


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

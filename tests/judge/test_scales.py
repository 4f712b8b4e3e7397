"""Scale positions and order of scores under any rubric."""

from typing import Any

import pytest

from reviews.judge.scales import MOST_SCORES, Scale
from reviews.records.scores import Score
from reviews.records.verdict import VerdictRule
from reviews.rubric.definition import Rubric

WORDS = Rubric()
NUMBERS = Rubric(scores=(5, 4, 3, 2, 1), rule=VerdictRule("mean", (), (), (), 4, 2))


def shown(scale: Scale) -> list[tuple[str, str | None, float | None]]:
    return [(category.label, category.level, category.rank) for category in scale.categories]


def test_words_are_ranked_by_level() -> None:
    assert shown(Scale.from_scores(WORDS, [])) == [
        ("Yes", "yes", 2),
        ("Partial", "partial", 1),
        ("No", "no", 0),
    ]


def test_numbers_are_ranked_by_size() -> None:
    assert shown(Scale.from_scores(NUMBERS, [3.5]))[:3] == [
        ("5", "yes", 5),
        ("4", "yes", 4),
        ("3.5", "partial", 3.5),
    ]


@pytest.mark.parametrize(("scores", "first"), [((1, 2, 3), "1"), ((3, 2, 1), "3")])
def test_school_marks_are_ranked_as_the_rubric_lists_them(scores: tuple[Score, ...], first: str) -> None:
    marks = Rubric(scores=scores, rule=VerdictRule("worst", scores[:1], scores[1:2], scores[2:]))
    scale = Scale.from_scores(marks, [])
    assert scale.categories[0].label == first
    assert [category.level for category in scale.categories] == ["yes", "partial", "no"]


def test_unknown_score_comes_last_without_a_rank() -> None:
    assert shown(Scale.from_scores(WORDS, ["it depends", "Yes"]))[2:] == [
        ("No", "no", 0),
        ("it depends", None, None),
    ]
    assert shown(Scale.from_scores(NUMBERS, ["n/a"]))[-1] == ("n/a", None, None)


@pytest.mark.parametrize("nothing", [None, "", " ", {}, [1], float("nan")])
def test_value_that_is_no_score_has_no_category(nothing: Any) -> None:
    scale = Scale.from_scores(WORDS, [nothing])
    assert len(scale.categories) == 3
    assert scale.place(nothing) is None


def test_equal_scores_share_a_category() -> None:
    scale = Scale.from_scores(NUMBERS, [4.0, "4", True])
    assert scale.place(4) == scale.place(4.0) == 1
    assert len({scale.place(4), scale.place("4"), scale.place(True)}) == 3
    assert [category.spelled for category in scale.categories] == ["5", "4", "3", "2", "1", '"4"', "true"]


def test_too_many_scores_are_grouped_by_level() -> None:
    scale = Scale.from_scores(NUMBERS, [*range(-50, 50), "a long story", "another one"])
    assert [category.label for category in scale.categories] == [
        "counts as Yes",
        "counts as Partial",
        "counts as No",
    ]
    assert [scale.place(score) for score in (40, 3, -50, "a long story")] == [0, 1, 2, None]
    assert {category.spelled for category in scale.categories} == {""}


def test_as_many_scores_as_a_rubric_allows_are_not_grouped() -> None:
    assert len(Scale.from_scores(Rubric(scores=tuple(range(MOST_SCORES))), []).categories) == MOST_SCORES


def test_verdicts_form_a_scale() -> None:
    scale = Scale.of_verdicts()
    assert shown(scale) == [("Pass", "yes", 2), ("Partial", "partial", 1), ("Fail", "no", 0)]
    assert [category.spelled for category in scale.categories] == ["Pass", "Partial", "Fail"]
    assert (scale.place("Fail"), scale.place("Great")) == (2, None)

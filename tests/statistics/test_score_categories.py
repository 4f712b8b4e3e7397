"""Categories of scores and their order under any scale."""

from typing import Any

import pytest

from reviews.records.rubric import Criterion, Rubric
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.records.scores import Score
from reviews.statistics.score_categories import MOST_SCORES, PARTS, ScoreCategories
from tests.support.rubrics import rubric_of

WORDS = Rubric()
NUMBERS = rubric_of(scale=RangeScale(1, 5, pass_from=4, partial_from=2))


def categories_of(scale: Scale, *found: Any) -> ScoreCategories:
    return ScoreCategories.from_scores(rubric_of(scale=scale), "Clarity", found)


def shown(scale: ScoreCategories) -> list[tuple[str, str | None, float | None]]:
    return [(category.label, category.level, category.rank) for category in scale.categories]


def test_words_are_ranked_by_level() -> None:
    assert shown(ScoreCategories.from_scores(WORDS, "Clarity", [])) == [
        ("Yes", "yes", 2),
        ("Partial", "partial", 1),
        ("No", "no", 0),
    ]


def test_numbers_are_ranked_by_size() -> None:
    assert shown(ScoreCategories.from_scores(NUMBERS, "Clarity", [3.5]))[:3] == [
        ("5", "yes", 5),
        ("4", "yes", 4),
        ("3.5", "partial", 3.5),
    ]


@pytest.mark.parametrize(("values", "first"), [((1, 2, 3), "1"), ((3, 2, 1), "3")])
def test_school_marks_are_ranked_as_the_scale_lists_them(values: tuple[Score, ...], first: str) -> None:
    found = categories_of(ValueScale(values, values[0], values[1]))
    assert found.categories[0].label == first
    assert [category.level for category in found.categories] == ["yes", "partial", "no"]


def test_lower_numbers_are_first_if_they_are_better() -> None:
    found = categories_of(RangeScale(0, 2, pass_from=0, partial_from=1, lower_is_better=True))
    assert shown(found) == [("0", "yes", 0), ("1", "partial", -1), ("2", "no", -2)]


def test_values_without_levels_are_ranked_by_their_order() -> None:
    found = categories_of(ValueScale(("warm", "mild", "cold"), unranked=("N/A",)))
    assert shown(found) == [("warm", None, 1), ("mild", None, 0.5), ("cold", None, 0), ("N/A", None, None)]


def test_preferences_are_ranked_from_a_to_b() -> None:
    found = categories_of(PairwiseScale(both_bad="none"))
    assert shown(found) == [("A", None, 1), ("tie", None, 0), ("B", None, -1), ("none", None, None)]


def test_each_criterion_has_the_categories_of_its_scale() -> None:
    rubric = Rubric((Criterion("a", scale=ValueScale((True, False), pass_from=True)), Criterion("b")))
    assert [
        [category.label for category in ScoreCategories.from_scores(rubric, name, []).categories]
        for name in rubric.names
    ] == [["true", "false"], ["Yes", "Partial", "No"]]


def test_decimal_range_has_the_scores_that_were_found() -> None:
    found = categories_of(RangeScale(0, 1, is_integer=False, pass_from=0.5), 0.25, 1.0, 0.25)
    assert shown(found) == [("1.0", "yes", 1), ("0.25", "no", 0.25)]


def test_unknown_score_comes_last_without_a_rank() -> None:
    assert shown(ScoreCategories.from_scores(WORDS, "Clarity", ["it depends", "Yes"]))[2:] == [
        ("No", "no", 0),
        ("it depends", None, None),
    ]
    assert shown(ScoreCategories.from_scores(NUMBERS, "Clarity", ["n/a"]))[-1] == ("n/a", None, None)


@pytest.mark.parametrize("nothing", [None, "", " ", {}, [1], float("nan")])
def test_value_that_is_no_score_has_no_category(nothing: Any) -> None:
    scale = ScoreCategories.from_scores(WORDS, "Clarity", [nothing])
    assert len(scale.categories) == 3
    assert scale.place(nothing) is None


def test_equal_scores_share_a_category() -> None:
    scale = ScoreCategories.from_scores(NUMBERS, "Clarity", [4.0, "4", True])
    assert scale.place(4) == scale.place(4.0) == 1
    assert len({scale.place(4), scale.place("4"), scale.place(True)}) == 3
    assert [category.spelled for category in scale.categories] == ["5", "4", '"4"', "3", "2", "1", "true"]


def test_words_that_differ_in_case_or_outer_spaces_share_a_category() -> None:
    scale = ScoreCategories.from_scores(WORDS, "Clarity", ["YES", " yes ", "n/a", "N/A"])
    assert [category.label for category in scale.categories] == ["Yes", "Partial", "No", "n/a"]
    assert [scale.place(score) for score in ("Yes", "YES", "yes", "NO", "N/A")] == [0, 0, 0, 2, 3]


def test_too_many_scores_are_grouped_by_level() -> None:
    wide = RangeScale(-50, 50, pass_from=4, partial_from=2)
    scale = categories_of(wide, *range(-60, 60), "a long story", "another one")
    assert [category.label for category in scale.categories] == [
        "counts as Yes",
        "counts as Partial",
        "counts as No",
    ]
    assert [scale.place(score) for score in (40, 3, -50, -51, "a long story")] == [0, 1, 2, None, None]
    assert {category.spelled for category in scale.categories} == {""}


def test_as_many_scores_as_a_scale_allows_are_not_grouped() -> None:
    assert len(categories_of(RangeScale(1, MOST_SCORES)).categories) == MOST_SCORES
    assert len(categories_of(ValueScale(tuple(range(MOST_SCORES)))).categories) == MOST_SCORES
    assert len(categories_of(RangeScale(1, MOST_SCORES, pass_from=8), 0).categories) == 3
    assert len(categories_of(RangeScale(1, MOST_SCORES), 0).categories) == PARTS


@pytest.mark.parametrize(
    ("scale", "found", "categories"),
    [
        (RangeScale(0, 1, is_integer=False), (0.61, 0.62), PARTS),
        (RangeScale(0, 1, is_integer=False, pass_from=0.5), (0.61, 0.62), 3),
        (RangeScale(0, 100), (73,), PARTS),
        (RangeScale(0, 100), (70, 90), 2),
        (RangeScale(1, 5, is_integer=False), (1.5, 4, "4.0", 7, "n/a"), 5),
        (RangeScale(0, 1, is_integer=False), (0.5, 1.25, "n/a"), 3),
    ],
)
def test_few_scores_are_grouped_if_their_steps_allow_many(
    scale: RangeScale, found: tuple[Score, ...], categories: int
) -> None:
    assert len(categories_of(scale, *found).categories) == categories


def test_verdicts_form_a_scale() -> None:
    scale = ScoreCategories.of_verdicts()
    assert shown(scale) == [("Pass", "yes", 2), ("Partial", "partial", 1), ("Fail", "no", 0)]
    assert [category.spelled for category in scale.categories] == ["Pass", "Partial", "Fail"]
    assert (scale.place("Fail"), scale.place("Great")) == (2, None)


class TestPartsOfARange:
    def test_many_scores_without_levels_are_grouped_by_fifths_of_the_range(self) -> None:
        scores = [round(number / 20, 2) for number in range(20)]
        scale = categories_of(RangeScale(0, 1, is_integer=False), *scores, 0.6, 0.599, 1.0, 1.2, "n/a")
        assert shown(scale) == [
            ("0.8 to 1", None, 0.8),
            ("0.6 to 0.8", None, pytest.approx(0.6)),
            ("0.4 to 0.6", None, 0.4),
            ("0.2 to 0.4", None, 0.2),
            ("0 to 0.2", None, 0),
        ]
        assert all(category.is_part for category in scale.categories)
        assert [scale.place(score) for score in (1.0, 0.6, 0.599, 0.2, 0, 1.2, "n/a")] == [
            *(0, 1, 2, 3, 4),
            *(None, None),
        ]

    def test_best_part_comes_first_if_lower_numbers_are_better(self) -> None:
        scale = categories_of(RangeScale(0, 100, lower_is_better=True), *range(101))
        assert [(category.label, category.rank) for category in scale.categories][:2] == [
            ("0 to 20", 0),
            ("20 to 40", -20),
        ]
        assert [scale.place(score) for score in (0, 19, 20, 100)] == [0, 0, 1, 4]

    def test_scores_of_few_values_are_not_grouped(self) -> None:
        found = categories_of(RangeScale(0, 1, is_integer=False), *(number / 10 for number in range(11)))
        assert len(found.categories) == 11
        assert not any(category.is_part for category in found.categories)

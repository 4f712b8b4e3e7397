"""Scales: valid scores, their order, levels and types."""

import json
from typing import Any

import pytest
from hypothesis import example, given

from reviews.records.scales import (
    YES_PARTIAL_NO,
    Level,
    PairwiseScale,
    RangeScale,
    Scale,
    ValueScale,
)
from reviews.records.scores import Score, is_score
from tests.support.rubric_strategies import JSON, SCALES

GRADES = ValueScale(("Good", 1, True, "Fair", "Poor", "1", 0), True, "Fair", ("N/A",))
BETTER = PairwiseScale("model_a", "model_b", "tie", "tie (both bad)")


class TestValueScale:
    @pytest.mark.parametrize(
        ("score", "level"),
        [
            (" good ", "yes"),
            (1.0, "yes"),
            (True, "yes"),
            ("FAIR", "partial"),
            ("poor", "no"),
            ("1", "no"),
            (0, "no"),
            (False, None),
            ("N/A", None),
            ("Great", None),
            (None, None),
            ("", None),
            (["Good"], None),
            ({"score": "Good"}, None),
            (float("nan"), None),
        ],
    )
    def test_level_distinguishes_json_types_and_ignores_case(self, score: Any, level: Level | None) -> None:
        assert GRADES.level(score) == level

    def test_scale_without_pass_has_no_levels(self) -> None:
        bare = ValueScale(("Good", "Poor"))
        assert (bare.has_levels, bare.level("Good")) == (False, None)

    def test_scale_without_partial_has_two_levels(self) -> None:
        scale = ValueScale(("Pass", "Fine", "Fail"), "Pass")
        assert [scale.level(value) for value in scale.values] == ["yes", "no", "no"]

    def test_rank_goes_from_one_to_zero_in_equal_steps(self) -> None:
        scores: list[Any] = ["yes", "Partial", "NO", "Maybe", None, []]
        assert [YES_PARTIAL_NO.rank(score) for score in scores] == [
            *(1, 0.5, 0),
            *(None, None, None),
        ]

    def test_amount_is_the_rank_of_words_and_the_number_of_numbers(self) -> None:
        assert YES_PARTIAL_NO.amount("Partial") == 0.5
        assert [ValueScale((5, 3.5, 0)).amount(score) for score in (5.0, 3.5, 0, 4, "5")] == [
            *(5, 3.5, 0),
            *(None, None),
        ]

    def test_unranked_value_is_skipped(self) -> None:
        assert [GRADES.is_skipped(score) for score in ("N/A", " n/a", "Good", None, ["N/A"])] == [
            *(True, True),
            *(False, False, False),
        ]
        assert GRADES.rank("N/A") is None
        assert GRADES.amount("N/A") is None

    @pytest.mark.parametrize(
        ("score", "found"),
        [("Good", "Good"), ("good", None), (1, 1), ("1", "1"), (True, True), (0, 0), (False, None)],
    )
    def test_only_a_value_as_it_is_spelled_fits(self, score: Score, found: Score | None) -> None:
        fitted = GRADES.fit(score)
        assert (type(fitted), fitted) == (type(found), found)

    @pytest.mark.parametrize("score", [None, "", ["Good"], {}, float("inf")])
    def test_value_that_is_no_score_does_not_fit(self, score: Any) -> None:
        assert GRADES.fit(score) is None

    def test_buttons_are_all_values_with_unranked_ones_last(self) -> None:
        assert GRADES.buttons == (*GRADES.values, "N/A")
        assert YES_PARTIAL_NO.requirement == "Choose one of these scores: Yes, Partial, No."

    @pytest.mark.parametrize(
        ("scale", "kind"),
        [
            (YES_PARTIAL_NO, "values"),
            (ValueScale((True, False), pass_from=True), "boolean"),
            (ValueScale((False, True), pass_from=False), "boolean"),
            (ValueScale((1, 0), pass_from=1), "values"),
            (ValueScale((True, False)), "values"),
            (ValueScale((True, False), True, False), "values"),
        ],
    )
    def test_kind_is_boolean_only_if_that_says_everything(self, scale: ValueScale, kind: str) -> None:
        assert scale.kind == scale.as_json()["kind"] == kind

    def test_boolean_scale_can_prefer_false(self) -> None:
        scale = ValueScale((False, True), pass_from=False)
        assert [scale.level(score) for score in (False, True, 0)] == ["yes", "no", None]
        assert scale.as_json() == {"kind": "boolean", "best": False, "pass_from": False}

    @pytest.mark.parametrize(
        ("scale", "problems"),
        [
            (GRADES, []),
            (ValueScale(("Yes",)), [("values", "A scale has 2 to 15 values, not 1.")]),
            (ValueScale(tuple(range(16))), [("values", "A scale has 2 to 15 values, not 16.")]),
            (
                ValueScale(("a", "b"), unranked=tuple(range(16))),
                [("unranked", "A scale has at most 15 values without a rank.")],
            ),
            (
                ValueScale(("a", "A ")),
                [("values", "“a” is listed twice."), ("values", "“A ” is listed twice.")],
            ),
            (
                ValueScale((1, 1.0, "1")),
                [("values", "“1” is listed twice."), ("values", "“1.0” is listed twice.")],
            ),
            (ValueScale(("a", "b"), unranked=("a",)), [("values", "“a” is listed twice.")]),
            (ValueScale(("a", "b"), "c"), [("pass_from", "“c” is not one of the values.")]),
            (ValueScale((1, 2), "1"), [("pass_from", "“1” is not one of the values.")]),
            (
                ValueScale(("a", "b"), None, "a"),
                [("partial_from", "Partial needs a value from which scores pass, too.")],
            ),
            (
                ValueScale(("a", "b", "c"), "b", "a"),
                [("partial_from", "Partial begins below the last value that passes.")],
            ),
            (
                ValueScale(("a", "b", "c"), "b", "b"),
                [("partial_from", "Partial begins below the last value that passes.")],
            ),
            (ValueScale(("a", "b"), "b"), [("pass_from", "With the lowest value, every score would pass.")]),
        ],
    )
    def test_problems_have_their_place(self, scale: ValueScale, problems: list[tuple[str, str]]) -> None:
        assert [*scale.problems()] == problems

    @pytest.mark.parametrize(
        "value", ["", " ", "x" * 41, "a\nb", "\ud800", "a\0b", None, float("nan"), 10**18]
    )
    def test_value_must_be_a_short_printable_score(self, value: Any) -> None:
        [(place, reason)] = ValueScale(("a", value)).problems()
        assert place == "values"
        assert reason == "A value is a number, true, false, or a text of 1 to 40 printable characters."


class TestPairwiseScale:
    def test_outcomes_are_buttons_with_labels(self) -> None:
        assert BETTER.buttons == ("model_a", "model_b", "tie", "tie (both bad)")
        assert [BETTER.label(score) for score in BETTER.buttons] == ["A", "B", "Tie", "Both bad"]
        assert BETTER.label("?") == ""
        assert PairwiseScale().buttons == ("A", "B", "tie")

    def test_outcome_can_be_zero_or_false(self) -> None:
        scale = PairwiseScale(1, 2, tie=0, both_bad=False)
        assert scale.buttons == (1, 2, 0, False)
        assert [scale.label(score) for score in (0, False)] == ["Tie", "Both bad"]
        assert scale.as_json() == {"kind": "pairwise", "a": 1, "b": 2, "tie": 0, "both_bad": False}

    def test_rank_orders_a_before_tie_before_b(self) -> None:
        scores: list[Any] = ["MODEL_A", "tie", "model_b", "tie (both bad)", "?", None, []]
        assert [BETTER.rank(score) for score in scores] == [1, 0, -1, None, None, None, None]

    def test_preference_has_no_level_and_no_amount_and_is_skipped(self) -> None:
        assert (BETTER.has_levels, BETTER.level("tie"), BETTER.amount("tie")) == (False, None, None)
        assert [*map(BETTER.is_skipped, ("tie", "?", None, []))] == [True, True, False, False]

    def test_only_outcomes_fit(self) -> None:
        assert [BETTER.fit(score) for score in ("tie", "TIE", None, ["tie"])] == ["tie", None, None, None]
        assert BETTER.requirement.endswith("model_a, model_b, tie, tie (both bad).")

    @pytest.mark.parametrize(
        ("scale", "reasons"),
        [
            (BETTER, []),
            (PairwiseScale("A", "a "), ["The values of the outcomes must differ."]),
            (PairwiseScale(1, 1.0), ["The values of the outcomes must differ."]),
            (PairwiseScale(1, True, "1"), []),
            (
                PairwiseScale("x" * 41),
                ["A value is a number, true, false, or a text of 1 to 40 printable characters."],
            ),
            (
                PairwiseScale(tie=""),
                ["A value is a number, true, false, or a text of 1 to 40 printable characters."],
            ),
        ],
    )
    def test_problems_have_their_place(self, scale: PairwiseScale, reasons: list[str]) -> None:
        assert [*scale.problems()] == [("a", reason) for reason in reasons]


@pytest.mark.slow
@given(SCALES, JSON, JSON)
def test_any_value_can_be_scored(scale: Scale, score: Any, like: Any) -> None:
    assert scale.level(score) in {"yes", "partial", "no", None}
    for number in (scale.rank(score), scale.amount(score)):
        assert number is None or isinstance(number, int | float)
    found = scale.fit(score, like)
    assert found is None or is_score(found)
    assert scale.is_skipped(score) in {True, False}
    assert scale.requirement.endswith(".")


@given(SCALES)
@example(RangeScale(5e-324, 1.0, is_integer=False, step=0.25))
def test_every_button_fits_and_survives_json(scale: Scale) -> None:
    for score in scale.buttons:
        assert scale.fit(score) == score
        assert json.loads(json.dumps(score)) == score
    assert json.dumps(scale.as_json())


@given(SCALES)
def test_better_ranks_have_no_worse_levels(scale: Scale) -> None:
    order = {"yes": 2, "partial": 1, "no": 0}
    ranked = [(rank, score) for score in scale.buttons if (rank := scale.rank(score)) is not None]
    levels = [
        order[level] for _, score in sorted(ranked, key=lambda pair: pair[0]) if (level := scale.level(score))
    ]
    assert levels == sorted(levels)

"""The scores that a person can enter for a criterion."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric import Rubric, VerdictRule
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.records.scores import AS_IN_FILE, AS_JUDGED, Score, identity, is_score
from reviews.rubric.score_input import COMMAND_LETTERS, ScoreInput
from tests.support.rubric_strategies import JSON, RANGE_SCALES, SCALES, VALUES

FIVE = RangeScale(1, 5, pass_from=4, partial_from=2)
TEN = RangeScale(1, 10, pass_from=7)
SHARE = RangeScale(0, 1, is_integer=False)
WHOLE_FLOATS = RangeScale(0, 3, is_integer=False, step=1)
BETTER = PairwiseScale("model_a", "model_b", "tie", "tie (both bad)")


def entry(scale: Scale | None = None, judged: Any = None, in_file: Any = None) -> ScoreInput:
    rubric = Rubric(scale=scale) if scale else Rubric()
    return ScoreInput(rubric, "clarity", judged, in_file)


class TestChoices:
    def test_choice_has_value_label_key_and_level(self) -> None:
        assert [choice[1:] for choice in entry().choices] == [
            ("Yes", "Yes", "y", "yes", 1, 1, False),
            ("Partial", "Partial", "p", "partial", 0.5, 0.5, False),
            ("No", "No", "n", "no", 0, 0, False),
        ]

    def test_json_types_have_different_values(self) -> None:
        choices = entry(ValueScale((2, 1, "1", True))).choices
        assert [(choice.value, choice.label, choice.key) for choice in choices] == [
            ("2", "2", "2"),
            ("1", "1", "1"),
            ('"1"', "1", "t"),
            ("true", "true", "y"),
        ]

    @pytest.mark.parametrize(
        ("values", "keys"),
        [
            (("Pass", "Fail"), ["p", "i"]),
            (("Correct", "Partially correct", "Incorrect"), ["t", "p", "i"]),
            (("Да", "Нет"), ["t", "y"]),
            (("5", "4", "3", "2", "1"), ["5", "4", "3", "2", "1"]),
            (("5/5", "4/5"), ["5", "4"]),
            (("2 - good", "1 - poor", "0: none"), ["2", "1", "0"]),
            ((1.0, 0.5, 0.0), ["1", "t", "0"]),
            ((10, 1, -1, 0.25), ["t", "1", "y", "i"]),
        ],
    )
    def test_choice_has_the_digit_or_the_first_free_letter_of_its_word(
        self, values: tuple[Score, ...], keys: list[str]
    ) -> None:
        assert [choice.key for choice in entry(ValueScale(values)).choices] == keys

    def test_short_range_has_a_choice_for_each_number(self) -> None:
        choices = entry(FIVE).choices
        assert [choice.score for choice in choices] == [1, 2, 3, 4, 5]
        assert [choice.level for choice in choices] == ["no", "partial", "partial", "yes", "yes"]
        assert [choice.amount for choice in choices] == [1, 2, 3, 4, 5]
        assert not entry(FIVE).has_field

    def test_preferences_are_labelled_by_outcome(self) -> None:
        assert [(choice.value, choice.label, choice.rank) for choice in entry(BETTER).choices] == [
            ("model_a", "A", 1),
            ("model_b", "B", -1),
            ("tie", "Tie", 0),
            ("tie (both bad)", "Both bad", None),
        ]
        assert all(choice.is_skipped for choice in entry(BETTER).choices)

    def test_choice_without_level_has_that_of_the_mean(self) -> None:
        rubric = Rubric(scale=RangeScale(1, 3), rule=VerdictRule("mean", 3, 2))
        assert [choice.level for choice in ScoreInput(rubric, "a").choices] == ["no", "partial", "yes"]

    @pytest.mark.parametrize(
        ("judged", "scores"),
        [
            (4, [1, 2, 3, 4, 5]),
            (4.0, [1.0, 2.0, 3.0, 4.0, 5.0]),
            ("4", ["1", "2", "3", "4", "5"]),
            ("4.0", ["1", "2", "3", "4.0", "5"]),
            (" 4", ["1", "2", "3", " 4", "5"]),
        ],
    )
    def test_choices_have_the_type_of_the_judge(self, judged: Any, scores: list[Any]) -> None:
        assert repr([choice.score for choice in entry(FIVE, judged).choices]) == repr(scores)

    @pytest.mark.parametrize("judged", [4, "Yess", "Maybe", 0, False])
    def test_score_of_the_judge_that_is_not_on_the_scale_comes_last(self, judged: Score) -> None:
        *usual, own = entry(judged=judged).choices
        assert tuple(usual) == entry().choices
        assert (own.score, own.value) == (judged, AS_JUDGED)
        assert type(own.score) is type(judged)

    def test_score_of_a_file_that_is_not_on_the_scale_comes_after_it(self) -> None:
        *_, judged, in_file = entry(judged="maybe", in_file=0).choices
        assert (judged.score, in_file.score, in_file.value) == ("maybe", 0, AS_IN_FILE)
        assert len(entry(judged="maybe", in_file="Maybe").choices) == 4
        assert len(entry(in_file="No").choices) == 3

    @pytest.mark.parametrize(
        ("judged", "in_file", "saved"),
        [("YES", None, "YES"), (" yes ", None, " yes "), (None, "yes", "yes"), ("YES", "yes", "yes")],
    )
    def test_score_of_another_spelling_has_no_choice_of_its_own_and_is_saved_as_it_was_written(
        self, judged: Any, in_file: Any, saved: str
    ) -> None:
        given = entry(judged=judged, in_file=in_file)
        assert [choice[1:] for choice in given.choices] == [choice[1:] for choice in entry().choices]
        assert given.decode("Yes") == saved
        assert given.decode("No") == "No"
        assert {given.encode(score) for score in (judged, in_file, "Yes") if score} == {"Yes"}

    @pytest.mark.parametrize("given", [None, "", "Yes", ["Yes"], {}, float("nan")])
    def test_choices_have_no_duplicates_and_no_invalid_scores(self, given: Any) -> None:
        assert entry(judged=given, in_file=given).choices == entry().choices

    @given(SCALES, JSON | VALUES, JSON | VALUES)
    def test_choices_have_distinct_values_and_keys(self, scale: Scale, judged: Any, in_file: Any) -> None:
        choices = entry(scale, judged, in_file).choices
        keys = [choice.key for choice in choices if choice.key]
        assert len(keys) == len(set(keys))
        assert not COMMAND_LETTERS.intersection(keys)
        assert len({choice.value for choice in choices}) == len(choices)
        assert len({identity(choice.score) for choice in choices}) == len(choices)


class TestNumberField:
    def test_long_range_has_a_number_field_and_no_choices(self) -> None:
        assert (entry(TEN, 8).has_field, entry(TEN, 8).choices) == (True, ())
        assert entry(SHARE).has_field

    def test_judge_score_off_the_scale_is_a_choice_beside_the_field(self) -> None:
        assert [(choice.score, choice.value) for choice in entry(TEN, -1, "?").choices] == [
            (-1, AS_JUDGED),
            ("?", AS_IN_FILE),
        ]
        assert entry(TEN, -1).requirement == "Enter a whole number from 1 to 10. Or keep -1."

    @pytest.mark.parametrize(
        ("scale", "judged", "value", "score"),
        [
            (TEN, 8, "8", 8),
            (TEN, 8, " 9 ", 9),
            (TEN, 8, "9.0", 9),
            (TEN, 8.0, "9", 9.0),
            (TEN, "8", "9", "9"),
            (TEN, "8/10", "9", "9"),
            (TEN, None, "9", 9),
            (TEN, -1, AS_JUDGED, -1),
            (TEN, -1, "-1", -1),
            (SHARE, 0.92, "0.5", 0.5),
            (SHARE, 0.92, "0", 0.0),
            (SHARE, 0.92, "-0", 0.0),
            (SHARE, "0.92", ".5", ".5"),
            (SHARE, "0.92", "0.920", "0.92"),
            (WHOLE_FLOATS, "1.0", "0.0", "0.0"),
        ],
    )
    def test_entered_number_has_the_type_of_the_judge(
        self, scale: Scale, judged: Any, value: str, score: Score
    ) -> None:
        assert repr(entry(scale, judged).decode(value)) == repr(score)

    @pytest.mark.parametrize(
        "value", ["", " ", "0", "11", "8.5", "eight", "true", "null", "NaN", "1e999", "[8]", '"8"', AS_JUDGED]
    )
    def test_invalid_number_is_refused(self, value: str) -> None:
        assert entry(TEN, 8).decode(value) is None

    def test_hostile_number_is_refused(self) -> None:
        for value in ("9" * 5000, "-" * 5000, "[" * 100_000, "\0", "\ud800"):
            assert entry(TEN, "8").decode(value) is None


class TestEncode:
    @pytest.mark.parametrize("score", [None, "", "Maybe", 4, ["Yes"], {}, float("nan")])
    def test_score_that_cannot_be_entered_is_encoded_as_nothing(self, score: Any) -> None:
        assert entry().encode(score) == ""

    @pytest.mark.parametrize("value", ["", "Maybe", "yes", "4", AS_JUDGED, AS_IN_FILE])
    def test_unknown_value_is_refused(self, value: str) -> None:
        assert entry().decode(value) is None

    @pytest.mark.slow
    @given(SCALES, JSON | VALUES, JSON | VALUES)
    def test_every_choice_survives_a_form(self, scale: Scale, judged: Any, in_file: Any) -> None:
        found = entry(scale, judged, in_file)
        for choice in found.choices:
            assert found.encode(choice.score) == choice.value
            assert repr(found.decode(choice.value)) == repr(choice.score)

    @pytest.mark.slow
    @given(SCALES, JSON | VALUES, JSON | VALUES)
    def test_scores_of_judge_and_file_survive_a_form(self, scale: Scale, judged: Any, in_file: Any) -> None:
        found = entry(scale, judged, in_file)
        for given_score in (judged, in_file):
            if is_score(given_score):
                kept = found.decode(found.encode(given_score))
                assert kept is not None
                assert identity(kept) == identity(given_score)
            else:
                assert found.encode(given_score) == ""

    @pytest.mark.parametrize("score", [0, 0.0, "0", "0.0"])
    def test_number_written_as_text_is_that_of_its_button(self, score: Score) -> None:
        found = entry(WHOLE_FLOATS, "1.0")
        assert found.decode(found.encode(score)) == found.find(score) == "0.0"

    @given(RANGE_SCALES, st.none() | VALUES | st.sampled_from([1, 1.0, "1", " 01 "]), st.data())
    def test_every_number_of_a_range_survives_a_form(
        self, scale: RangeScale, judged: Any, data: st.DataObject
    ) -> None:
        found = entry(scale, judged)
        if scale.size is None:
            number: float = data.draw(st.floats(scale.minimum, scale.maximum))
        else:
            step = 1 if scale.step is None else scale.step
            place = data.draw(st.integers(0, min(scale.size - 1, 1000)))
            number = round(scale.minimum + place * step, 9)
        score = found.find(number)
        if score is not None:
            assert repr(found.decode(found.encode(score))) == repr(score)
            assert scale.amount(score) == number
        else:
            # The decimal of a float may be off the steps.
            assert scale.step is not None
            assert Fraction(repr(number)) != Fraction(repr(scale.minimum)) + place * Fraction(
                repr(scale.step)
            )

    @pytest.mark.slow
    @given(SCALES, JSON, st.text())
    def test_any_form_value_is_a_valid_score_or_refused(self, scale: Scale, judged: Any, value: str) -> None:
        found = entry(scale, judged)
        score = found.decode(value)
        assert score is None or found.find(score) == score
        assert found.requirement.endswith(".")

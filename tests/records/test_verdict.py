"""Verdict rules, and parsing of the verifier's message."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.scores import Score
from reviews.records.verdict import InvalidRule, VerdictRule, read_verification

MATCH = "Verification (SymPy): Match (Extracted: '1/2', Correct: '0.5')."
MISMATCH = "Verification (String): Mismatch (Extracted: '54', Correct: '60')."
NO_REFERENCE = "Verification (String): Mismatch (Extracted: '47.5', Correct: '')."
SKIPPED = "Verification skipped: Extracted answer was None."


class TestDefaultRule:
    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            (["Yes", "Yes"], "Pass"),
            (["Yes", "Partial", "Yes"], "Partial"),
            (["Partial", "No", "Yes"], "Fail"),
            (["No"], "Fail"),
            ([" yes ", "YES"], "Pass"),
            (["partial", "Yes"], "Partial"),
        ],
    )
    def test_worst_score_decides(self, scores: list[str], verdict: str) -> None:
        assert VerdictRule().aggregate(scores) == verdict

    @pytest.mark.parametrize(
        "scores",
        [[], [""], ["Yes", ""], ["No", None], ["Yes", 3], [True], ["Yes", "Maybe"], [["Yes"]], [{"a": "No"}]],
    )
    def test_verdict_is_none_without_scores_or_with_an_unknown_one(self, scores: list[Any]) -> None:
        assert VerdictRule().aggregate(scores) is None

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            ({"a": {"score": "No"}, "b": {"score": "Yes", "justification": "So."}}, "Fail"),
            ({"a": "Yes", "b": "Partial"}, "Partial"),
            ({"a": {"justification": "No score."}}, None),
            ({}, None),
            (None, None),
        ],
    )
    def test_verdict_reads_parsed_rubric_scores(self, scores: Any, verdict: str | None) -> None:
        assert VerdictRule().verdict(scores) == verdict


GRADES: dict[str, Any] = {
    "kind": "worst",
    "yes": ["Good", 1, True],
    "partial": ["Fair"],
    "no": ["Poor", "1", 0],
}


class TestWorstRule:
    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [
            (["good", "Good "], "Pass"),
            (["Good", "Fair"], "Partial"),
            (["Poor", "Good"], "Fail"),
            ([1], "Pass"),
            ([1.0], "Pass"),
            (["1"], "Fail"),
            ([True], "Pass"),
            ([0], "Fail"),
            ([False], None),
            (["Yes"], None),
        ],
    )
    def test_rule_distinguishes_json_types(self, scores: list[Score], verdict: str | None) -> None:
        assert VerdictRule.from_json(GRADES).aggregate(scores) == verdict

    def test_rule_gives_the_level_of_a_score(self) -> None:
        rule = VerdictRule.from_json(GRADES)
        assert [rule.level(score) for score in ("GOOD", "Fair", 0, False, None, ["Good"])] == [
            *("yes", "partial", "no"),
            *(None, None, None),
        ]


class TestMeanRule:
    rule = VerdictRule.from_json({"kind": "mean", "pass": 4, "partial": 2.5})

    @pytest.mark.parametrize(
        ("scores", "verdict"),
        [([4], "Pass"), ([5, 3], "Pass"), ([5, 2.9], "Partial"), ([1, 4], "Partial"), ([2, 2.9], "Fail")],
    )
    def test_mean_is_compared_with_thresholds(self, scores: list[Score], verdict: str) -> None:
        assert self.rule.aggregate(scores) == verdict

    @pytest.mark.parametrize("scores", [[], [4, None], [4, "4"], [4, True], [4, "Yes"], [float("nan")]])
    def test_mean_is_none_without_numbers(self, scores: list[Any]) -> None:
        assert self.rule.aggregate(scores) is None

    def test_mean_rule_gives_the_level_of_a_number(self) -> None:
        assert [self.rule.level(score) for score in (5, 3, 0, "5", True)] == [
            "yes",
            "partial",
            "no",
            None,
            None,
        ]


class TestRuleJson:
    @pytest.mark.parametrize(
        "data", [VerdictRule().as_json(), GRADES, {"kind": "mean", "pass": 4, "partial": 2.5}]
    )
    def test_rule_survives_json(self, data: dict[str, Any]) -> None:
        assert json.dumps(VerdictRule.from_json(data).as_json()) == json.dumps(data)

    def test_empty_data_give_the_default_rule(self) -> None:
        assert VerdictRule.from_json({}) == VerdictRule()

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ([], "The rule must be “worst” or “mean”."),
            (None, "The rule must be “worst” or “mean”."),
            ({"kind": "best"}, "The rule must be “worst” or “mean”."),
            ({"kind": "mean", "pass": 4}, "The rule must be “worst” or “mean”."),
            (
                {"kind": "mean", "pass": 2, "partial": 3},
                "The lowest mean of a Partial cannot be above that of a Pass.",
            ),
            (
                {"kind": "mean", "pass": "4", "partial": 3},
                "Enter two numbers: the lowest mean of a Pass, and of a Partial.",
            ),
            (
                {"kind": "mean", "pass": True, "partial": 0},
                "Enter two numbers: the lowest mean of a Pass, and of a Partial.",
            ),
            (
                {"kind": "worst", "yes": ["Yes"], "no": []},
                "At least one score must count as Yes, and one as No.",
            ),
            (
                {"kind": "worst", "yes": ["Yes"], "partial": ["no"], "no": [" NO "]},
                "“ NO ” has more than one level. “no” has more than one level.",
            ),
            (
                {"kind": "worst", "yes": ["Yes"], "no": [None]},
                "The scores of a rule must be non-blank strings, numbers or booleans.",
            ),
            (
                {"kind": "worst", "yes": "Yes", "no": ["No"]},
                "The scores of a rule must be non-blank strings, numbers or booleans.",
            ),
        ],
    )
    def test_invalid_rule_gives_problems(self, data: Any, problem: str) -> None:
        with pytest.raises(InvalidRule) as wrong:
            VerdictRule.from_json(data)
        assert str(wrong.value) == problem


SCALARS = st.text() | st.integers() | st.floats() | st.booleans() | st.none()


@given(st.lists(SCALARS), st.sampled_from([VerdictRule(), VerdictRule.from_json(GRADES), TestMeanRule.rule]))
def test_verdict_of_any_scores_is_the_worst_level(scores: list[Any], rule: VerdictRule) -> None:
    levels = [rule.level(score) for score in scores]
    verdict = rule.aggregate(scores)
    assert (verdict is None) == (not scores or None in levels)
    if verdict and rule.kind == "worst":
        assert verdict == ("Fail" if "no" in levels else "Partial" if "partial" in levels else "Pass")
    elif verdict:
        mean = sum(map(Fraction, scores)) / len(scores)
        assert verdict == ("Pass" if mean >= 4 else "Partial" if mean >= 2.5 else "Fail")


class TestReadVerification:
    def test_match_has_both_answers(self) -> None:
        assert read_verification(True, MATCH) == (
            "match",
            "1/2",
            "0.5",
            "The final answer matches the reference answer.",
        )

    def test_mismatch_has_both_answers(self) -> None:
        assert read_verification(False, MISMATCH) == (
            "mismatch",
            "54",
            "60",
            "The final answer does not match the reference answer.",
        )

    def test_verified_answer_can_contain_quotes_and_line_breaks(self) -> None:
        message = (
            "Verification (String): Mismatch (Extracted: 'f'(x) = ', Correct: ',\n', Correct: 'f''(x)')."
        )
        assert read_verification(False, message)[1:3] == ("f'(x) = ', Correct: ',\n", "f''(x)")

    @pytest.mark.parametrize("verified", [True, False, None])
    def test_empty_reference_is_no_reference(self, verified: bool | None) -> None:
        assert read_verification(verified, NO_REFERENCE) == (
            "no reference",
            "47.5",
            "",
            "No reference answer.",
        )

    def test_missing_reference_is_no_reference(self) -> None:
        found = read_verification(None, "Verification skipped: Correct answer was None.")
        assert (found.outcome, found.sentence) == ("no reference", "No reference answer.")

    def test_skipped_verification_gives_the_reason(self) -> None:
        sentence = "Not verified: no final answer was extracted."
        assert read_verification(None, SKIPPED) == ("skipped", None, None, sentence)
        assert read_verification(None, "Verification skipped: no time.").sentence == "Not verified: no time."
        assert read_verification(None, "Verification skipped:").sentence == "Not verified."

    def test_field_overrides_the_message(self) -> None:
        assert read_verification(True, MISMATCH).outcome == "match"
        assert read_verification(False, MATCH).outcome == "mismatch"
        assert read_verification(False, SKIPPED).outcome == "mismatch"

    def test_message_counts_if_the_field_is_null(self) -> None:
        assert read_verification(None, MISMATCH).outcome == "mismatch"
        assert read_verification(None, MATCH).outcome == "match"

    @pytest.mark.parametrize("message", [None, "", "By hand.", "Mismatch (Extracted: 'cut off"])
    def test_field_without_message_is_enough(self, message: str | None) -> None:
        assert read_verification(True, message)[:3] == ("match", None, None)
        assert read_verification(False, message)[:3] == ("mismatch", None, None)

    def test_verification_without_field_and_message_is_none(self) -> None:
        assert read_verification(None, None) == ("none", None, None, "")
        assert read_verification(None, "Not performed.") == ("none", None, None, "Not performed.")

    def test_sample_records_have_no_reference(self, sample: bytes) -> None:
        records = [json.loads(line) for line in sample.splitlines()]
        found = [
            read_verification(record["final_answer_verified"], record["verification_message"])
            for record in records
        ]
        assert [each.outcome for each in found].count("no reference") == 49
        assert [each.outcome for each in found].count("skipped") == 26
        assert all(each.extracted for each in found if each.outcome == "no reference")

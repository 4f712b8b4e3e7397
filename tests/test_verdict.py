"""Scores make a verdict, and a record tells where it contradicts itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cognireview.environment import BASE_DIR
from reviews.verdict import Contradiction, aggregate, contradictions, read_verification

SAMPLE = BASE_DIR.parent / "shared" / "data" / "cognibench-sample-75.jsonl"

MATCH = "Verification (SymPy): Match (Extracted: '1/2', Correct: '0.5')."
MISMATCH = "Verification (String): Mismatch (Extracted: '54', Correct: '60')."
NO_REFERENCE = "Verification (String): Mismatch (Extracted: '47.5', Correct: '')."
SKIPPED = "Verification skipped: Extracted answer was None."


class TestAggregate:
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
    def test_any_no_fails_and_any_partial_is_partial(self, scores: list[str], verdict: str) -> None:
        assert aggregate(scores) == verdict

    @pytest.mark.parametrize(
        "scores",
        [[], [""], ["Yes", ""], ["No", None], ["Yes", 3], [True], ["Yes", "Maybe"], [["Yes"]], [{"a": "No"}]],
    )
    def test_there_is_none_without_scores_or_with_a_blank_or_unknown_one(self, scores: list[Any]) -> None:
        assert aggregate(scores) is None


class TestReadVerification:
    def test_a_match_names_both_answers(self) -> None:
        assert read_verification(True, MATCH) == (
            "match",
            "1/2",
            "0.5",
            "The final answer matches the reference answer.",
        )

    def test_a_mismatch_names_both_answers(self) -> None:
        assert read_verification(False, MISMATCH) == (
            "mismatch",
            "54",
            "60",
            "The final answer does not match the reference answer.",
        )

    def test_an_answer_may_hold_quotes_and_line_breaks(self) -> None:
        message = (
            "Verification (String): Mismatch (Extracted: 'f'(x) = ', Correct: ',\n', Correct: 'f''(x)')."
        )
        assert read_verification(False, message)[1:3] == ("f'(x) = ', Correct: ',\n", "f''(x)")

    @pytest.mark.parametrize("verified", [True, False, None])
    def test_an_empty_reference_is_no_reference_whatever_came_of_it(self, verified: bool | None) -> None:
        assert read_verification(verified, NO_REFERENCE) == (
            "no reference",
            "47.5",
            "",
            "No reference answer.",
        )

    def test_a_missing_reference_is_no_reference(self) -> None:
        found = read_verification(None, "Verification skipped: Correct answer was None.")
        assert (found.outcome, found.sentence) == ("no reference", "No reference answer.")

    def test_skipped_says_why(self) -> None:
        sentence = "Not verified: no final answer was extracted."
        assert read_verification(None, SKIPPED) == ("skipped", None, None, sentence)
        assert read_verification(None, "Verification skipped: no time.").sentence == "Not verified: no time."
        assert read_verification(None, "Verification skipped:").sentence == "Not verified."

    def test_the_field_counts_more_than_the_words_of_the_message(self) -> None:
        assert read_verification(True, MISMATCH).outcome == "match"
        assert read_verification(False, MATCH).outcome == "mismatch"
        assert read_verification(False, SKIPPED).outcome == "mismatch"

    def test_the_message_counts_where_the_field_is_null(self) -> None:
        assert read_verification(None, MISMATCH).outcome == "mismatch"
        assert read_verification(None, MATCH).outcome == "match"

    @pytest.mark.parametrize("message", [None, "", "By hand.", "Mismatch (Extracted: 'cut off"])
    def test_the_field_is_enough(self, message: str | None) -> None:
        assert read_verification(True, message)[:3] == ("match", None, None)
        assert read_verification(False, message)[:3] == ("mismatch", None, None)

    def test_without_either_there_is_nothing_to_say(self) -> None:
        assert read_verification(None, None) == ("none", None, None, "")
        assert read_verification(None, "Not performed.") == ("none", None, None, "Not performed.")

    @pytest.mark.skipif(not SAMPLE.exists(), reason="the public sample is not beside the project")
    def test_no_record_of_the_sample_had_a_reference(self) -> None:
        records = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]
        found = [
            read_verification(record["final_answer_verified"], record["verification_message"])
            for record in records
        ]
        assert [each.outcome for each in found].count("no reference") == 49
        assert [each.outcome for each in found].count("skipped") == 26
        assert all(each.extracted for each in found if each.outcome == "no reference")


@dataclass
class Judged:
    """What a judge and a verifier left in a record."""

    aggregated_score: str | None = None
    final_answer_verified: bool | None = None
    verification_message: str | None = None


def scored(**words: str) -> Mapping[str, Any]:
    return {name: {"score": word, "justification": "For a reason."} for name, word in words.items()}


def only(found: list[Contradiction]) -> Contradiction:
    assert len(found) == 1
    return found[0]


class TestContradictions:
    def test_there_are_none_where_all_agree(self) -> None:
        scores = scored(correctness_of_final_answer="Yes", completeness="Partial")
        assert contradictions(Judged("Partial", True, MATCH), scores) == []
        scores = scored(correctness_of_final_answer="No", completeness="Yes")
        assert contradictions(Judged("Fail", False, MISMATCH), scores) == []

    def test_there_are_none_in_an_empty_record(self) -> None:
        assert contradictions(Judged(), {}) == []

    def test_a_verdict_that_its_scores_do_not_make(self) -> None:
        found = only(contradictions(Judged("Pass"), scored(completeness="Yes", rigor="No")))
        assert found == ("verdict", "The judge's verdict is Pass, but its scores make it Fail.")

    def test_scores_that_make_no_verdict_contradict_none(self) -> None:
        assert contradictions(Judged("Pass"), scored(completeness="4 of 5")) == []

    @pytest.mark.parametrize("criterion", ["correctness_of_final_answer", "Final Answer", "Correctness"])
    def test_a_judge_who_accepts_an_answer_that_the_verifier_rejects(self, criterion: str) -> None:
        found = only(contradictions(Judged("Pass", False, MISMATCH), scored(**{criterion: "Yes"})))
        assert found.kind == "verifier"
        assert found.sentence.startswith("“" + criterion[0].upper())
        assert found.sentence.endswith(
            "has Yes, but the verifier found that the final answer does not match the reference answer."
        )

    def test_a_judge_who_rejects_an_answer_that_the_verifier_accepts(self) -> None:
        scores = scored(correctness_of_final_answer="no", completeness="No")
        assert only(contradictions(Judged("Fail", True, MATCH), scores)) == (
            "verifier",
            (
                "“Correctness of final answer” has No, but the verifier found that the final answer matches"
                " the reference answer."
            ),
        )

    def test_a_pass_that_the_verifier_rejects_where_no_criterion_is_about_the_answer(self) -> None:
        found = only(contradictions(Judged("Pass", False, MISMATCH), scored(rigor="Yes")))
        assert found.kind == "verifier"
        assert found.sentence.startswith("The judge's verdict is Pass, but the verifier found")

    def test_a_verifier_that_had_nothing_to_compare_with(self) -> None:
        scores = scored(correctness_of_final_answer="Yes")
        assert only(contradictions(Judged("Pass", False, NO_REFERENCE), scores)) == (
            "no reference",
            "The verifier reports a mismatch, but there was no reference answer to compare with.",
        )

    @pytest.mark.parametrize("judged", [{"score": "No"}, {"score": "No", "justification": " "}])
    def test_a_no_without_a_justification(self, judged: dict[str, str]) -> None:
        found = only(contradictions(Judged("Fail"), {"rigor": judged}))
        assert found == ("justification", "“Rigor” has No, without a justification.")

    @pytest.mark.parametrize("judged", [None, "No", ["No"], {}, {"score": ["No"]}, {"score": 0}])
    def test_scores_of_another_shape_contradict_nothing(self, judged: Any) -> None:
        assert contradictions(Judged("Fail", False, MISMATCH), {"final answer": judged}) == []

"""Parsing of the verifier's message."""

import json

import pytest

from reviews.records.verification import read_verification

MATCH = "Verification (SymPy): Match (Extracted: '1/2', Correct: '0.5')."
MISMATCH = "Verification (String): Mismatch (Extracted: '54', Correct: '60')."
NO_REFERENCE = "Verification (String): Mismatch (Extracted: '47.5', Correct: '')."
SKIPPED = "Verification skipped: Extracted answer was None."


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

"""Contradictions within a record, and justifications that only praise."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records import contradictions
from reviews.records.contradictions import Contradiction, find_contradictions, is_praise
from reviews.records.rubric import Rubric, VerdictRule
from reviews.records.scales import RangeScale
from reviews.records.score_extraction import extract_scores

MATCH = "Verification (SymPy): Match (Extracted: '1/2', Correct: '0.5')."
MISMATCH = "Verification (String): Mismatch (Extracted: '54', Correct: '60')."
NO_REFERENCE = "Verification (String): Mismatch (Extracted: '47.5', Correct: '')."
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["score", "justification"]), inner),
    max_leaves=5,
)


@dataclass
class Judged:
    """The output of a judge and a verifier for one record."""

    aggregated_score: str | None = None
    final_answer_verified: bool | None = None
    verification_message: str | None = None


def scored(**words: str) -> Mapping[str, Any]:
    return {name: {"score": word, "justification": "For a reason."} for name, word in words.items()}


def found_in(judged: Judged, scores: Mapping[str, Any], *siblings: str) -> list[Contradiction]:
    return find_contradictions(judged, scores, Rubric(), siblings)


def only(found: list[Contradiction]) -> Contradiction:
    assert len(found) == 1
    return found[0]


class TestContradictions:
    def test_consistent_record_has_no_contradiction(self) -> None:
        scores = scored(correctness_of_final_answer="Yes", completeness="Partial")
        assert found_in(Judged("Partial", True, MATCH), scores) == []
        scores = scored(correctness_of_final_answer="No", completeness="Yes")
        assert found_in(Judged("Fail", False, MISMATCH), scores) == []

    def test_empty_record_has_no_contradiction(self) -> None:
        assert found_in(Judged(), {}) == []

    def test_verdict_that_differs_from_its_scores_contradicts_them(self) -> None:
        found = only(found_in(Judged("Pass"), scored(completeness="Yes", rigor="No")))
        assert found == ("verdict", "The judge's verdict is Pass, but its scores result in Fail.")

    def test_scores_without_a_verdict_contradict_no_verdict(self) -> None:
        assert found_in(Judged("Pass"), scored(completeness="4 of 5")) == []

    @pytest.mark.parametrize("criterion", ["correctness_of_final_answer", "Final Answer", "Correctness"])
    def test_judge_accepting_a_rejected_answer_contradicts_the_verifier(self, criterion: str) -> None:
        found = only(found_in(Judged("Pass", False, MISMATCH), scored(**{criterion: "Yes"})))
        assert found.kind == "verifier"
        assert found.sentence.startswith("“" + criterion[0].upper())
        assert found.sentence.endswith(
            "has Yes, but the verifier found that the final answer does not match the reference answer."
        )

    def test_judge_rejecting_an_accepted_answer_contradicts_the_verifier(self) -> None:
        scores = scored(correctness_of_final_answer="no", completeness="No")
        assert only(found_in(Judged("Fail", True, MATCH), scores)) == (
            "verifier",
            (
                "“Correctness of final answer” has no, but the verifier found that the final answer matches"
                " the reference answer."
            ),
        )

    def test_pass_contradicts_the_verifier_without_a_criterion_about_the_answer(self) -> None:
        found = only(found_in(Judged("Pass", False, MISMATCH), scored(rigor="Yes")))
        assert found.kind == "verifier"
        assert found.sentence.startswith("The judge's verdict is Pass, but the verifier found")

    @pytest.mark.parametrize("score", ["Yes", "Partial", "No"])
    @pytest.mark.parametrize("verdict", ["Pass", "Fail"])
    def test_verifier_without_a_reference_contradicts_nothing(self, score: str, verdict: str) -> None:
        scores = scored(correctness_of_final_answer=score)
        kinds = {found.kind for found in found_in(Judged(verdict, False, NO_REFERENCE), scores)}
        assert kinds <= {"verdict"}

    @pytest.mark.parametrize("judged", [{"score": "No"}, {"score": "No", "justification": " "}])
    def test_no_without_a_justification_is_reported(self, judged: dict[str, str]) -> None:
        found = only(found_in(Judged("Fail"), {"rigor": judged}))
        assert found == ("justification", "“Rigor” has No, without a justification.")

    @pytest.mark.parametrize("judged", [None, "No", ["No"], {}, {"score": ["No"]}, {"score": 0}])
    def test_scores_of_another_shape_contradict_nothing(self, judged: Any) -> None:
        assert found_in(Judged("Fail", False, MISMATCH), {"final answer": judged}) == []

    def test_no_with_a_praising_justification_is_reported(self) -> None:
        scores = {"rigor": {"score": "No", "justification": "Each step is correct and clearly explained."}}
        assert only(found_in(Judged("Fail"), scores)) == (
            "justification",
            "“Rigor” has No, but its justification finds no fault.",
        )
        assert found_in(Judged("Pass"), {"rigor": scores["rigor"] | {"score": "Yes"}}) == []

    def test_criterion_that_siblings_have_is_reported_as_missing(self) -> None:
        scores = {**scored(rigor="Yes"), "clarity": {"score": None}}
        assert found_in(Judged(), scores, "rigor") == []
        sentence = "“Clarity” has no score here; other records of this task have one."
        assert found_in(Judged(), scores, "rigor", "clarity") == [("missing", sentence)]
        sentence = "“Clarity”, “Style” have no score here; other records of this task have one."
        assert found_in(Judged(), scores, "clarity", "style") == [("missing", sentence)]

    def test_only_some_of_many_missing_criteria_are_named(self) -> None:
        found = only(found_in(Judged(), scored(rigor="Yes"), *"abcdefg"))
        assert found.sentence.startswith("“A”, “B”, “C”, “D”, “E” and 2 more have no score here")

    def test_record_without_scores_misses_no_criteria(self) -> None:
        assert found_in(Judged(), {}, "rigor") == []

    def test_contradictions_use_the_verdict_rule_of_the_run(self) -> None:
        rubric = Rubric(scale=RangeScale(1, 5), rule=VerdictRule("mean", 4, 2))
        scores = {"final answer": {"score": 5, "justification": "Right."}, "rigor": {"score": 1}}
        assert find_contradictions(Judged("Pass", False, MISMATCH), scores, rubric) == [
            ("verdict", "The judge's verdict is Pass, but its scores result in Partial."),
            (
                "verifier",
                (
                    "“Final answer” has 5, but the verifier found that the final answer does not match the"
                    " reference answer."
                ),
            ),
            ("justification", "“Rigor” has 1, without a justification."),
        ]


def test_sample_has_no_contradiction_to_its_verifier_without_reference(sample: bytes) -> None:
    kinds: Counter[str] = Counter()
    for written in sample.splitlines():
        record = json.loads(written)
        scores = {
            proposal.criterion: {"score": proposal.score, "justification": proposal.justification}
            for proposal in extract_scores(record["raw_judge_output"]).proposals
        }
        judged = Judged(*(record[field.name] for field in fields(Judged)))
        kinds.update(found.kind for found in find_contradictions(judged, scores, Rubric(), scores))
    assert kinds == {}


@pytest.mark.slow
@given(st.text(), st.dictionaries(st.text(), JSON), st.lists(st.text()))
def test_any_record_can_be_checked_for_contradictions(
    message: str, scores: dict[str, Any], siblings: list[str]
) -> None:
    for found in find_contradictions(Judged("Pass", False, message), scores, Rubric(), siblings):
        assert found.sentence.endswith(".")


@pytest.mark.parametrize(
    "justification",
    [
        "The final answer is correct.",
        "All steps are present and fully justified.",
        "The model correctly identifies both roots and clearly explains each step.",
        "The results match the correct values.",
        "There are no errors in the derivation.",
        "It is completely accurate, without any mistakes.",
    ],
)
def test_praise_is_detected(justification: str) -> None:
    assert is_praise(justification)


@pytest.mark.parametrize(
    "justification",
    [
        "",
        "The final answer is 54.",
        "The model does not correctly identify the pattern.",
        "It doesn't clearly state what it assumes.",
        "It doesn\u2019t clearly state what it assumes.",
        "The steps are correct, but the answer is off by one.",
        "The steps are correct. However, the last one lacks a reason.",
        "The setup is valid; the sign in step 3 is wrong.",
        "The ideal response correctly identifies two singularities.",
        "The method is correct until step 4.",
        "Only the first root is correct.",
        "There are no errors, yet two cases are missing.",
        "The result is incorrect.",
        "The model is overconfident in what is correct and misinterprets the rest.",
    ],
)
def test_text_with_a_fault_is_no_praise(justification: str) -> None:
    assert not is_praise(justification)


@pytest.mark.slow
@given(st.from_regex(contradictions._PRAISE))
def test_each_praise_has_a_sign_of_praise(text: str) -> None:
    assert any(sign in text for sign in contradictions._SIGNS)

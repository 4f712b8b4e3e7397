"""A record tells where it contradicts itself."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.contradictions import Contradiction, find_contradictions
from reviews.records.score_extraction import extract_scores
from reviews.records.verdict import VerdictRule

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
    return find_contradictions(judged, scores, VerdictRule(), siblings)


def only(found: list[Contradiction]) -> Contradiction:
    assert len(found) == 1
    return found[0]


class TestContradictions:
    def test_there_are_none_where_all_agree(self) -> None:
        scores = scored(correctness_of_final_answer="Yes", completeness="Partial")
        assert found_in(Judged("Partial", True, MATCH), scores) == []
        scores = scored(correctness_of_final_answer="No", completeness="Yes")
        assert found_in(Judged("Fail", False, MISMATCH), scores) == []

    def test_there_are_none_in_an_empty_record(self) -> None:
        assert found_in(Judged(), {}) == []

    def test_a_verdict_that_its_scores_do_not_make(self) -> None:
        found = only(found_in(Judged("Pass"), scored(completeness="Yes", rigor="No")))
        assert found == ("verdict", "The judge's verdict is Pass, but its scores result in Fail.")

    def test_scores_that_make_no_verdict_contradict_none(self) -> None:
        assert found_in(Judged("Pass"), scored(completeness="4 of 5")) == []

    @pytest.mark.parametrize("criterion", ["correctness_of_final_answer", "Final Answer", "Correctness"])
    def test_a_judge_who_accepts_an_answer_that_the_verifier_rejects(self, criterion: str) -> None:
        found = only(found_in(Judged("Pass", False, MISMATCH), scored(**{criterion: "Yes"})))
        assert found.kind == "verifier"
        assert found.sentence.startswith("“" + criterion[0].upper())
        assert found.sentence.endswith(
            "has Yes, but the verifier found that the final answer does not match the reference answer."
        )

    def test_a_judge_who_rejects_an_answer_that_the_verifier_accepts(self) -> None:
        scores = scored(correctness_of_final_answer="no", completeness="No")
        assert only(found_in(Judged("Fail", True, MATCH), scores)) == (
            "verifier",
            (
                "“Correctness of final answer” has no, but the verifier found that the final answer matches"
                " the reference answer."
            ),
        )

    def test_a_pass_that_the_verifier_rejects_where_no_criterion_is_about_the_answer(self) -> None:
        found = only(found_in(Judged("Pass", False, MISMATCH), scored(rigor="Yes")))
        assert found.kind == "verifier"
        assert found.sentence.startswith("The judge's verdict is Pass, but the verifier found")

    def test_a_verifier_that_had_nothing_to_compare_with(self) -> None:
        scores = scored(correctness_of_final_answer="No")
        assert only(found_in(Judged("Fail", False, NO_REFERENCE), scores)) == (
            "no reference",
            "The verifier reports a mismatch, but there was no reference answer to compare with.",
        )

    def test_a_judge_who_accepts_what_a_verifier_without_reference_rejects(self) -> None:
        scores = scored(correctness_of_final_answer="Yes")
        accepted, empty = found_in(Judged("Pass", False, NO_REFERENCE), scores)
        assert (accepted.kind, empty.kind) == ("verifier", "no reference")
        assert accepted.sentence == (
            "“Correctness of final answer” has Yes, but the verifier reports a mismatch: with an empty"
            " reference, which says nothing."
        )

    @pytest.mark.parametrize("judged", [{"score": "No"}, {"score": "No", "justification": " "}])
    def test_a_no_without_a_justification(self, judged: dict[str, str]) -> None:
        found = only(found_in(Judged("Fail"), {"rigor": judged}))
        assert found == ("justification", "“Rigor” has No, without a justification.")

    @pytest.mark.parametrize("judged", [None, "No", ["No"], {}, {"score": ["No"]}, {"score": 0}])
    def test_scores_of_another_shape_contradict_nothing(self, judged: Any) -> None:
        assert found_in(Judged("Fail", False, MISMATCH), {"final answer": judged}) == []

    def test_a_no_whose_justification_finds_no_fault(self) -> None:
        scores = {"rigor": {"score": "No", "justification": "Each step is correct and clearly explained."}}
        assert only(found_in(Judged("Fail"), scores)) == (
            "justification",
            "“Rigor” has No, but its justification finds no fault.",
        )
        assert found_in(Judged("Pass"), {"rigor": scores["rigor"] | {"score": "Yes"}}) == []

    def test_criteria_that_other_records_of_the_task_have(self) -> None:
        scores = {**scored(rigor="Yes"), "clarity": {"score": None}}
        assert found_in(Judged(), scores, "rigor") == []
        sentence = "“Clarity” has no score here; other records of this task have one."
        assert found_in(Judged(), scores, "rigor", "clarity") == [("missing", sentence)]
        sentence = "“Clarity”, “Style” have no score here; other records of this task have one."
        assert found_in(Judged(), scores, "clarity", "style") == [("missing", sentence)]

    def test_of_many_missing_criteria_a_few_are_named(self) -> None:
        found = only(found_in(Judged(), scored(rigor="Yes"), *"abcdefg"))
        assert found.sentence.startswith("“A”, “B”, “C”, “D”, “E” and 2 more have no score here")

    def test_nothing_is_missing_where_nothing_was_read(self) -> None:
        assert found_in(Judged(), {}, "rigor") == []

    def test_scores_count_as_the_rule_of_the_run_says(self) -> None:
        rule = VerdictRule.from_json({"kind": "mean", "pass": 4, "partial": 2})
        scores = {"final answer": {"score": 5, "justification": "Right."}, "rigor": {"score": 1}}
        assert find_contradictions(Judged("Pass", False, MISMATCH), scores, rule) == [
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


def test_the_sample_has_eleven_answers_accepted_against_a_verifier_without_reference(sample: bytes) -> None:
    kinds: Counter[str] = Counter()
    for written in sample.splitlines():
        record = json.loads(written)
        scores = {
            proposal.criterion: {"score": proposal.score, "justification": proposal.justification}
            for proposal in extract_scores(record["raw_judge_output"]).proposals
        }
        judged = Judged(*(record[field.name] for field in fields(Judged)))
        kinds.update(found.kind for found in find_contradictions(judged, scores, VerdictRule(), scores))
    assert kinds == {"no reference": 49, "verifier": 11}


@given(st.text(), st.dictionaries(st.text(), JSON), st.lists(st.text()))
def test_whatever_a_record_holds_can_be_looked_at(
    message: str, scores: dict[str, Any], siblings: list[str]
) -> None:
    for found in find_contradictions(Judged("Pass", False, message), scores, VerdictRule(), siblings):
        assert found.sentence.endswith(".")

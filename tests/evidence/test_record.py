"""The evidence that a reviewer sees for a record."""

from typing import Any

import pytest

from reviews.evidence.record import Evidence, Response, read_evidence, summarise_decision
from reviews.models import Evaluation
from reviews.records.responses import ResponsePart
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db


def evidence(**fields: Any) -> Evidence:
    record = EvaluationFactory.build(**fields)
    return read_evidence(record, read_proposals(record, run_rubric(record.run)))


def test_parsing_error_is_listed_once() -> None:
    reasons = ["LLM response parsing failed: No JSON."]
    assert evidence(review_reasons=reasons, parsing_error="No JSON.").reasons == reasons
    assert evidence(review_reasons=[], parsing_error="No JSON.").reasons == ["Parsing error: No JSON."]


def test_number_of_listed_reasons_is_limited() -> None:
    found = evidence(review_reasons=["again"] * 5000).reasons
    assert (len(found), found[-1]) == (31, "And 4,970 more in the full record.")


def test_missing_reference_is_no_contradiction() -> None:
    found = evidence(
        parsed_rubric_scores={"Clarity": {"score": "Yes", "justification": "."}},
        aggregated_score="Pass",
        verification_message="Verification (String): Mismatch (Extracted: '1/2', Correct: '').",
    )
    assert found.verification.sentence == "No reference answer."
    assert found.contradictions == []


def test_contradiction_is_part_of_evidence() -> None:
    found = evidence(aggregated_score="Pass", parsed_rubric_scores={"Clarity": {"score": "No"}})
    assert "verdict" in [contradiction.kind for contradiction in found.contradictions]


@pytest.mark.parametrize(
    ("raw", "parsed", "pane"),
    [
        ('{"Depth": {"score": "No", "justification": "."}}', {}, "compare"),
        ('{"Depth": {"score": null, "justification": "."}}', {}, "raw"),
        ("no scores", {}, "raw"),
        ("no scores", {"Depth": {"score": "No"}}, "compare"),
        ("no scores", {"Depth": {"score": None}}, "raw"),
        ("no scores", {"Depth": {"Accuracy": {"score": 4}}}, "raw"),
    ],
)
def test_raw_output_opens_if_scores_could_not_be_extracted(raw: str, parsed: Any, pane: str) -> None:
    found = evidence(
        raw_judge_output={"raw_content": raw},
        parsed_rubric_scores=parsed,
        structured_model_response={"final_answer": "54"},
        structured_ideal_response={"final_answer": "60"},
    )
    assert found.first_pane == pane


def test_answers_of_the_verifier_are_listed_where_the_comparison_has_others() -> None:
    answers = {
        "structured_model_response": {"final_answer": r"\(54\)"},
        "structured_ideal_response": {"final_answer": "60"},
    }
    message = "Mismatch (Extracted: '54', Correct: '{}')"
    found = evidence(verification_message=message.format("60"), **answers)
    assert (found.has_answer_row, found.verifier_differs) == (True, [])
    found = evidence(verification_message=message.format("61"), **answers)
    assert found.verifier_differs == [("reference", "61")]
    found = evidence(verification_message=message.format("61"), structured_model_response=None)
    assert (found.has_answer_row, found.verifier_differs) == (False, [])


def test_fields_include_extra_for_unknown_ones() -> None:
    names = [name for name, _ in evidence(extra={"cost": 1}).fields]
    assert len(names) == 24
    assert names[-1] == "extra"


class TestTaskContext:
    """Task context complements records without responses."""

    @pytest.fixture
    def record(self) -> Evaluation:
        return EvaluationFactory.create(
            task_id="7",
            model_id="o1",
            structured_model_response=None,
            structured_ideal_response=None,
            verification_message="Mismatch (Extracted: '54', Correct: '')",
        )

    def read(self, record: Evaluation) -> Evidence:
        return read_evidence(record, read_proposals(record, run_rubric(record.run)))

    def test_record_without_context_shows_raw_output(self, record: Evaluation) -> None:
        found = self.read(record)
        assert (found.panes, found.first_pane, found.has_responses) == (["raw"], "raw", False)

    def test_context_provides_question_response_and_reference(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        found = self.read(record)
        assert found.question.prompt == "What is $6 \\cdot 10$?"
        assert found.question.origin == found.model.origin == found.ideal.origin == "from the task context"
        assert found.panes == ["compare", "model", "ideal", "raw"]
        assert found.model.parts == [ResponsePart("Response", text="It is 54.")]
        assert [part.source for part in found.ideal.parts] == ["60", "It is 60."]
        assert [part.source for part in found.question.facts] == ["Algebra"]

    def test_context_answer_is_compared_with_extracted_one(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        answer = self.read(record).rows[0]
        assert [part.source for part in (*answer.model, *answer.ideal)] == ["54", "60"]
        assert answer.model[0].note == "as the verifier extracted it"

    def test_reference_of_context_is_not_attributed_to_verifier(self, record: Evaluation) -> None:
        bring(task())
        found = self.read(record)
        assert (found.verification.outcome, found.reference) == ("no reference", "60")

    def test_responses_of_record_precede_context(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        record.structured_model_response, record.structured_ideal_response = "It is 1.", {"final_answer": "2"}
        found = self.read(record)
        assert found.model == Response([ResponsePart("Response", text="It is 1.")], title="Model")
        assert found.ideal == Response([ResponsePart("Final answer", text="2")], title="Reference")


def test_decision_is_compared_with_the_judge() -> None:
    record = EvaluationFactory.build(
        parsed_rubric_scores={"Clarity": {"score": "No", "justification": "Vague."}, "Depth": {"score": 4}},
        aggregated_score=None,
        human_corrected_scores={"Clarity": {"score": "Yes", "justification": "Clear."}, "Style": "Yes"},
    )
    found = summarise_decision(record, read_proposals(record, run_rubric(record.run)))
    assert [(row.title, row.judge, row.human, row.text, row.differs) for row in found.rows] == [
        ("Clarity", "No", "Yes", "Clear.", True),
        ("Depth", "4", "", "", False),
        ("Style", "", "Yes", "", True),
    ]
    assert found.verdict == "Pass"


def test_verdict_without_decision_is_the_judges() -> None:
    record = EvaluationFactory.build(aggregated_score="Fail")
    assert summarise_decision(record, read_proposals(record, run_rubric(record.run))).verdict == "Fail"

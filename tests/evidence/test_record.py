"""What a reviewer gets to judge by."""

from typing import Any

import pytest

from reviews.evidence.record import Evidence, Response, read_evidence, summarise_decision
from reviews.models import Evaluation
from reviews.records.responses import ResponsePart
from reviews.rubric import definition
from reviews.rubric.proposals import read_proposals
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db


def evidence(**fields: Any) -> Evidence:
    record = EvaluationFactory.build(**fields)
    return read_evidence(record, read_proposals(record, definition.of(record.run)))


def test_the_parsing_error_is_not_said_twice() -> None:
    reasons = ["LLM response parsing failed: No JSON."]
    assert evidence(review_reasons=reasons, parsing_error="No JSON.").reasons == reasons
    assert evidence(review_reasons=[], parsing_error="No JSON.").reasons == ["Parsing error: No JSON."]


def test_thousands_of_reasons_are_counted_not_listed() -> None:
    found = evidence(review_reasons=["again"] * 5000).reasons
    assert (len(found), found[-1]) == (31, "And 4,970 more in the full record.")


def test_a_missing_reference_is_said_once_and_is_no_mismatch() -> None:
    found = evidence(
        parsed_rubric_scores={"Clarity": {"score": "Yes", "justification": "."}},
        aggregated_score="Pass",
        verification_message="Verification (String): Mismatch (Extracted: '1/2', Correct: '').",
    )
    assert found.verification.sentence == "No reference answer."
    assert found.contradictions == []


def test_a_contradiction_is_found() -> None:
    found = evidence(aggregated_score="Pass", parsed_rubric_scores={"Clarity": {"score": "No"}})
    assert "verdict" in [contradiction.kind for contradiction in found.contradictions]


def test_all_fields_are_there_and_the_unknown_ones_together() -> None:
    names = [name for name, _ in evidence(extra={"cost": 1}).fields]
    assert len(names) == 24
    assert names[-1] == "extra"


class TestTaskContext:
    """What a file of task context adds to a record that has little of its own."""

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
        return read_evidence(record, read_proposals(record, definition.of(record.run)))

    def test_without_it_raw_output_is_all_there_is(self, record: Evaluation) -> None:
        found = self.read(record)
        assert (found.panes, found.first_pane, found.has_responses) == (["raw"], "raw", False)

    def test_it_gives_the_question_the_answer_and_the_reference(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        found = self.read(record)
        assert found.question == "What is $6 \\cdot 10$?"
        assert found.panes == ["compare", "question", "model", "ideal", "raw"]
        assert found.model == Response([ResponsePart("Response", text="It is 54.")], "from the task context")
        assert [part.source for part in found.ideal.parts] == ["60", "It is 60."]
        assert [part.source for part in found.facts] == ["Algebra"]

    def test_its_answer_is_compared_with_what_the_verifier_extracted(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        answer = self.read(record).rows[0]
        assert [part.source for part in (*answer.model, *answer.ideal)] == ["54", "60"]
        assert answer.model[0].note == "as the verifier extracted it"

    def test_the_verifier_is_not_said_to_have_had_its_reference(self, record: Evaluation) -> None:
        bring(task())
        found = self.read(record)
        assert (found.verification.outcome, found.reference) == ("no reference", "60")

    def test_the_record_itself_comes_first(self, record: Evaluation) -> None:
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        record.structured_model_response, record.structured_ideal_response = "It is 1.", {"final_answer": "2"}
        found = self.read(record)
        assert found.model == Response([ResponsePart("Response", text="It is 1.")])
        assert found.ideal == Response([ResponsePart("Final answer", text="2")])


def test_a_decision_stands_beside_the_judges() -> None:
    record = EvaluationFactory.build(
        parsed_rubric_scores={"Clarity": {"score": "No", "justification": "Vague."}, "Depth": {"score": 4}},
        aggregated_score=None,
        human_corrected_scores={"Clarity": {"score": "Yes", "justification": "Clear."}, "Style": "Yes"},
    )
    found = summarise_decision(record, read_proposals(record, definition.of(record.run)))
    assert [(row.title, row.judge, row.human, row.text, row.differs) for row in found.rows] == [
        ("Clarity", "No", "Yes", "Clear.", True),
        ("Depth", "4", "", "", False),
        ("Style", "", "Yes", "", True),
    ]
    assert found.verdict == "Pass"


def test_without_a_decision_the_judges_verdict_stands() -> None:
    record = EvaluationFactory.build(aggregated_score="Fail")
    assert summarise_decision(record, read_proposals(record, definition.of(record.run))).verdict == "Fail"

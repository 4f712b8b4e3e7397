"""Actions on a record over the API: skip, escalate, reopen, restore, revise, adjudicate."""

from typing import Any

import pytest

from reviews.models import Escalation, Evaluation, User
from reviews.queue import claims
from tests.support.api_requests import Program, path_of
from tests.support.factories import SCORES, EvaluationFactory, RunFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db

YES: dict[str, Any] = {"corrected_scores": {name: {"score": "Yes"} for name in SCORES}, "comments": "Fine."}
NO: dict[str, Any] = {"corrected_scores": {name: {"score": "No"} for name in SCORES}, "comments": "Wrong."}


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create(parsed_rubric_scores=SCORES)


def put(program: Program, record: Evaluation, operation: str, sent: dict[str, Any], key: str = "one") -> Any:
    return program.ask("PUT", path_of(record, operation), sent, Idempotency_Key=key)


def of_run(record: Evaluation, list_name: str) -> str:
    return f"runs/{record.run.name}/{list_name}/{record.evaluation_id}"


class TestQueue:
    def test_record_is_claimed_and_claim_is_renewed(self, record: Evaluation, of_ana: Program) -> None:
        first, second = (of_ana.ask("POST", path_of(record, "claim")).json() for _ in range(2))
        assert first["claimed_by"] == second["claimed_by"] == "ana"

    def test_only_leads_take_over_a_claim(
        self, record: Evaluation, of_ana: Program, of_lea: Program, bo: User
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        wanted = {"take_over": True}
        assert of_ana.ask("POST", path_of(record, "claim")).status_code == 409
        assert of_ana.ask("POST", path_of(record, "claim"), wanted).status_code == 403
        assert of_lea.ask("POST", path_of(record, "claim"), wanted).json()["claimed_by"] == "lea"

    def test_skipped_record_is_not_served_until_it_is_unskipped(
        self, record: Evaluation, of_ana: Program
    ) -> None:
        queue = f"runs/{record.run.name}/claims"
        assert of_ana.ask("PUT", path_of(record, "skip")).status_code == 204
        assert of_ana.ask("POST", queue).status_code == 204
        assert of_ana.ask("DELETE", path_of(record, "skip")).status_code == 204
        assert of_ana.ask("POST", queue).status_code == 200

    def test_all_skipped_records_are_returned(self, record: Evaluation, of_ana: Program) -> None:
        of_ana.ask("PUT", path_of(record, "skip"))
        assert of_ana.ask("DELETE", f"runs/{record.run.name}/skips").status_code == 204
        assert of_ana.ask("POST", f"runs/{record.run.name}/claims").status_code == 200


class TestEscalation:
    def test_question_goes_to_a_lead(self, record: Evaluation, of_ana: Program) -> None:
        sent = {"kind": "question", "note": "Is it 2?"}
        assert of_ana.ask("POST", path_of(record, "escalation"), sent).status_code == 200
        raised = Escalation.objects.get()
        assert (raised.kind, raised.reason, raised.note) == ("question", "question", "Is it 2?")

    @pytest.mark.parametrize(("sent", "field"), [({"kind": "question"}, "note"), ({}, "reason")])
    def test_escalation_without_words_is_refused(
        self, sent: dict[str, Any], field: str, record: Evaluation, of_ana: Program
    ) -> None:
        answer = of_ana.ask("POST", path_of(record, "escalation"), sent)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


class TestDecided:
    @pytest.mark.slow
    def test_decision_is_revised_once_per_key(self, record: Evaluation, ana: User, of_ana: Program) -> None:
        decide(record, ana)
        first, again = (put(of_ana, record, "revision", NO).json() for _ in range(2))
        assert first == again
        assert (first["outcome"], first["decision"]["version"]) == ("current", 2)
        assert put(of_ana, record, "revision", YES).status_code == 422

    def test_revision_of_a_record_in_the_queue_or_of_another_is_refused(
        self, record: Evaluation, ana: User, of_ana: Program, bo: User
    ) -> None:
        assert put(of_ana, record, "revision", NO).status_code == 403
        decide(record, bo)
        assert put(of_ana, record, "revision", NO).status_code == 403

    @pytest.mark.slow
    def test_reopened_record_is_in_the_queue(self, record: Evaluation, ana: User, of_ana: Program) -> None:
        decide(record, ana)
        assert of_ana.ask("POST", path_of(record, "reopening"), {"reason": " "}).status_code == 422
        answer = of_ana.ask("POST", path_of(record, "reopening"), {"reason": "A typo."})
        assert answer.json()["status"] == "Needs Review"
        assert of_ana.ask("POST", path_of(record, "reopening"), {"reason": "Again."}).status_code == 409

    @pytest.mark.slow
    def test_versions_are_listed_and_restored(self, record: Evaluation, ana: User, of_ana: Program) -> None:
        decide(record, ana)
        put(of_ana, record, "revision", NO)
        sent = {"restored": 1, "reason": "It was right."}
        answer = of_ana.ask("POST", path_of(record, "restoration"), sent, Idempotency_Key="two")
        assert answer.json()["decision"]["version"] == 3
        found = of_ana.get(of_run(record, "decisions")).json()
        assert [(one["version"], one["state"]) for one in found] == [
            (3, "current"),
            (2, "superseded"),
            (1, "superseded"),
        ]
        assert found[0]["corrected_scores"] == found[2]["corrected_scores"]
        unknown = of_ana.ask(
            "POST", path_of(record, "restoration"), sent | {"restored": 9}, Idempotency_Key="3"
        )
        assert unknown.json()["errors"][0]["field"] == "restored"

    def test_versions_of_a_blind_record_are_refused(self, of_ana: Program) -> None:
        blind = EvaluationFactory.create(
            run=RunFactory.create(blind_share=1),
            parsed_rubric_scores=SCORES,
            structured_model_response={"final_answer": "2"},
        )
        assert of_ana.get(of_run(blind, "decisions")).status_code == 403


@pytest.mark.slow
class TestIndependentReviews:
    @pytest.fixture
    def record(self) -> Evaluation:
        run = RunFactory.create(overlap=2, overlap_share=1)
        return EvaluationFactory.create(run=run, parsed_rubric_scores=SCORES)

    def test_reviews_are_sealed_until_a_lead_adjudicates(
        self, record: Evaluation, of_ana: Program, of_bo: Program, of_lea: Program
    ) -> None:
        put(of_ana, record, "review", YES)
        assert of_bo.get(of_run(record, "decisions")).json() == []
        assert of_bo.get(of_run(record, "independent-reviews")).status_code == 403
        assert of_lea.get(of_run(record, "independent-reviews")).json() == []
        assert of_bo.ask("POST", path_of(record, "adjudication")).status_code == 403
        found = of_lea.ask("POST", path_of(record, "adjudication")).json()
        assert [one["reviewer"] for one in found] == ["ana"]
        assert of_lea.get(of_run(record, "independent-reviews")).json() == found
        assert put(of_lea, record, "review", NO).json()["outcome"] == "current"

    def test_lead_claims_and_decides_a_disagreement(
        self, record: Evaluation, of_ana: Program, of_bo: Program, of_lea: Program
    ) -> None:
        put(of_ana, record, "review", YES)
        assert put(of_bo, record, "review", NO).json()["outcome"] == "disagreement"
        assert of_lea.get(of_run(record, "independent-reviews")).json() == []
        of_lea.ask("POST", path_of(record, "claim"))
        found = of_lea.get(of_run(record, "independent-reviews")).json()
        assert [(one["reviewer"], one["verdict"]) for one in found] == [("ana", "Pass"), ("bo", "Fail")]
        assert put(of_lea, record, "review", YES).json()["outcome"] == "current"

    def test_late_review_that_differs_is_a_disagreement(
        self, ana: User, of_ana: Program, of_bo: Program
    ) -> None:
        record = EvaluationFactory.create(parsed_rubric_scores=SCORES)
        assert put(of_bo, record, "independent-review", NO).status_code == 409
        decide(record, ana)
        assert put(of_ana, record, "independent-review", NO).status_code == 409
        first, again = (put(of_bo, record, "independent-review", NO, "two").json() for _ in range(2))
        assert first == again
        assert first["outcome"] == "disagreement"

"""Escalations to a lead: raising, withdrawing and resolving them."""

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Escalation, Evaluation, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import drafts, escalations, undo
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana has claimed."""
    return claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def raise_it(evaluation: Evaluation, reviewer: User, reason: str = "no reference") -> Escalation:
    return escalations.escalate(
        evaluation_id=evaluation.pk,
        reviewer=reviewer,
        kind="cannot judge",
        reason=reason,
        note="What is asked?",
    )


def resolve(raised: Escalation, actor: User, outcome: str, answer: str = "") -> None:
    escalations.resolve(escalation_id=raised.pk, actor=actor, outcome=outcome, answer=answer)


class TestEscalate:
    def test_escalate_removes_the_record_from_every_queue(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        for person in (ana, bo, lea):
            assert claims.claim_next(run=evaluation.run, reviewer=person) is None
        assert escalations.find_open(evaluation) == raised
        evaluation.refresh_from_db()
        assert (evaluation.claimed_by, evaluation.human_review_status) == (None, "Needs Review")

    def test_escalated_record_can_be_claimed_by_leads_only(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raise_it(evaluation, ana)
        with pytest.raises(RecordUnavailable, match=r"^ana sent this to a lead at \d\d:\d\d UTC\.$"):
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert claims.claim(evaluation_id=evaluation.pk, reviewer=lea).claimed_by == lea

    def test_escalation_keeps_reason_and_note(self, evaluation: Evaluation, ana: User) -> None:
        raised = raise_it(evaluation, ana)
        event = AuditEvent.objects.get(action="escalate")
        said = {"kind": "cannot judge", "reason": "no reference", "note": "What is asked?"}
        assert event.detail == said | {"escalation": raised.pk}

    def test_escalating_a_record_claimed_by_another_is_refused(
        self, evaluation: Evaluation, bo: User
    ) -> None:
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since"):
            raise_it(evaluation, bo)

    def test_second_escalation_is_refused(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        raise_it(evaluation, ana)
        for person in (ana, lea):
            with pytest.raises(RecordUnavailable):
                raise_it(evaluation, person)

    def test_escalation_is_denied_to_people_without_a_role(self, eve: User) -> None:
        with pytest.raises(Denied):
            raise_it(EvaluationFactory.create(), eve)


class TestWithdraw:
    def test_withdrawal_returns_the_record_to_its_reviewer(self, evaluation: Evaluation, ana: User) -> None:
        raised = raise_it(evaluation, ana)
        assert escalations.withdraw(escalation_id=raised.pk, actor=ana) == evaluation
        assert claims.claim_next(run=evaluation.run, reviewer=ana) == evaluation
        assert escalations.find_open(evaluation) is None

    def test_withdrawal_is_for_the_escalating_reviewer(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        with pytest.raises(Denied, match=r"^Only the person who escalated this record can withdraw it\.$"):
            escalations.withdraw(escalation_id=raised.pk, actor=bo)

    def test_withdrawal_is_refused_while_a_lead_has_the_claim(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        with pytest.raises(Conflict, match=r"^lea has been reviewing this since"):
            escalations.withdraw(escalation_id=raised.pk, actor=ana)
        assert escalations.find_open(evaluation) == raised

    def test_withdrawal_after_a_decision_in_a_file_claims_nothing(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        Evaluation.objects.update(human_review_status="Completed")
        assert escalations.withdraw(escalation_id=raised.pk, actor=ana).claimed_by is None


class TestResolve:
    def test_returned_record_is_in_the_queue_with_an_answer(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        resolve(raised, lea, "returned", "The reference is in the task.")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation
        answered = escalations.find_answer(evaluation)
        assert answered
        assert (answered.answer, answered.resolved_by) == ("The reference is in the task.", lea)

    def test_closed_record_is_completed_without_scores(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        resolve(raise_it(evaluation, ana), lea, "closed", "Nothing to compare with.")
        evaluation.refresh_from_db()
        assert (evaluation.human_review_status, evaluation.human_reviewer_id) == ("Completed", "lea")
        assert evaluation.human_corrected_scores is None
        assert evaluation.human_review_comments == "There is no reference answer. Nothing to compare with."
        assert not evaluation.is_escalated
        assert Escalation.objects.get().outcome == "closed"

    @pytest.mark.slow
    def test_closing_can_be_undone(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        raised = raise_it(evaluation, ana)
        resolve(raised, lea, "closed")
        undone = undo.undo(run=evaluation.run, actor=lea).evaluation
        assert (undone.human_review_status, undone.human_review_comments) == ("Needs Review", None)
        assert escalations.find_open(evaluation) == raised

    def test_decision_of_a_lead_resolves_the_escalation(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        evaluation.refresh_from_db()
        decide(evaluation, lea)
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("decided", lea)
        assert drafts.find_draft(evaluation, lea) is None

    @pytest.mark.parametrize("outcome", ["returned", "closed"])
    def test_second_resolution_is_a_conflict(
        self, evaluation: Evaluation, ana: User, lea: User, outcome: str
    ) -> None:
        raised = raise_it(evaluation, ana)
        resolve(raised, lea, outcome)
        with pytest.raises(Conflict, match=r"^lea resolved this escalation at \d\d:\d\d UTC: "):
            resolve(raised, lea, outcome)

    def test_closing_a_record_that_a_file_decided_is_a_conflict(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        raised = raise_it(evaluation, ana)
        Evaluation.objects.update(human_review_status="Completed")
        with pytest.raises(Conflict, match=r"^This record is not in the queue"):
            resolve(raised, lea, "closed")
        resolve(raised, lea, "returned")
        evaluation.refresh_from_db()
        assert (evaluation.human_review_status, evaluation.is_escalated) == ("Completed", False)

    def test_resolution_is_for_leads(self, evaluation: Evaluation, ana: User) -> None:
        raised = raise_it(evaluation, ana)
        with pytest.raises(Denied):
            resolve(raised, ana, "returned")

    def test_unknown_outcome_is_an_error(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        raised = raise_it(evaluation, ana)
        with pytest.raises(ValueError, match="decided"):
            resolve(raised, lea, "decided")

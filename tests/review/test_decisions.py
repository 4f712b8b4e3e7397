"""Submitted reviews: their effects, events and errors."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from reviews.accounts.permissions import Denied
from reviews.audit import events as audit_events
from reviews.models import AuditEvent, Escalation, Evaluation, Review, User
from reviews.queue import claims
from reviews.queue.claims import format_time
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import ALL_STATUSES, TRANSITIONS
from reviews.review import decisions, drafts, escalations, undo
from tests.support.factories import EvaluationFactory
from tests.support.work import ORIGINS, SCORES, decide, end_claim

pytestmark = pytest.mark.django_db


def escalate(evaluation: Evaluation, reviewer: User) -> Escalation:
    return escalations.escalate(
        evaluation_id=evaluation.pk, reviewer=reviewer, kind="question", reason="", note=""
    )


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana has claimed."""
    return claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def columns(evaluation: Evaluation) -> dict[str, Any]:
    """The row as it is in the database now."""
    return dict(Evaluation.objects.values().get(pk=evaluation.pk))


def statuses(event: AuditEvent) -> tuple[str, str]:
    """The status before and after an event."""
    human = event.detail["human"]
    return human["before"]["human_review_status"], human["after"]["human_review_status"]


class TestSubmit:
    def test_submit_sets_the_five_human_values(self, evaluation: Evaluation, ana: User) -> None:
        before = timezone.now()
        decide(evaluation, ana, comments="The last step is wrong.")
        evaluation.refresh_from_db()
        assert evaluation.human_review_status == "Completed"
        assert evaluation.human_reviewer_id == "ana"
        assert evaluation.human_review_timestamp
        assert before <= evaluation.human_review_timestamp <= timezone.now()
        assert evaluation.human_corrected_scores == SCORES
        assert evaluation.human_review_comments == "The last step is wrong."

    def test_submit_saves_the_current_decision(self, evaluation: Evaluation, ana: User) -> None:
        submission = uuid4()
        review = decide(evaluation, ana, comments="Checked.", submission=submission)
        review.refresh_from_db()
        evaluation.refresh_from_db()
        assert evaluation.review == review
        assert (review.evaluation, review.version, review.reviewer) == (evaluation, 1, ana)
        assert review.submitted_at == evaluation.human_review_timestamp
        assert (review.corrected_scores, review.comments, review.origins) == (SCORES, "Checked.", ORIGINS)
        assert review.submission == submission

    def test_submit_records_an_event_with_the_whole_decision(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana, comments="Checked.")
        event = AuditEvent.objects.get(action="submit")
        assert (event.actor, event.run, event.evaluation) == (ana, evaluation.run, evaluation)
        human = event.detail.pop("human")
        assert event.detail == {"version": 1, "causes": {}}
        assert human["before"] == dict.fromkeys(HUMAN_FIELDS) | {"human_review_status": "Needs Review"}
        assert human["after"] == {
            "human_review_status": "Completed",
            "human_reviewer_id": "ana",
            "human_review_timestamp": Review.objects.get().submitted_at.isoformat(),
            "human_corrected_scores": SCORES,
            "human_review_comments": "Checked.",
        }

    def test_submit_removes_the_record_from_the_queue_and_its_claim(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        assert (evaluation.claimed_by, evaluation.claimed_until) == (None, None)
        assert claims.claim_next(run=evaluation.run, reviewer=ana) is None

    def test_submit_changes_no_value_of_the_file(self, evaluation: Evaluation, ana: User) -> None:
        decided = {"human_review_status", "human_reviewer_id", "human_review_timestamp"}
        decided |= {"human_corrected_scores", "human_review_comments"}
        ours = {"review_id", "version", "updated_at", "claimed_by_id", "claimed_until", "was_shown"}
        before = columns(evaluation)
        decide(evaluation, ana, comments="Checked.")
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == decided | ours
        assert after["version"] == before["version"] + 1

    def test_submit_completes_a_pending_record(self, ana: User) -> None:
        evaluation = EvaluationFactory.create(human_review_status="Pending")
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        assert evaluation.human_review_status == "Completed"
        assert statuses(AuditEvent.objects.get()) == ("Pending", "Completed")

    @pytest.mark.parametrize(
        "score", ["Yes", "ja", "", 1, 0, 1.5, -0.25, 2**53 + 1, True, None, ["a", 1], {"of": 10}]
    )
    def test_submit_keeps_the_json_type_of_a_score(
        self, evaluation: Evaluation, ana: User, score: Any
    ) -> None:
        scores = {"Ampleur": {"score": score, "justification": r"\frac{1}{2} ≤ 1"}}
        review = decide(evaluation, ana, scores=scores)
        review.refresh_from_db()
        evaluation.refresh_from_db()
        for kept in (review.corrected_scores, evaluation.human_corrected_scores):
            assert kept == scores
            assert type(kept["Ampleur"]["score"]) is type(score)

    def test_submit_without_comment_saves_none(self, evaluation: Evaluation, ana: User) -> None:
        assert decide(evaluation, ana, comments="").comments is None
        evaluation.refresh_from_db()
        assert evaluation.human_review_comments is None

    def test_submit_sent_twice_creates_one_review(self, evaluation: Evaluation, ana: User) -> None:
        submission = uuid4()
        first, second = (decide(evaluation, ana, submission=submission) for _ in range(2))
        assert first == second == Review.objects.get()
        assert AuditEvent.objects.filter(action="submit").count() == 1

    def test_submit_accepts_an_expired_claim_that_nobody_took(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        end_claim(evaluation)
        assert decide(evaluation, ana).reviewer == ana

    def test_failed_submit_changes_nothing(
        self, evaluation: Evaluation, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise OSError("the disk is full")

        before = columns(evaluation)
        monkeypatch.setattr(audit_events, "record", fail)
        with pytest.raises(OSError, match="the disk is full"):
            decide(evaluation, ana)
        assert columns(evaluation) == before
        assert not Review.objects.exists()

    def test_submit_is_denied_to_people_without_a_role(self, eve: User) -> None:
        with pytest.raises(Denied):
            decide(EvaluationFactory.create(), eve)


def taken_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
    claimed_at = AuditEvent.objects.get(action="claim", actor=bo).at
    return f"bo has been reviewing this since {claimed_at:%H:%M} UTC."


def decided_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    said = f"bo submitted this at {decide(evaluation, bo).submitted_at:%H:%M} UTC."
    return f"{said} You agree on every criterion."


def decided_otherwise_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    scores = SCORES | {"Clarity": {"score": "No", "justification": ""}}
    review = decide(evaluation, bo, scores=scores)
    return f"bo submitted this at {review.submitted_at:%H:%M} UTC. You differ on 1 criterion."


def handed_to_a_lead_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    raised = escalate(evaluation, bo)
    return f"bo sent this to a lead at {raised.raised_at:%H:%M} UTC."


def decided_and_taken_back_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    decide(evaluation, bo)
    undo.undo(run=evaluation.run, actor=bo)
    claims.release(evaluation_id=evaluation.pk, actor=bo)
    at = AuditEvent.objects.get(action="undo").at
    return f"bo undid a decision on this at {at:%H:%M} UTC. Check it again."


def resolved_by_a_file(evaluation: Evaluation, _bo: User) -> str:
    Evaluation.objects.filter(pk=evaluation.pk).update(human_review_status="Not Required")
    return "This record is not in the queue: its status is Not Required."


def changed_by_a_file(evaluation: Evaluation, _bo: User) -> str:
    Evaluation.objects.filter(pk=evaluation.pk).update(version=evaluation.version + 1)
    imported_at = evaluation.source_import.created_at
    return f"This record was re-imported at {format_time(imported_at)} and has changed since you opened it."


class TestConflict:
    @pytest.mark.parametrize(
        "happens",
        [
            taken_by_bo,
            decided_by_bo,
            decided_otherwise_by_bo,
            handed_to_a_lead_by_bo,
            decided_and_taken_back_by_bo,
            resolved_by_a_file,
            changed_by_a_file,
        ],
    )
    def test_conflict_names_the_change_and_saves_nothing(
        self, evaluation: Evaluation, ana: User, bo: User, happens: Callable[[Evaluation, User], str]
    ) -> None:
        sentence = happens(evaluation, bo)
        before = columns(evaluation)
        reviews, events = Review.objects.count(), AuditEvent.objects.count()
        with pytest.raises(Conflict) as conflict:
            decide(evaluation, ana)
        assert conflict.value.reason == sentence
        assert columns(evaluation) == before
        assert (Review.objects.count(), AuditEvent.objects.count()) == (reviews, events)

    def test_form_of_another_record_is_a_conflict(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        with pytest.raises(Conflict, match=r"^This form was sent before, for another record\."):
            decide(EvaluationFactory.create(), ana, submission=review.submission)
        assert Review.objects.get() == review

    def test_form_sent_by_somebody_else_is_a_conflict(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        review = decide(evaluation, ana)
        with pytest.raises(Conflict):
            decide(evaluation, bo, submission=review.submission)


class TestUndo:
    def undo(self, evaluation: Evaluation, reviewer: User) -> Evaluation:
        return undo.undo(run=evaluation.run, actor=reviewer).evaluation

    @pytest.mark.parametrize("status", ["Needs Review", "Pending"])
    def test_undo_restores_the_record_and_its_claim(self, ana: User, status: str) -> None:
        evaluation = EvaluationFactory.create(human_review_status=status)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        before = columns(evaluation)
        decide(evaluation, ana, comments="Checked.")
        self.undo(evaluation, ana)
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == {
            "version",
            "updated_at",
            "claimed_until",
            "was_shown",
        }
        assert claims.claim_next(run=evaluation.run, reviewer=ana) == evaluation

    def test_undo_keeps_the_review_as_withdrawn(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        self.undo(evaluation, ana)
        assert review.withdrawal.actor == ana
        event = AuditEvent.objects.get(action="undo")
        assert event.detail["version"] == 1
        assert statuses(event) == ("Completed", "Needs Review")

    def test_undo_turns_the_review_into_a_draft(self, ana: User) -> None:
        own = {"justification_by": "reviewer"}
        scores = {
            "Rigor": {"score": 1.5, "justification": "Half of it.", **own},
            "Clarity": {"score": "No", "justification": "Skips a step.", **own},
        }
        parsed = {"Clarity": {"score": "Yes"}, "Length": {"score": "Yes"}, "Rigor": {"score": 1.5}}
        evaluation = EvaluationFactory.create(parsed_rubric_scores=parsed)
        decide(evaluation, ana, scores=scores, comments="Checked.", causes={"Clarity": "too lenient"})
        self.undo(evaluation, ana)
        draft = drafts.find_draft(evaluation, ana)
        assert draft
        assert draft.fields == [
            ["criteria-0-name", "Rigor"],
            ["criteria-0-score", "as judged"],
            ["criteria-0-justification", "Half of it."],
            ["criteria-0-cause", ""],
            ["criteria-1-name", "Length"],
            ["criteria-1-removed", "on"],
            ["criteria-2-name", "Clarity"],
            ["criteria-2-score", "No"],
            ["criteria-2-justification", "Skips a step."],
            ["criteria-2-cause", "too lenient"],
            ["comments", "Checked."],
        ]

    @pytest.mark.slow
    def test_second_undo_undoes_the_decision_before(self, ana: User) -> None:
        first = EvaluationFactory.create()
        second = EvaluationFactory.create(run=first.run)
        decide(first, ana)
        decide(second, ana)
        assert [self.undo(first, ana) for _ in range(2)] == [second, first]
        with pytest.raises(Conflict, match=r"^You have nothing to undo in this run"):
            self.undo(first, ana)

    @pytest.mark.slow
    def test_undo_of_a_revision_restores_the_decision_before(self, evaluation: Evaluation, ana: User) -> None:
        first = decide(evaluation, ana, comments="First.")
        evaluation.refresh_from_db()
        before = columns(evaluation)
        revise(evaluation, ana, comments="Second.")
        self.undo(evaluation, ana)
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == {"version"}
        evaluation.refresh_from_db()
        assert evaluation.review == first

    def test_undo_on_an_outdated_record_makes_it_outdated_again(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana)
        Evaluation.objects.update(human_review_status="Needs Review", is_outdated=True)
        evaluation.refresh_from_db()
        decide(evaluation, ana)
        assert self.undo(evaluation, ana).is_outdated

    def test_undo_of_a_lead_decision_reopens_the_escalation(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        raised = escalate(evaluation, ana)
        evaluation.refresh_from_db()
        decide(evaluation, lea)
        assert self.undo(evaluation, lea).is_escalated
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("open", None)

    def test_undo_finds_own_decisions_only(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        decide(evaluation, ana)
        with pytest.raises(Conflict, match=r"^You have nothing to undo in this run"):
            self.undo(evaluation, lea)

    def revised(self, evaluation: Evaluation, lea: User) -> str:
        review = revise(evaluation, lea)
        return f"lea decided this again at {review.submitted_at:%H:%M} UTC."

    def reopened(self, evaluation: Evaluation, lea: User) -> str:
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="")
        return "This record was reopened after your decision. It is in the queue again."

    def stale(self, evaluation: Evaluation, _lea: User) -> str:
        Evaluation.objects.update(human_review_status="Needs Review", is_outdated=True)
        return "A file changed this record after your decision. It is in the queue again."

    @pytest.mark.parametrize("happens", [revised, reopened, stale])
    def test_undo_is_refused_after_later_changes(
        self,
        evaluation: Evaluation,
        ana: User,
        lea: User,
        happens: Callable[["TestUndo", Evaluation, User], str],
    ) -> None:
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        sentence = happens(self, evaluation, lea)
        before = columns(evaluation)
        with pytest.raises(Conflict) as conflict:
            self.undo(evaluation, ana)
        assert conflict.value.reason == f"Can't undo: submitted {evaluation.title}. {sentence}"
        assert columns(evaluation) == before


def revise(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    return decide(evaluation, reviewer, by=decisions.revise, **other)


class TestRevise:
    @pytest.fixture
    def decided(self, evaluation: Evaluation, ana: User) -> Evaluation:
        """A record that ana decided."""
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        return evaluation

    @pytest.mark.parametrize("by", ["ana", "lea"])
    def test_revise_creates_a_new_current_version(
        self, decided: Evaluation, by: str, request: pytest.FixtureRequest
    ) -> None:
        reviewer = request.getfixturevalue(by)
        review = revise(decided, reviewer, comments="Once more.")
        decided.refresh_from_db()
        assert (review.version, decided.review) == (2, review)
        assert (decided.human_reviewer_id, decided.human_review_comments) == (by, "Once more.")
        assert statuses(AuditEvent.objects.get(action="revise")) == ("Completed", "Completed")

    def test_revision_of_anothers_decision_is_for_leads(self, decided: Evaluation, bo: User) -> None:
        with pytest.raises(Denied):
            revise(decided, bo)

    def test_revision_of_a_decision_in_a_file_is_for_leads(self, ana: User, lea: User) -> None:
        evaluation = EvaluationFactory.create(human_review_status="Reviewed")
        with pytest.raises(Denied):
            revise(evaluation, ana)
        assert revise(evaluation, lea).version == 1

    def test_revision_of_a_record_in_the_queue_is_a_conflict(self, evaluation: Evaluation, lea: User) -> None:
        with pytest.raises(
            Conflict, match=r"^This record is in the queue, so there is no decision to revise"
        ):
            revise(evaluation, lea)

    def test_revision_of_a_changed_record_names_the_change(
        self, decided: Evaluation, ana: User, lea: User
    ) -> None:
        revise(decided, lea)
        with pytest.raises(Conflict, match=r"^lea revised this at \d\d:\d\d UTC\. Check it again\.$"):
            revise(decided, lea)

    def test_revision_sent_twice_creates_one_version(self, decided: Evaluation, ana: User) -> None:
        submission = uuid4()
        first, second = (revise(decided, ana, submission=submission) for _ in range(2))
        assert first == second
        assert decided.reviews.count() == 2


class TestReopen:
    def test_reopen_returns_the_record_to_the_queue_with_its_decision(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        review = decide(evaluation, ana, comments="Checked.")
        decisions.reopen(evaluation_id=evaluation.pk, actor=ana, reason="A second look.")
        evaluation.refresh_from_db()
        assert (evaluation.human_review_status, evaluation.review) == ("Needs Review", review)
        assert (evaluation.human_corrected_scores, evaluation.human_review_comments) == (SCORES, "Checked.")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation
        assert AuditEvent.objects.get(action="reopen").detail["reason"] == "A second look."
        assert decide(Evaluation.objects.get(), bo).version == 2

    def test_reopen_saves_the_decision_in_a_file_as_a_version(self, lea: User) -> None:
        evaluation = EvaluationFactory.create(
            human_review_status="Reviewed", human_reviewer_id="ann", human_corrected_scores=SCORES
        )
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="")
        evaluation.refresh_from_db()
        assert (evaluation.human_review_status, evaluation.human_reviewer_id) == ("Needs Review", "ann")
        assert evaluation.review
        assert evaluation.review.origins == dict.fromkeys(SCORES, "file")

    def test_reopening_anothers_decision_is_for_leads(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        with pytest.raises(Denied):
            decisions.reopen(evaluation_id=evaluation.pk, actor=bo, reason="")

    def test_reopening_an_undecided_record_is_a_conflict(self, evaluation: Evaluation, lea: User) -> None:
        with pytest.raises(Conflict, match=r"^This record has no decision to reopen"):
            decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="")


def test_transitions_let_people_decide_only_records_in_the_queue() -> None:
    decidable = {status for action, status in TRANSITIONS if action == "submit"}
    assert decidable == {"Needs Review", "Pending"}
    assert set(TRANSITIONS.values()) <= set(ALL_STATUSES)

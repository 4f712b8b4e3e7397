"""Submitted reviews: their effects, events and errors."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from reviews.accounts.permissions import Denied
from reviews.audit import events as audit_events
from reviews.imports import importer
from reviews.models import AuditEvent, Escalation, Evaluation, Review, User
from reviews.queue import claims, progress
from reviews.queue.claims import format_time
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.records.status import ALL_STATUSES, TRANSITIONS
from reviews.review import decisions, drafts, escalations
from tests.support.factories import EvaluationFactory
from tests.support.lines import line, take_out
from tests.support.work import ORIGINS, SCORES, decide, end_claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana holds."""
    return claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def columns(evaluation: Evaluation) -> dict[str, Any]:
    """The row as it is in the database now."""
    return dict(Evaluation.objects.values().get(pk=evaluation.pk))


def statuses(event: AuditEvent) -> tuple[str, str]:
    """The status before and after an event."""
    human = event.detail["human"]
    return human["before"]["human_review_status"], human["after"]["human_review_status"]


class TestSubmitReview:
    def test_puts_the_five_human_values_in_force(self, evaluation: Evaluation, ana: User) -> None:
        before = timezone.now()
        decide(evaluation, ana, comments="The last step is wrong.")
        evaluation.refresh_from_db()
        assert evaluation.human_review_status == "Completed"
        assert evaluation.human_reviewer_id == "ana"
        assert evaluation.human_review_timestamp
        assert before <= evaluation.human_review_timestamp <= timezone.now()
        assert evaluation.human_corrected_scores == SCORES
        assert evaluation.human_review_comments == "The last step is wrong."

    def test_keeps_the_review_that_is_in_force(self, evaluation: Evaluation, ana: User) -> None:
        submission = uuid4()
        review = decide(evaluation, ana, comments="Checked.", submission=submission)
        review.refresh_from_db()
        evaluation.refresh_from_db()
        assert evaluation.review == review
        assert (review.evaluation, review.version, review.reviewer) == (evaluation, 1, ana)
        assert review.submitted_at == evaluation.human_review_timestamp
        assert (review.corrected_scores, review.comments, review.origins) == (SCORES, "Checked.", ORIGINS)
        assert review.submission == submission

    def test_leaves_an_audit_event_that_tells_all_of_it(self, evaluation: Evaluation, ana: User) -> None:
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

    def test_takes_the_record_from_the_queue_and_from_its_holder(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        assert (evaluation.claimed_by, evaluation.claimed_until) == (None, None)
        assert claims.claim_next(run=evaluation.run, reviewer=ana) is None

    def test_changes_nothing_that_the_file_says(self, evaluation: Evaluation, ana: User) -> None:
        decided = {"human_review_status", "human_reviewer_id", "human_review_timestamp"}
        decided |= {"human_corrected_scores", "human_review_comments"}
        ours = {"review_id", "version", "claimed_by_id", "claimed_until", "was_shown"}
        before = columns(evaluation)
        decide(evaluation, ana, comments="Checked.")
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == decided | ours
        assert after["version"] == before["version"] + 1

    def test_of_a_record_in_the_older_word_completes_it_too(self, ana: User) -> None:
        evaluation = EvaluationFactory.create(human_review_status="Pending")
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        assert evaluation.human_review_status == "Completed"
        assert statuses(AuditEvent.objects.get()) == ("Pending", "Completed")

    @pytest.mark.parametrize(
        "score", ["Yes", "ja", "", 1, 0, 1.5, -0.25, 2**53 + 1, True, None, ["a", 1], {"of": 10}]
    )
    def test_keeps_the_json_type_of_a_score(self, evaluation: Evaluation, ana: User, score: Any) -> None:
        scores = {"Ampleur": {"score": score, "justification": r"\frac{1}{2} ≤ 1"}}
        review = decide(evaluation, ana, scores=scores)
        review.refresh_from_db()
        evaluation.refresh_from_db()
        for kept in (review.corrected_scores, evaluation.human_corrected_scores):
            assert kept == scores
            assert type(kept["Ampleur"]["score"]) is type(score)

    def test_without_a_comment_has_none(self, evaluation: Evaluation, ana: User) -> None:
        assert decide(evaluation, ana, comments="").comments is None
        evaluation.refresh_from_db()
        assert evaluation.human_review_comments is None

    def test_sent_twice_is_one_review(self, evaluation: Evaluation, ana: User) -> None:
        submission = uuid4()
        first, second = (decide(evaluation, ana, submission=submission) for _ in range(2))
        assert first == second == Review.objects.get()
        assert AuditEvent.objects.filter(action="submit").count() == 1

    def test_counts_after_the_claim_ran_out_and_nobody_took_it(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        end_claim(evaluation)
        assert decide(evaluation, ana).reviewer == ana

    def test_is_all_or_nothing(
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

    def test_is_not_for_people_without_a_role(self, eve: User) -> None:
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
    claims.release(
        evaluation_id=decisions.undo(run=evaluation.run, reviewer=bo).pk,
        actor=bo,
    )
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
    def test_says_what_happened_meanwhile_and_changes_nothing(
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

    def test_of_a_form_that_was_sent_for_another_record(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        with pytest.raises(Conflict, match=r"^This form was sent before, for another record\."):
            decide(EvaluationFactory.create(), ana, submission=review.submission)
        assert Review.objects.get() == review

    def test_of_a_form_that_somebody_else_sent(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        review = decide(evaluation, ana)
        with pytest.raises(Conflict):
            decide(evaluation, bo, submission=review.submission)


class TestAFileImportedAgain:
    """While ana has the record open, the pipeline's file comes in once more."""

    def imported(self, text: bytes) -> Evaluation:
        with transaction.atomic():
            importer.import_stream([text], run_name="run", file_name="run.jsonl", actor=None)
        return Evaluation.objects.get()

    def test_with_the_same_line_lets_the_review_stand(self, ana: User) -> None:
        opened = self.imported(line())
        self.imported(line())
        assert decide(opened, ana).version == 1

    def test_with_a_changed_line_is_a_conflict_until_the_record_is_opened_again(self, ana: User) -> None:
        opened = self.imported(line())
        changed = self.imported(line(aggregated_score="Fail"))
        with pytest.raises(Conflict, match=r"^This record was re-imported at "):
            decide(opened, ana)
        assert decide(changed, ana).version == 1

    def test_does_not_change_what_ana_decided(self, ana: User) -> None:
        decide(self.imported(line()), ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert evaluation.human_corrected_scores == SCORES
        assert evaluation.human_reviewer_id == "ana"

    def test_finds_a_record_that_was_taken_back_as_if_it_had_never_been_decided(self, ana: User) -> None:
        opened = self.imported(line())
        decide(opened, ana)
        decisions.undo(run=opened.run, reviewer=ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert (evaluation.aggregated_score, evaluation.is_outdated) == ("Fail", False)
        assert take_out(run="run") == line(aggregated_score="Fail")

    def test_leaves_a_reopened_record_in_the_queue_with_its_decision(self, ana: User) -> None:
        opened = self.imported(line())
        decide(opened, ana)
        decisions.reopen(evaluation_id=opened.pk, actor=ana, reason="")
        same = self.imported(line())
        assert (same.human_review_status, same.is_outdated, same.review_id is None) == (
            "Needs Review",
            False,
            False,
        )
        assert self.imported(line(aggregated_score="Fail")).is_outdated

    def test_leaves_an_escalated_record_with_the_leads(self, ana: User) -> None:
        raised = escalate(self.imported(line()), ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert evaluation.is_escalated
        assert escalations.find_open(evaluation) == raised

    def test_that_decides_an_escalated_record_leaves_the_question_to_be_answered(
        self, ana: User, lea: User
    ) -> None:
        raised = escalate(self.imported(line()), ana)
        decided = self.imported(line(human_review_status="Completed", human_reviewer_id="ann"))
        assert (decided.is_done, progress.run_progress(decided.run).escalated) == (True, 0)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        decided.refresh_from_db()
        assert (decided.is_done, decided.is_escalated) == (True, False)


class TestUndo:
    def undo(self, evaluation: Evaluation, reviewer: User) -> Evaluation:
        return decisions.undo(run=evaluation.run, reviewer=reviewer)

    @pytest.mark.parametrize("status", ["Needs Review", "Pending"])
    def test_makes_the_record_what_it_was_and_the_reviewers_again(self, ana: User, status: str) -> None:
        evaluation = EvaluationFactory.create(human_review_status=status)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        before = columns(evaluation)
        decide(evaluation, ana, comments="Checked.")
        self.undo(evaluation, ana)
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == {
            "version",
            "claimed_until",
            "was_shown",
        }
        assert claims.claim_next(run=evaluation.run, reviewer=ana) == evaluation

    def test_keeps_the_review_and_marks_it_withdrawn(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        self.undo(evaluation, ana)
        assert review.withdrawal.actor == ana
        event = AuditEvent.objects.get(action="undo")
        assert event.detail["version"] == 1
        assert statuses(event) == ("Completed", "Needs Review")

    def test_makes_what_was_submitted_a_draft(self, ana: User) -> None:
        scores = {
            "Rigor": {"score": 1.5, "justification": "Half of it."},
            "Clarity": {"score": "No", "justification": "Skips a step."},
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

    def test_twice_takes_back_the_last_but_one_too(self, ana: User) -> None:
        first = EvaluationFactory.create()
        second = EvaluationFactory.create(run=first.run)
        decide(first, ana)
        decide(second, ana)
        assert [self.undo(first, ana) for _ in range(2)] == [second, first]
        with pytest.raises(Conflict, match=r"^You have no decision in this run to undo\.$"):
            self.undo(first, ana)

    def test_brings_the_review_before_back_in_force(self, evaluation: Evaluation, ana: User) -> None:
        first = decide(evaluation, ana, comments="First.")
        evaluation.refresh_from_db()
        before = columns(evaluation)
        revise(evaluation, ana, comments="Second.")
        self.undo(evaluation, ana)
        after = columns(evaluation)
        assert {name for name in before if before[name] != after[name]} == {"version"}
        evaluation.refresh_from_db()
        assert evaluation.review == first

    def test_of_a_stale_record_makes_it_stale_again(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        Evaluation.objects.update(human_review_status="Needs Review", is_outdated=True)
        evaluation.refresh_from_db()
        decide(evaluation, ana)
        assert self.undo(evaluation, ana).is_outdated

    def test_of_a_leads_decision_opens_the_escalation_again(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        raised = escalate(evaluation, ana)
        evaluation.refresh_from_db()
        decide(evaluation, lea)
        assert self.undo(evaluation, lea).is_escalated
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("open", None)

    def test_is_for_ones_own_decisions(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        decide(evaluation, ana)
        with pytest.raises(Conflict, match=r"^You have no decision in this run"):
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
    def test_leaves_alone_what_somebody_built_on(
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
        assert conflict.value.reason == sentence
        assert columns(evaluation) == before


def revise(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    return decide(evaluation, reviewer, by=decisions.revise, **other)


def escalate(evaluation: Evaluation, reviewer: User) -> Escalation:
    return escalations.escalate(
        evaluation_id=evaluation.pk, reviewer=reviewer, kind="question", reason="", note=""
    )


class TestRevise:
    @pytest.fixture
    def decided(self, evaluation: Evaluation, ana: User) -> Evaluation:
        """A record that ana decided."""
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        return evaluation

    @pytest.mark.parametrize("by", ["ana", "lea"])
    def test_puts_another_version_in_force(
        self, decided: Evaluation, by: str, request: pytest.FixtureRequest
    ) -> None:
        reviewer = request.getfixturevalue(by)
        review = revise(decided, reviewer, comments="Once more.")
        decided.refresh_from_db()
        assert (review.version, decided.review) == (2, review)
        assert (decided.human_reviewer_id, decided.human_review_comments) == (by, "Once more.")
        assert statuses(AuditEvent.objects.get(action="revise")) == ("Completed", "Completed")

    def test_of_what_somebody_else_decided_is_for_leads(self, decided: Evaluation, bo: User) -> None:
        with pytest.raises(Denied):
            revise(decided, bo)

    def test_of_what_a_file_decided_is_for_leads(self, ana: User, lea: User) -> None:
        evaluation = EvaluationFactory.create(human_review_status="Reviewed")
        with pytest.raises(Denied):
            revise(evaluation, ana)
        assert revise(evaluation, lea).version == 1

    def test_of_what_is_in_the_queue_is_a_conflict(self, evaluation: Evaluation, lea: User) -> None:
        with pytest.raises(
            Conflict, match=r"^This record is in the queue, so there is no decision to revise"
        ):
            revise(evaluation, lea)

    def test_on_an_older_version_says_what_happened(self, decided: Evaluation, ana: User, lea: User) -> None:
        revise(decided, lea)
        with pytest.raises(Conflict, match=r"^lea revised this at \d\d:\d\d UTC\. Check it again\.$"):
            revise(decided, lea)

    def test_sent_twice_is_one_version(self, decided: Evaluation, ana: User) -> None:
        submission = uuid4()
        first, second = (revise(decided, ana, submission=submission) for _ in range(2))
        assert first == second
        assert decided.reviews.count() == 2


class TestReopen:
    def test_puts_the_record_into_the_queue_and_keeps_the_decision(
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

    def test_of_what_a_file_decided_keeps_that_as_a_version(self, lea: User) -> None:
        evaluation = EvaluationFactory.create(
            human_review_status="Reviewed", human_reviewer_id="ann", human_corrected_scores=SCORES
        )
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="")
        evaluation.refresh_from_db()
        assert (evaluation.human_review_status, evaluation.human_reviewer_id) == ("Needs Review", "ann")
        assert evaluation.review
        assert evaluation.review.origins == dict.fromkeys(SCORES, "file")

    def test_of_what_somebody_else_decided_is_for_leads(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        with pytest.raises(Denied):
            decisions.reopen(evaluation_id=evaluation.pk, actor=bo, reason="")

    def test_of_what_is_not_decided_is_a_conflict(self, evaluation: Evaluation, lea: User) -> None:
        with pytest.raises(Conflict, match=r"^This record has no decision to reopen"):
            decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="")


def test_people_can_decide_what_is_in_the_queue_and_nothing_else() -> None:
    decidable = {status for action, status in TRANSITIONS if action == "submit"}
    assert decidable == {"Needs Review", "Pending"}
    assert set(TRANSITIONS.values()) <= set(ALL_STATUSES)

"""A submitted review: what it changes, what it leaves behind, and when it is refused."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from reviews import audit, importer, queue, workflow
from reviews.models import AuditEvent, Evaluation, Review, User
from reviews.permissions import Denied
from reviews.record import STATUS_WORDS
from reviews.workflow import Conflict
from tests.factories import EvaluationFactory
from tests.lines import line
from tests.work import ORIGINS, SCORES, decide, end_claim, held_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana holds."""
    return queue.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


def columns(evaluation: Evaluation) -> dict[str, Any]:
    """The row as it is in the database now."""
    return dict(Evaluation.objects.values().get(pk=evaluation.pk))


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
        assert event.detail == {
            "version": 1,
            "status": ["Needs Review", "Completed"],
            "scores": SCORES,
            "comments": "Checked.",
        }

    def test_takes_the_record_from_the_queue_and_from_its_holder(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana)
        evaluation.refresh_from_db()
        assert (evaluation.claimed_by, evaluation.claimed_until) == (None, None)
        assert queue.claim_next(run=evaluation.run, reviewer=ana) is None

    def test_changes_nothing_that_the_file_says(self, evaluation: Evaluation, ana: User) -> None:
        decided = {"human_review_status", "human_reviewer_id", "human_review_timestamp"}
        decided |= {"human_corrected_scores", "human_review_comments"}
        ours = {"review_id", "version", "claimed_by_id", "claimed_until"}
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
        assert AuditEvent.objects.get().detail["status"] == ["Pending", "Completed"]

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
        monkeypatch.setattr(audit, "record", fail)
        with pytest.raises(OSError, match="the disk is full"):
            decide(evaluation, ana)
        assert columns(evaluation) == before
        assert not Review.objects.exists()

    def test_is_not_for_people_without_a_role(self, eve: User) -> None:
        with pytest.raises(Denied):
            decide(EvaluationFactory.create(), eve)


def taken_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    until = held_until(queue.claim(evaluation_id=evaluation.pk, reviewer=bo))
    return f"bo holds this record until {until:%H:%M} UTC."


def decided_by_bo(evaluation: Evaluation, bo: User) -> str:
    end_claim(evaluation)
    return f"bo submitted this at {decide(evaluation, bo).submitted_at:%H:%M} UTC."


def settled_by_a_file(evaluation: Evaluation, _bo: User) -> str:
    Evaluation.objects.filter(pk=evaluation.pk).update(human_review_status="Not Required")
    return "This record is not in the queue: its status is Not Required."


def changed_by_a_file(evaluation: Evaluation, _bo: User) -> str:
    Evaluation.objects.filter(pk=evaluation.pk).update(version=evaluation.version + 1)
    return "This record was imported again and has changed since you opened it."


class TestConflict:
    @pytest.mark.parametrize("happens", [taken_by_bo, decided_by_bo, settled_by_a_file, changed_by_a_file])
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
        with pytest.raises(Conflict, match=r"^This record was imported again and has changed"):
            decide(opened, ana)
        assert decide(changed, ana).version == 1

    def test_does_not_change_what_ana_decided(self, ana: User) -> None:
        decide(self.imported(line()), ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert evaluation.human_corrected_scores == SCORES
        assert evaluation.human_reviewer_id == "ana"


def test_people_can_decide_what_is_in_the_queue_and_nothing_else() -> None:
    decidable = {status for action, status in workflow.TRANSITIONS if action == "submit"}
    assert decidable == {"Needs Review", "Pending"}
    assert set(workflow.TRANSITIONS.values()) <= set(STATUS_WORDS)

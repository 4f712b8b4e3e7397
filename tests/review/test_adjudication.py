"""Disagreements of independent reviews: adjudication, late reviews and decisions of leads."""

from typing import Any

import pytest

from reviews.accounts.permissions import Denied
from reviews.dashboard import reviewer_activity
from reviews.dashboard.selection import WorkSelection
from reviews.history import recent
from reviews.models import AuditEvent, Escalation, Evaluation, IndependentReview, Review, Run, User
from reviews.queue import claims, progress
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import decisions, escalations, independent_reviews, undo
from tests.support.factories import RunFactory
from tests.support.independent_reviews import OTHER, actions, differ
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import SCORES, decide, fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """Each record is for two people."""
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


def add(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    """The independent review of somebody who came too late."""
    return decide(fresh(evaluation), reviewer, by=independent_reviews.add, **other)


class TestDisagreement:
    @pytest.mark.parametrize(
        "scores", [OTHER, {"Clarity": SCORES["Clarity"]}, SCORES | {"Rigor": {"score": "Yes"}}]
    )
    def test_disagreement_is_escalated(
        self, evaluation: Evaluation, ana: User, bo: User, scores: dict[str, Any]
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo, scores=scores)
        after = fresh(evaluation)
        assert (after.review, after.is_escalated, after.human_review_status) == (None, True, "Needs Review")
        raised = Escalation.objects.get()
        assert (raised.kind, raised.outcome, raised.raised_by) == ("disagreement", "open", bo)
        assert actions(evaluation) == ["independent review", "independent review", "disagreement"]

    def test_disagreement_cannot_be_claimed_by_reviewers(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        differ(evaluation, ana, bo)
        for person in (ana, bo, cy, lea):
            assert claims.claim_next(run=evaluation.run, reviewer=person) is None
        with pytest.raises(
            RecordUnavailable,
            match=r"^Reviewers disagree: this was sent to a lead at \d\d:\d\d UTC\.$",
        ):
            claims.claim(evaluation_id=evaluation.pk, reviewer=cy)

    @pytest.mark.slow
    def test_lead_decides_a_disagreement(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        review = decide(claims.claim(evaluation_id=evaluation.pk, reviewer=lea), lea, scores=OTHER)
        after = fresh(evaluation)
        assert (after.review, after.is_escalated, after.human_reviewer_id) == (review, False, "lea")
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("decided", lea)
        assert list(IndependentReview.objects.values_list("is_open", flat=True)) == [False, False]
        assert not hasattr(review, "independent_review")

    @pytest.mark.slow
    def test_undone_lead_decision_reopens_the_disagreement(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        decide(fresh(evaluation), lea)
        undo.undo(run=evaluation.run, actor=lea)
        assert [one.reviewer for one in independent_reviews.open_reviews(fresh(evaluation))] == [ana, bo]
        raised.refresh_from_db()
        assert (raised.outcome, fresh(evaluation).is_escalated) == ("open", True)

    def test_lead_who_submitted_a_review_may_decide(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        differ(evaluation, ana, lea)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        decide(fresh(evaluation), lea)
        assert fresh(evaluation).is_done

    @pytest.mark.slow
    def test_returned_disagreement_takes_one_more_review(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) is None
        assert claims.claim_next(run=evaluation.run, reviewer=cy) == evaluation
        assert escalations.find_answer(evaluation) is None
        decide(fresh(evaluation), cy)
        assert [one.reviewer for one in independent_reviews.open_reviews(fresh(evaluation))] == [ana, bo, cy]
        assert fresh(evaluation).is_escalated

    def test_disagreement_can_be_closed_without_scores(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="No reference.")
        assert (fresh(evaluation).human_review_status, independent_reviews.open_reviews(evaluation)) == (
            "Completed",
            [],
        )

    def test_disagreement_cannot_be_withdrawn(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        raised = differ(evaluation, ana, bo)
        with pytest.raises(Denied, match="Use Undo to withdraw your own review"):
            escalations.withdraw(escalation_id=raised.pk, actor=bo)
        assert recent.load_page(reviewer=bo, run=evaluation.run).escalations == []

    def test_disagreement_is_not_listed_as_a_question(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        differ(evaluation, ana, bo)
        assert {one.escalated for one in reviewer_activity.team_figures(WorkSelection()).reviewers} == {0}


class TestTakeOver:
    def test_lead_who_takes_over_decides_with_the_submitted_reviews(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        assert (fresh(evaluation).claimed_by, fresh(evaluation).is_escalated) == (lea, True)
        review = decide(fresh(evaluation), lea)
        assert fresh(evaluation).review == review
        assert actions(evaluation) == ["independent review", "take over", "reveal", "adjudicate"]

    def test_decision_of_a_lead_records_whose_scores_and_words_it_has(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        own = {"Clarity": {"score": "No", "justification": "It jumps."}}
        decide(evaluation, ana, scores=SCORES | own)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        other = {"Clarity": {"score": "No", "justification": "It jumps a step."}}
        decide(fresh(evaluation), lea, scores=SCORES | other)
        event = AuditEvent.objects.get(action="adjudicate", evaluation=evaluation)
        assert event.detail["same_scores"] == {name: ["ana"] for name in SCORES if name != "Clarity"}

    def test_lead_may_return_a_record_after_taking_over(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        raised = Escalation.objects.get()
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_take_over_is_for_leads(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        decide(evaluation, ana)
        with pytest.raises(Denied):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=bo)

    def test_take_over_needs_an_open_review_and_no_claim(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        with pytest.raises(Conflict, match=r"^This record has no open independent reviews\.$"):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        decide(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        with pytest.raises(RecordUnavailable, match=r"^bo has been reviewing this since"):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)

    def test_lead_submits_an_independent_review_without_taking_over(
        self, evaluation: Evaluation, lea: User
    ) -> None:
        decide(evaluation, lea)
        assert fresh(evaluation).review is None

    def test_lead_decides_an_escalated_record_at_once(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        escalations.escalate(
            evaluation_id=evaluation.pk, reviewer=bo, kind="question", reason="question", note="Why?"
        )
        decide(fresh(evaluation), lea)
        assert (fresh(evaluation).human_reviewer_id, independent_reviews.open_reviews(evaluation)) == (
            "lea",
            [],
        )


class TestLateReview:
    @pytest.fixture(autouse=True)
    def _single(self, run: Run) -> None:
        Run.objects.update(overlap_share=0)

    @pytest.fixture
    def decided(self, evaluation: Evaluation, ana: User) -> Evaluation:
        decide(evaluation, ana)
        return fresh(evaluation)

    def test_late_review_that_agrees_keeps_the_decision(self, decided: Evaluation, bo: User) -> None:
        review = add(decided, bo)
        after = fresh(decided)
        assert (after.review, after.human, after.is_escalated) == (decided.review, decided.human, False)
        assert review.version == 2
        assert list(IndependentReview.objects.values_list("is_open", flat=True)) == [False, False]
        assert actions(decided) == ["submit", "independent review"]

    def test_late_review_that_differs_is_escalated(self, decided: Evaluation, bo: User) -> None:
        add(decided, bo, scores=OTHER)
        after = fresh(decided)
        assert (after.review, after.human, after.is_escalated) == (decided.review, decided.human, True)
        assert Escalation.objects.get().kind == "disagreement"
        assert progress.run_progress(decided.run).escalated == 0
        assert progress.run_progress(decided.run).done == 1

    def test_revision_by_the_lead_closes_a_late_review(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        decide(fresh(decided), lea, by=decisions.revise, scores=OTHER)
        assert (fresh(decided).human_reviewer_id, fresh(decided).is_escalated) == ("lea", False)
        assert Escalation.objects.get().outcome == "decided"
        assert independent_reviews.open_reviews(decided) == []

    def test_upheld_decision_closes_a_late_review(self, decided: Evaluation, bo: User, lea: User) -> None:
        add(decided, bo, scores=OTHER)
        raised = Escalation.objects.get()
        with pytest.raises(Conflict, match="Uphold the decision, or revise it"):
            escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="upheld", answer="")
        after = fresh(decided)
        assert (after.human, after.is_escalated, independent_reviews.open_reviews(after)) == (
            decided.human,
            False,
            [],
        )

    def test_late_review_that_differs_blocks_changes_by_others(
        self, decided: Evaluation, ana: User, bo: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        said = r"A later review disagrees with this decision\. A lead will decide\.$"
        with pytest.raises(Conflict, match=said):
            decide(fresh(decided), ana, by=decisions.revise)
        with pytest.raises(Conflict, match=said):
            undo.undo(run=decided.run, actor=ana)

    @pytest.mark.slow
    @pytest.mark.parametrize("scores", [SCORES, OTHER])
    def test_late_review_can_be_undone(self, decided: Evaluation, bo: User, scores: dict[str, Any]) -> None:
        add(decided, bo, scores=scores)
        undo.undo(run=decided.run, actor=bo)
        after = fresh(decided)
        assert (after.human, after.is_escalated, independent_reviews.open_reviews(after)) == (
            decided.human,
            False,
            [],
        )
        assert not Escalation.objects.filter(outcome="open").exists()
        add(decided, bo)

    def test_late_review_is_by_another_reviewer_and_only_once(
        self, decided: Evaluation, ana: User, bo: User
    ) -> None:
        with pytest.raises(Conflict, match="The current decision is yours"):
            add(decided, ana)
        review = add(decided, bo)
        assert add(decided, bo, submission=review.submission) == review
        with pytest.raises(Conflict, match="You have already reviewed this record"):
            add(decided, bo)

    def test_late_review_needs_an_unchanged_decision_made_here(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        version = decided.version
        decide(decided, ana, by=decisions.revise)
        with pytest.raises(Conflict, match=r"^ana submitted this at .* You agree on every criterion\.$"):
            add(decided, bo, version=version)
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Again.")
        with pytest.raises(Conflict, match="This record is no longer decided"):
            add(decided, bo)

    @pytest.mark.slow
    def test_reopened_record_with_a_late_review_stays_escalated(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Both again.")
        assert claims.claim_next(run=decided.run, reviewer=ana) is None
        decide(fresh(decided), lea)
        assert (fresh(decided).human_reviewer_id, fresh(decided).is_escalated) == ("lea", False)

    @pytest.mark.slow
    def test_late_review_does_not_change_an_export(self, ana: User, bo: User) -> None:
        import_data(file_of(line("eval_a"), line("eval_b")))
        record = Evaluation.objects.get(evaluation_id="eval_a")
        decide(record, ana)
        before = export_data()
        add(record, bo, scores=OTHER)
        assert export_data() == before
        assert export_data(only="reviewed").count(b"\n") == 1

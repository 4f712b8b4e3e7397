"""Independent reviews: the first one, agreement, new evidence and undo."""

from functools import partial
from typing import Any

import pytest
from django.db.models import Q

from reviews.dashboard import daily_counts, reviewer_activity
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Evaluation, IndependentReview, Rating, Review, Run, User
from reviews.queue import claims, progress
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import decisions, drafts, independent_reviews, undo
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.independent_reviews import OTHER, actions, differ
from tests.support.lines import import_data, line
from tests.support.threads import together
from tests.support.work import SCORES, decide, fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """Each record is for two people."""
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


class TestFirstReview:
    def test_first_review_is_not_the_current_decision(self, evaluation: Evaluation, ana: User) -> None:
        before = fresh(evaluation).human
        review = decide(evaluation, ana)
        after = fresh(evaluation)
        assert (after.review, after.human, after.version) == (None, before, evaluation.version)
        assert (review.version, review.independent_review.is_open) == (1, True)
        assert not Rating.objects.exists()

    def test_first_review_releases_the_record_and_deletes_the_draft(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        drafts.save(evaluation_id=evaluation.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
        decide(evaluation, ana)
        assert fresh(evaluation).claimed_by is None
        assert drafts.find_draft(evaluation, ana) is None

    def test_record_with_first_review_is_offered_to_others(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        assert claims.claim_next(run=evaluation.run, reviewer=ana) is None
        assert claims.claim_next(run=evaluation.run, reviewer=ana, condition=Q(pk=evaluation.pk)) is None
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_first_review_removes_the_assignment(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        Evaluation.objects.update(assigned_to=ana)
        decide(fresh(evaluation), ana)
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_reviewer_cannot_review_the_record_twice(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        said = r"^You submitted your review at \d\d:\d\d UTC\. Waiting for the other reviewers\.$"
        with pytest.raises(RecordUnavailable, match=said):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=said):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(Conflict, match=said):
            decide(evaluation, ana)

    def test_first_review_sent_twice_is_saved_once(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        assert decide(evaluation, ana, submission=review.submission) == review
        assert IndependentReview.objects.count() == 1

    def test_first_review_is_in_the_audit_log_with_its_scores(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana, comments="Step 2.", causes={"Clarity": "misread"})
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.detail["version"]) == ("independent review", ana, 1)
        assert event.detail["scores"] == SCORES
        assert (event.detail["comments"], event.detail["causes"]) == ("Step 2.", {"Clarity": "misread"})
        assert "human" not in event.detail

    def test_first_review_counts_as_activity(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        assert [
            (one.reviewer, one.done) for one in reviewer_activity.team_figures(WorkSelection()).reviewers
        ] == [(ana, 1)]

    @pytest.mark.slow
    def test_open_review_is_in_no_override_metric(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        def figures() -> list[Any]:
            selection = WorkSelection(run=evaluation.run)
            by_criterion = (
                daily_counts.criterion_overrides(selection),
                daily_counts.criterion_overrides_by_reviewer(selection),
            )
            worked = [
                (one.compared, one.judged, one.longest_agreement)
                for one in reviewer_activity.team_figures(selection).reviewers
            ]
            return [*by_criterion, worked, [one.changed for one in daily_counts.day_figures(selection)]]

        judged = {"Clarity": "No", "Conclusion Accuracy": "No"}
        decide(evaluation, ana, judged=judged)
        assert figures() == [[], [], [(0, 0, 0)], [0]]
        decide(fresh(evaluation), bo, judged=judged)
        criteria, by_reviewer, worked, changed = figures()
        assert [(one.criterion, one.judged, one.overridden) for one in criteria] == [
            ("Clarity", 2, 2),
            ("Conclusion Accuracy", 2, 0),
        ]
        assert len(by_reviewer) == 4
        assert worked == [(1, 2, 0), (1, 2, 0)]
        assert changed == [1, 1]

    def test_record_with_first_review_counts_in_queues_of_others_only(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        mine, of_bo = (
            progress.reviewer_progress(run=evaluation.run, reviewer=person) for person in (ana, bo)
        )
        assert (mine.left, mine.reviewed_by_you) == (0, 1)
        assert (of_bo.left, of_bo.reviewed_by_you) == (1, 0)

    def test_review_outside_the_overlap_share_is_a_decision(self, evaluation: Evaluation, ana: User) -> None:
        Run.objects.update(overlap_share=0)
        decide(evaluation, ana)
        assert fresh(evaluation).human_review_status == "Completed"
        assert not IndependentReview.objects.exists()


class TestAgreement:
    def test_last_agreeing_review_is_the_current_decision(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana, comments="Mine.")
        last = decide(evaluation, bo, comments="And mine.")
        after = fresh(evaluation)
        assert (after.review, after.human_review_status, after.human_reviewer_id) == (last, "Completed", "bo")
        assert (after.human_review_comments, after.version) == ("And mine.", evaluation.version + 1)
        assert not IndependentReview.objects.filter(is_open=True).exists()
        assert actions(evaluation) == ["independent review", "independent review", "resolve"]
        detail = AuditEvent.objects.get(action="resolve").detail
        assert (detail["version"], detail["independent_reviews"]) == (2, [1, 2])
        assert detail["human"]["after"]["human_reviewer_id"] == "bo"

    def test_reviews_with_other_justifications_agree(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo, scores={name: {"score": one["score"]} for name, one in SCORES.items()})
        assert fresh(evaluation).is_done

    @pytest.mark.slow
    def test_equal_numbers_agree_but_a_number_and_a_text_differ(self, run: Run, ana: User, bo: User) -> None:
        for other, agrees in ((4.0, True), ("4", False), (True, False)):
            record = EvaluationFactory.create(run=run)
            decide(record, ana, scores={"Clarity": {"score": 4}}, origins={})
            decide(record, bo, scores={"Clarity": {"score": other}}, origins={})
            assert fresh(record).is_done is agrees

    def test_agreeing_reviews_wait_for_the_required_number(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User
    ) -> None:
        Run.objects.update(overlap=3)
        for person in (ana, bo):
            decide(fresh(evaluation), person)
            assert fresh(evaluation).review is None
        decide(fresh(evaluation), cy)
        assert fresh(evaluation).human_reviewer_id == "cy"

    def test_agreeing_reviews_do_not_wait_after_the_number_is_reduced(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        Run.objects.update(overlap_share=0)
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).is_done

    def test_agreement_closes_the_reviews_for_later_decisions(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        decisions.reopen(evaluation_id=evaluation.pk, actor=bo, reason="Again.")
        review = decide(fresh(evaluation), ana, scores=OTHER)
        assert fresh(evaluation).review == review


class TestUndo:
    @pytest.mark.slow
    def test_undone_independent_review_returns_the_record(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana, comments="Hm.")
        taken = undo.undo(run=evaluation.run, actor=ana).evaluation
        assert (taken, taken.claimed_by) == (evaluation, ana)
        draft = drafts.find_draft(evaluation, ana)
        assert draft
        assert ["comments", "Hm."] in draft.fields
        assert independent_reviews.open_reviews(evaluation) == []
        assert actions(evaluation) == ["independent review", "undo independent review"]
        decide(fresh(evaluation), ana)
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).review == Review.objects.get(version=3)

    def test_undone_independent_review_keeps_the_claim_of_another(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        undo.undo(run=evaluation.run, actor=ana)
        assert fresh(evaluation).claimed_by == bo
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).review is None

    @pytest.mark.parametrize("who", ["ana", "bo"])
    def test_undone_review_of_a_disagreement_ends_the_escalation(
        self, evaluation: Evaluation, ana: User, bo: User, who: str
    ) -> None:
        raised = differ(evaluation, ana, bo)
        person = {"ana": ana, "bo": bo}[who]
        undo.undo(run=evaluation.run, actor=person)
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("withdrawn", person)
        assert (fresh(evaluation).is_escalated, fresh(evaluation).claimed_by) == (False, person)

    def test_undo_is_refused_while_a_lead_adjudicates(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        differ(evaluation, ana, bo)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        with pytest.raises(Conflict, match=r"lea has been reviewing this since"):
            undo.undo(run=evaluation.run, actor=ana)

    @pytest.mark.slow
    def test_undone_last_review_reopens_the_others(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        undo.undo(run=evaluation.run, actor=bo)
        after = fresh(evaluation)
        assert (after.review, after.human_review_status, after.claimed_by) == (None, "Needs Review", bo)
        assert [one.reviewer for one in independent_reviews.open_reviews(after)] == [ana]
        claims.release(evaluation_id=evaluation.pk, actor=bo)
        decide(fresh(evaluation), cy)
        assert fresh(evaluation).human_reviewer_id == "cy"

    def test_undo_of_a_review_that_others_completed_is_refused(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        with pytest.raises(
            Conflict, match=r"bo decided this after the independent reviews at \d\d:\d\d UTC\.$"
        ):
            undo.undo(run=evaluation.run, actor=ana)

    def test_undone_review_does_not_count_as_activity(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        undo.undo(run=evaluation.run, actor=ana)
        assert reviewer_activity.team_figures(WorkSelection()).reviewers == []


class TestNewEvidence:
    @pytest.fixture
    def record(self, ana: User) -> Evaluation:
        """With ana's independent review."""
        import_data(line("eval_a"))
        Run.objects.update(overlap_share=1)
        record = Evaluation.objects.get()
        decide(record, ana)
        return record

    @pytest.mark.slow
    def test_new_evidence_requires_new_reviews(self, record: Evaluation, ana: User, bo: User) -> None:
        import_data(line("eval_a", aggregated_score="Fail"))
        assert independent_reviews.open_reviews(record) == []
        decide(fresh(record), bo)
        assert claims.claim_next(run=record.run, reviewer=ana) == record
        decide(fresh(record), ana)
        assert fresh(record).human_reviewer_id == "ana"

    @pytest.mark.slow
    def test_new_evidence_keeps_an_adjudicated_disagreement(self, record: Evaluation, bo: User) -> None:
        decide(record, bo, scores=OTHER)
        import_data(line("eval_a", aggregated_score="Fail"))
        assert len(independent_reviews.open_reviews(record)) == 2

    @pytest.mark.slow
    def test_other_spelling_of_a_line_keeps_the_reviews(self, record: Evaluation) -> None:
        import_data(line("eval_a").replace(b"{", b"{ ", 1))
        assert len(independent_reviews.open_reviews(record)) == 1


class TestReviewerShortage:
    def test_shortage_is_explained_if_there_are_too_few_reviewers(self, run: Run, ana: User) -> None:
        assert independent_reviews.reviewer_shortage(run).startswith(
            "2 people are to review the same record and only 1 person can."
        )

    def test_enough_reviewers_are_no_shortage(self, run: Run, ana: User, lea: User, eve: User) -> None:
        assert independent_reviews.reviewer_shortage(run) == ""
        lea.is_active = False
        lea.save()
        assert independent_reviews.reviewer_shortage(run)

    def test_run_without_overlap_has_no_shortage(self, run: Run) -> None:
        run.overlap_share = 0
        assert independent_reviews.reviewer_shortage(run) == ""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_concurrent_last_reviews_give_one_resolution(
    evaluation: Evaluation, ana: User, bo: User, cy: User
) -> None:
    decide(evaluation, ana)
    outcomes = together(partial(decide, evaluation, bo), partial(decide, evaluation, cy), expecting=Conflict)
    (review,) = [outcome for outcome in outcomes if isinstance(outcome, Review)]
    (refused,) = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert refused.reason.startswith(f"{review.reviewer.name} submitted this at")
    assert fresh(evaluation).review == review
    assert AuditEvent.objects.filter(action="resolve").count() == 1

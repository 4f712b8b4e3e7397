"""Decisions on sampled records: confirmations, overrides and independent reviews."""

from typing import Any

import pytest

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.review import decisions, escalations, undo
from tests.support.sampled_runs import (
    CORRECTED,
    count_sampled_verdicts,
    one_drawn,
    reload,
    run_with_sample,
    set_share,
)
from tests.support.work import agree, decide, restore_version

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestDecisionsOnSampledRecords:
    @pytest.fixture
    def run(self) -> Run:
        return run_with_sample(0.3)[0]

    def test_decision_without_a_change_confirms_a_sampled_record(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        review = agree(evaluation, ana)
        confirmed = reload(evaluation)
        assert (confirmed.human_review_status, confirmed.review) == ("Not Required", review)
        assert confirmed.is_confirmed
        assert confirmed.is_decided
        assert not confirmed.is_done
        assert {confirmed.human[name] for name in HUMAN_FIELDS[1:]} == {None}
        assert review.is_sampled
        assert count_sampled_verdicts(run) == 1

    def test_confirmation_is_a_submit_in_the_audit_log_that_keeps_the_line(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        human = AuditEvent.objects.get(action="submit").detail["human"]
        assert human["keeps_line"] is True
        assert human["after"]["human_review_status"] == "Not Required"

    def test_decision_with_a_comment_only_confirms_a_sampled_record(self, run: Run, ana: User) -> None:
        review = agree(one_drawn(), ana, comments="Checked by hand.")
        assert reload(review.evaluation).is_confirmed
        assert review.comments == "Checked by hand."

    @pytest.mark.parametrize(
        "correction",
        [
            {"scores": CORRECTED},
            {"scores": {"Clarity": {"score": "Yes", "justification": "Another reason."}}},
            {"causes": {"Clarity": "right score, wrong reasoning"}},
        ],
        ids=["a score", "a justification", "a cause"],
    )
    def test_override_on_a_sampled_record_is_like_any_other(
        self, run: Run, ana: User, correction: dict[str, Any]
    ) -> None:
        review = agree(one_drawn(), ana, **correction)
        corrected = reload(review.evaluation)
        assert corrected.human_review_status == "Completed"
        assert corrected.human_reviewer_id == "ana"
        assert corrected.human_corrected_scores == review.corrected_scores
        assert "keeps_line" not in AuditEvent.objects.get(action="submit").detail["human"]

    def test_decision_without_a_change_completes_a_flagged_record(self, run: Run, ana: User) -> None:
        flagged = Evaluation.objects.select_related("run").get(evaluation_id="f1")
        agree(flagged, ana)
        assert reload(flagged).human_review_status == "Completed"

    def test_confirmation_can_be_undone(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        undo.undo(run=run, actor=ana)
        undone = reload(evaluation)
        assert (undone.human_review_status, undone.review, undone.claimed_by) == ("Needs Review", None, ana)
        assert count_sampled_verdicts(run) == 0

    def test_confirmation_can_be_revised_to_an_override_and_back(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        decide(reload(evaluation), ana, by=decisions.revise, scores=CORRECTED)
        assert reload(evaluation).human_review_status == "Completed"
        agree(reload(evaluation), ana, by=decisions.revise)
        confirmed = reload(evaluation)
        assert confirmed.is_confirmed
        assert confirmed.human_corrected_scores is confirmed.human_reviewer_id is None
        assert confirmed.human_review_timestamp is None
        assert [
            event.action for event in AuditEvent.objects.filter(evaluation=evaluation).order_by("pk")
        ] == [
            "submit",
            "revise",
            "revise",
        ]

    def test_confirmation_can_be_restored(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        decide(reload(evaluation), ana, by=decisions.revise, scores=CORRECTED)
        restore_version(reload(evaluation), ana, 1)
        assert reload(evaluation).is_confirmed
        restore_version(reload(evaluation), ana, 2)
        assert reload(evaluation).human_corrected_scores == CORRECTED

    def test_reopened_sampled_record_has_no_decision(self, run: Run, ana: User, lea: User) -> None:
        evaluation = one_drawn()
        review = agree(evaluation, ana)
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        reopened = reload(evaluation)
        assert (reopened.human_review_status, reopened.review) == ("Needs Review", None)
        assert reopened.is_sampled
        assert count_sampled_verdicts(run) == 0
        assert review.overturns.get().reason == "Look again."
        with pytest.raises(Conflict):
            undo.undo(run=run, actor=ana)

    def test_closed_sampled_record_keeps_its_line(self, run: Run, ana: User, lea: User) -> None:
        evaluation = one_drawn()
        raised = escalations.escalate(
            evaluation_id=evaluation.pk, reviewer=ana, kind="cannot judge", reason="no reference", note=""
        )
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="So it is.")
        assert reload(evaluation).is_confirmed
        assert count_sampled_verdicts(run) == 0

    def test_late_decision_on_a_sampled_record_learns_how_the_decisions_differ(
        self, run: Run, ana: User, bo: User
    ) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        with pytest.raises(Conflict, match=r"ana submitted this .* You differ on 1 criterion\."):
            decide(evaluation, bo, scores=CORRECTED)

    def test_confirmation_can_be_picked_for_a_spot_check(self, run: Run, ana: User, lea: User) -> None:
        review = agree(one_drawn(), ana)
        [drawn_check] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=5, actor=lea)
        assert drawn_check.review == review
        assert list(spot_checks.open_checks(lea)) == [drawn_check]
        spot_checks.reopen(check_id=drawn_check.pk, actor=lea, reason="Step two.")
        assert list(spot_checks.open_checks(lea)) == []


class TestIndependentReviews:
    @pytest.fixture
    def run(self) -> Run:
        run, _ = run_with_sample(0.1)
        run.overlap_share = 1
        run.save()
        return run

    def test_independent_reviews_without_a_change_confirm_a_sampled_record(
        self, run: Run, ana: User, bo: User
    ) -> None:
        agree(one_drawn(), ana)
        assert set_share(run, 0) == (0, 0)
        assert one_drawn().in_queue
        agree(one_drawn(), bo)
        assert one_drawn().is_confirmed

    def test_independent_reviews_with_the_same_override_complete_a_sampled_record(
        self, run: Run, ana: User, bo: User
    ) -> None:
        for reviewer in (ana, bo):
            decide(one_drawn(), reviewer, scores=CORRECTED)
        assert one_drawn().human_review_status == "Completed"


class TestFlagReasons:
    def test_flag_reasons_are_hidden_until_a_record_is_decided(self, ana: User) -> None:
        run, _ = run_with_sample(0.3)
        flagged = Evaluation.objects.select_related("run").get(evaluation_id="f1")
        assert flagged.hides_reasons
        assert one_drawn().hides_reasons
        agree(flagged, ana)
        assert not reload(flagged).hides_reasons
        another = one_drawn()
        claims.claim(evaluation_id=another.pk, reviewer=ana)
        set_share(run, 0)
        assert reload(another).hides_reasons
        agree(another, ana)
        assert not reload(another).hides_reasons
        assert not Run.objects.get().draws_samples


def test_review_says_whether_its_record_was_sampled(ana: User) -> None:
    run_with_sample(0.1)
    agree(one_drawn(), ana)
    agree(Evaluation.objects.select_related("run").get(evaluation_id="f1"), ana)
    assert sorted(Review.objects.values_list("evaluation__needs_human_review", "is_sampled")) == [
        (False, True),
        (True, False),
    ]

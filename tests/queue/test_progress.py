"""Counts of a run's records by state, and of its queue for one reviewer."""

import re

import pytest
from django.db.models import Q
from pytest_django import DjangoAssertNumQueries

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.queue.progress import (
    PROGRESS_OF_RUN,
    Progress,
    ReviewerProgress,
    all_progress,
    reviewer_progress,
    run_progress,
)
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide, end_claim, evaluations

pytestmark = pytest.mark.django_db


def send_to_a_lead(evaluation: Evaluation, reviewer: User) -> None:
    escalations.escalate(
        evaluation_id=evaluation.pk, reviewer=reviewer, kind="cannot judge", reason="no response", note=""
    )


class TestProgress:
    def test_progress_counts_each_record_in_one_state(self, run: Run, ana: User) -> None:
        held, expired, escalated, *_ = evaluations(run, tasks=["1"] * 6)
        evaluations(run, tasks=["2"], human_review_status="Pending")
        evaluations(run, tasks=["3"] * 2, human_review_status="Completed")
        evaluations(run, tasks=["4"], human_review_status="Reviewed")
        evaluations(run, tasks=["5"] * 4, human_review_status="Not Required")
        EvaluationFactory.create()
        for evaluation in (held, expired):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        end_claim(expired)
        send_to_a_lead(escalated, ana)
        progress = run_progress(run)
        assert progress == Progress(total=14, waiting=5, claimed=1, escalated=1, done=3, not_required=4)
        assert (progress.left, progress.to_review) == (7, 10)

    def test_progress_changes_with_each_decision(self, run: Run, ana: User) -> None:
        for left, evaluation in zip((2, 1, 0), evaluations(run, tasks=["1"] * 3), strict=True):
            decide(evaluation, ana)
            assert (run_progress(run).left, run_progress(run).done) == (left, 3 - left)

    def test_progress_follows_a_statement_that_changes_several_runs(self, run: Run) -> None:
        evaluations(run, tasks=["1"] * 3)
        other = EvaluationFactory.create(human_review_status="Not Required")
        Evaluation.objects.update(human_review_status="Completed")
        assert (run_progress(run).done, run_progress(other.run).done) == (3, 1)
        assert run_progress(run).left == run_progress(other.run).not_required == 0

    def test_escalated_record_claimed_by_a_lead_counts_as_escalated(
        self, run: Run, ana: User, lea: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        send_to_a_lead(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        assert run_progress(run) == Progress(1, waiting=0, claimed=0, escalated=1, done=0, not_required=0)

    def test_escalated_record_decided_by_a_file_counts_as_done(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        send_to_a_lead(evaluation, ana)
        Evaluation.objects.filter(pk=evaluation.pk).update(human_review_status="Completed")
        assert run_progress(run) == Progress(1, waiting=0, claimed=0, escalated=0, done=1, not_required=0)

    def test_statement_whose_plan_is_kept_has_only_the_run_as_a_parameter(self) -> None:
        assert {*re.findall(r"%\((\w+)\)s", PROGRESS_OF_RUN)} == {"run"}

    @pytest.mark.parametrize("count", [1, 3])
    def test_progress_of_all_runs_comes_newest_first_in_two_queries(
        self, count: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        runs = RunFactory.create_batch(count)
        evaluations(runs[0], tasks=["1"])
        with django_assert_num_queries(2):
            found = all_progress(Run.objects.all())
        assert [listed for listed, _ in found] == runs[::-1]
        assert found[-1][1] == Progress(1, 1, 0, 0, 0, 0)


class TestReviewerProgress:
    @pytest.mark.slow
    def test_reviewer_progress_counts_own_records_and_those_of_others(
        self, run: Run, ana: User, bo: User
    ) -> None:
        mine, theirs, later, skipped, both, assigned, escalated, left, *_ = evaluations(run, tasks=["1"] * 10)
        claims.claim(evaluation_id=mine.pk, reviewer=ana)
        next_free = claims.claim(evaluation_id=theirs.pk, reviewer=bo).claimed_until
        claims.claim(evaluation_id=later.pk, reviewer=bo)
        for evaluation in (skipped, both):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        claims.claim(evaluation_id=both.pk, reviewer=bo)
        Evaluation.objects.filter(pk=assigned.pk).update(assigned_to=bo)
        send_to_a_lead(escalated, bo)
        claims.claim(evaluation_id=left.pk, reviewer=bo)
        end_claim(left)
        assert reviewer_progress(run=run, reviewer=ana) == ReviewerProgress(
            left=4,
            skipped_by_you=1,
            claimed_by_others=3,
            assigned_to_others=1,
            escalated=1,
            next_expiry_at=next_free,
        )

    @pytest.mark.slow
    def test_reviewer_can_claim_as_many_records_as_are_left(self, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"] * 3)
        evaluations(run, tasks=["2"] * 2, assigned_to=bo)
        evaluations(run, tasks=["3"], assigned_to=ana)
        claims.claim_next(run=run, reviewer=bo)
        left = reviewer_progress(run=run, reviewer=ana).left
        found = 0
        while evaluation := claims.claim_next(run=run, reviewer=ana):
            decide(evaluation, ana)
            found += 1
        assert found == left == 4

    def test_condition_filters_the_counts(self, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"] * 2)
        wanted, _, _ = evaluations(run, tasks=["2"] * 3)
        claims.claim(evaluation_id=wanted.pk, reviewer=bo)
        standing = reviewer_progress(run=run, reviewer=ana, condition=Q(task_id="2"))
        assert (standing.left, standing.claimed_by_others) == (2, 1)

    def test_reviewer_progress_of_an_empty_queue_is_zero(self, run: Run, ana: User) -> None:
        assert reviewer_progress(run=run, reviewer=ana) == ReviewerProgress(0, 0, 0, 0, 0, None)

"""Presence: the reviewers who are active now."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from reviews.dashboard.presence import RECENTLY, active_reviewers
from reviews.dashboard.selection import WorkSelection
from reviews.models import Draft, Evaluation, Run, User
from reviews.queue import claims
from reviews.review import drafts
from tests.support.factories import EvaluationFactory
from tests.support.work import claim_expiry, decide, end_claim, evaluations

pytestmark = pytest.mark.django_db


class TestActiveReviewers:
    def test_reviewer_with_a_claim_is_active_since_last_seen(self, run: Run, ana: User) -> None:
        first, second = evaluations(run, tasks=["1"] * 2)
        claims.claim(evaluation_id=second.pk, reviewer=ana)
        last = claims.claim(evaluation_id=first.pk, reviewer=ana)
        [present] = active_reviewers(WorkSelection())
        assert (present.reviewer, present.claims) == (ana, [second, first])
        assert present.last_seen == claim_expiry(last) - settings.CLAIM_LENGTH

    def test_reviewer_with_a_recent_decision_is_active(self, run: Run, ana: User) -> None:
        review = decide(evaluations(run, tasks=["1"])[0], ana)
        assert [(one.reviewer, one.claims, one.last_seen) for one in active_reviewers(WorkSelection())] == [
            (ana, [], review.submitted_at)
        ]

    def test_reviewer_with_a_recent_draft_is_active(self, ana: User) -> None:
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        drafts.save(evaluation_id=held.pk, reviewer=ana, fields=[["comments", "So."]], revision=1)
        Evaluation.objects.update(claimed_by=None, claimed_until=None)
        assert [one.reviewer for one in active_reviewers(WorkSelection())] == [ana]
        Draft.objects.update(saved_at=timezone.now() - RECENTLY)
        assert active_reviewers(WorkSelection()) == []

    def test_reviewer_with_a_long_expired_claim_is_not_active(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        end_claim(evaluation)
        assert active_reviewers(WorkSelection()) == []

    def test_prefetched_record_does_not_count_as_activity(self, run: Run, ana: User) -> None:
        first, _ = evaluations(run, tasks=["1"] * 2)
        claimed = claims.claim(evaluation_id=first.pk, reviewer=ana)
        assert claims.prefetch_next(run=run, reviewer=ana, after=[first.pk])
        [present] = active_reviewers(WorkSelection())
        assert (present.claims, present.last_seen) == ([first], claim_expiry(claimed) - settings.CLAIM_LENGTH)
        claims.release(evaluation_id=first.pk, actor=ana)
        assert Evaluation.objects.get(claimed_by=ana).claim_is_prefetched
        assert active_reviewers(WorkSelection()) == []

    def test_log_in_without_work_does_not_count_as_activity(
        self, run: Run, as_ana: Client, ana: User
    ) -> None:
        evaluations(run, tasks=["1"])
        assert as_ana.get("/").status_code == 200
        User.objects.filter(pk=ana.pk).update(last_login=timezone.now())
        assert active_reviewers(WorkSelection()) == []

    def test_presence_can_be_limited_to_a_run(self, run: Run, ana: User, bo: User) -> None:
        claims.claim(evaluation_id=evaluations(run, tasks=["1"])[0].pk, reviewer=ana)
        claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=bo)
        assert [one.reviewer for one in active_reviewers(WorkSelection(run))] == [ana]
        assert len(active_reviewers(WorkSelection())) == 2

    def test_reviewer_seen_last_comes_first(self, run: Run, ana: User, bo: User) -> None:
        for evaluation, reviewer in zip(evaluations(run, tasks=["1"] * 2), (ana, bo), strict=True):
            claims.claim(evaluation_id=evaluation.pk, reviewer=reviewer)
        assert [one.reviewer for one in active_reviewers(WorkSelection())] == [bo, ana]
        later = timezone.now() + settings.CLAIM_LENGTH
        Evaluation.objects.filter(claimed_by=ana).update(claimed_until=later)
        assert [one.reviewer for one in active_reviewers(WorkSelection())] == [ana, bo]

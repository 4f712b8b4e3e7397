"""Presence: the reviewers who are active now."""

import pytest
from django.conf import settings
from django.utils import timezone

from reviews.dashboard.presence import RECENTLY, active_reviewers
from reviews.models import Draft, Evaluation, Run, User
from reviews.queue import claims
from reviews.review import drafts
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide, end_claim, evaluations, held_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


class TestNowWorking:
    def test_is_who_holds_something_and_since_when_they_were_seen(self, run: Run, ana: User) -> None:
        first, second = evaluations(run, tasks=["1"] * 2)
        claims.claim(evaluation_id=second.pk, reviewer=ana)
        last = claims.claim(evaluation_id=first.pk, reviewer=ana)
        [present] = active_reviewers()
        assert (present.reviewer, present.claims) == (ana, [second, first])
        assert present.last_seen == held_until(last) - settings.CLAIM_LENGTH

    def test_is_who_decided_of_late(self, run: Run, ana: User) -> None:
        review = decide(evaluations(run, tasks=["1"])[0], ana)
        assert [(one.reviewer, one.claims, one.last_seen) for one in active_reviewers()] == [
            (ana, [], review.submitted_at)
        ]

    def test_is_who_saved_a_draft_of_late(self, ana: User) -> None:
        held = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        drafts.save(evaluation_id=held.pk, reviewer=ana, fields=[["comments", "So."]], revision=1)
        Evaluation.objects.update(claimed_by=None, claimed_until=None)
        assert [one.reviewer for one in active_reviewers()] == [ana]
        Draft.objects.update(saved_at=timezone.now() - RECENTLY)
        assert active_reviewers() == []

    def test_is_not_who_let_a_claim_run_out_long_ago(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        end_claim(evaluation)
        assert active_reviewers() == []

    def test_is_of_one_run(self, run: Run, ana: User, bo: User) -> None:
        claims.claim(evaluation_id=evaluations(run, tasks=["1"])[0].pk, reviewer=ana)
        claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=bo)
        assert [one.reviewer for one in active_reviewers(run)] == [ana]
        assert len(active_reviewers()) == 2

    def test_comes_last_seen_first(self, run: Run, ana: User, bo: User) -> None:
        for evaluation, reviewer in zip(evaluations(run, tasks=["1"] * 2), (ana, bo), strict=True):
            claims.claim(evaluation_id=evaluation.pk, reviewer=reviewer)
        assert [one.reviewer for one in active_reviewers()] == [bo, ana]
        later = timezone.now() + settings.CLAIM_LENGTH
        Evaluation.objects.filter(claimed_by=ana).update(claimed_until=later)
        assert [one.reviewer for one in active_reviewers()] == [ana, bo]

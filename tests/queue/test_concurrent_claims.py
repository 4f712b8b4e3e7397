"""Concurrent claims, each with its own connection."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import transaction
from django.db.models import Q

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.queue import claims
from reviews.records.conflicts import RecordUnavailable
from tests.support.factories import EvaluationFactory, RunFactory, UserFactory
from tests.support.threads import together
from tests.support.work import decide, end_claim, evaluations

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def hand_over(evaluation: Evaluation, _reviewer: User) -> None:
    """Leave the record claimed by somebody else, so that the reviewer claims another one."""
    Evaluation.objects.filter(pk=evaluation.pk).update(claimed_by=User.objects.get(username="other"))


def claim_all(run: Run, reviewer: User, then: Callable[[Evaluation, User], object]) -> list[Evaluation]:
    """Claim records until none are left, call `then` on each, and return them."""
    claimed = []
    while evaluation := claims.claim_next(run=run, reviewer=reviewer):
        then(evaluation, reviewer)
        claimed.append(evaluation)
    return claimed


def go_through(run: Run, reviewer: User, condition: Q) -> list[int]:
    """Decide records until none are left, prefetching the next one each time. Return their ids."""
    decided = []
    while evaluation := claims.claim_next(run=run, reviewer=reviewer, condition=condition):
        spare = claims.prefetch_next(run=run, reviewer=reviewer, after=[evaluation.pk], condition=condition)
        assert spare != evaluation
        decide(evaluation, reviewer)
        decided.append(evaluation.pk)
    return decided


@pytest.mark.slow
class TestSixteenReviewers:
    @pytest.mark.parametrize(
        ("then", "count"),
        [
            (hand_over, 80),
            pytest.param(decide, 240, marks=pytest.mark.exhaustive),
        ],
    )
    def test_sixteen_reviewers_claim_each_record_once(
        self, then: Callable[[Evaluation, User], object], count: int
    ) -> None:
        run = RunFactory.create()
        made = evaluations(run, tasks=[str(number // 5) for number in range(count)])
        UserFactory.create(username="other")
        reviewers = UserFactory.create_batch(16, role="reviewer")
        shares = together(*(partial(claim_all, run, reviewer, then) for reviewer in reviewers))
        handed_out = [evaluation.pk for share in shares for evaluation in share]
        assert sorted(handed_out) == [evaluation.pk for evaluation in made]

    @pytest.mark.parametrize(
        ("condition", "count"),
        [
            (Q(model_id="b"), 40),
            pytest.param(claims.EVERYTHING, 80, marks=pytest.mark.exhaustive),
        ],
    )
    def test_sixteen_reviewers_with_prefetch_and_filters_claim_each_record_once(
        self, condition: Q, count: int
    ) -> None:
        run = RunFactory.create()
        tasks = [str(number // 5) for number in range(count)]
        made = evaluations(run, tasks=tasks, model_id="a") + evaluations(run, tasks=tasks, model_id="b")
        wanted = [one.pk for one in made if condition == claims.EVERYTHING or one.model_id == "b"]
        reviewers = UserFactory.create_batch(16, role="reviewer")
        shares = together(*(partial(go_through, run, reviewer, condition) for reviewer in reviewers))
        assert sorted(pk for share in shares for pk in share) == wanted

    def test_one_of_sixteen_claims_of_a_record_wins_and_the_others_name_the_winner(self) -> None:
        evaluation = EvaluationFactory.create()
        reviewers = UserFactory.create_batch(16, role="reviewer")
        outcomes = together(
            *(
                partial(claims.claim, evaluation_id=evaluation.pk, reviewer=reviewer)
                for reviewer in reviewers
            ),
            expecting=RecordUnavailable,
        )
        [claimed] = [outcome for outcome in outcomes if isinstance(outcome, Evaluation)]
        reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, RecordUnavailable)}
        assert claimed.claimed_by
        assert claimed.claimed_by in reviewers
        claimed_at = AuditEvent.objects.get(action="claim").at
        assert reasons == {f"{claimed.claimed_by.name} has been reviewing this since {claimed_at:%H:%M} UTC."}


class TestTwoClaims:
    def test_two_claims_of_the_last_record_have_one_winner(self, ana: User, bo: User) -> None:
        evaluation = EvaluationFactory.create()
        claim = partial(claims.claim_next, run=evaluation.run)
        outcomes = together(partial(claim, reviewer=ana), partial(claim, reviewer=bo))
        assert sorted(outcomes, key=bool) == [None, evaluation]

    def test_two_claims_after_an_expired_one_have_one_winner(self, ana: User, bo: User, lea: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=lea)
        end_claim(evaluation)
        claim = partial(claims.claim_next, run=evaluation.run)
        outcomes = together(partial(claim, reviewer=ana), partial(claim, reviewer=bo))
        assert sorted(outcomes, key=bool) == [None, evaluation]

    def test_double_click_claims_one_record(self, ana: User) -> None:
        run = RunFactory.create()
        evaluations(run, tasks=["1"] * 8)
        clicks = [partial(claims.claim_next, run=run, reviewer=User.objects.get(pk=ana.pk)) for _ in range(4)]
        outcomes = together(*clicks)
        assert outcomes[0]
        assert outcomes == outcomes[:1] * 4
        assert Evaluation.objects.filter(claimed_by=ana).count() == 1
        assert AuditEvent.objects.filter(action="claim").count() == 1

    def test_claim_does_not_wait_for_an_uncommitted_claim(self, ana: User, bo: User) -> None:
        run = RunFactory.create()
        first, second = evaluations(run, tasks=["1", "1"])
        with transaction.atomic():
            assert claims.claim_next(run=run, reviewer=ana) == first
            assert together(partial(claims.claim_next, run=run, reviewer=bo)) == [second]

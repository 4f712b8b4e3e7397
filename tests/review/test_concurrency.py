"""Concurrent claims, submits and imports, each with its own connection."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.models import Q

from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer
from reviews.models import AuditEvent, Evaluation, EvaluationFacets, Import, Review, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.search import indexing
from tests.support.factories import EvaluationFactory, RunFactory, UserFactory
from tests.support.lines import file_of, line
from tests.support.threads import start_and_wait_for_lock, together
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


class TestWaitForTheLock:
    """A transaction that waited for a row lock sees all changes made to the row meanwhile."""

    def test_waiting_claim_names_the_reviewer_who_claimed(self, ana: User, bo: User) -> None:
        evaluation = EvaluationFactory.create()
        with transaction.atomic():
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
            waiting = start_and_wait_for_lock(partial(claims.claim, evaluation_id=evaluation.pk, reviewer=bo))
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since \d\d:\d\d UTC\.$"):
            waiting.result()

    def test_waiting_claim_names_the_reviewer_who_decided(self, ana: User, bo: User) -> None:
        evaluation = EvaluationFactory.create()
        with transaction.atomic():
            decide(evaluation, ana)
            waiting = start_and_wait_for_lock(partial(decide, evaluation, bo))
        with pytest.raises(Conflict, match=r"^ana submitted this at \d\d:\d\d UTC\. You agree on every"):
            waiting.result()

    def test_waiting_release_releases_the_newer_claim(self, ana: User, lea: User) -> None:
        evaluation = EvaluationFactory.create()
        with transaction.atomic():
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
            waiting = start_and_wait_for_lock(partial(claims.release, evaluation_id=evaluation.pk, actor=lea))
        waiting.result()
        evaluation.refresh_from_db()
        assert evaluation.claimed_by is None
        assert AuditEvent.objects.get(action="release").detail == {"claimed_by": "ana"}

    def test_waiting_claim_succeeds_after_a_rollback(self, ana: User, bo: User) -> None:
        evaluation = EvaluationFactory.create()
        with transaction.atomic():
            decide(evaluation, ana)
            waiting = start_and_wait_for_lock(partial(decide, evaluation, bo))
            transaction.set_rollback(True)
        assert waiting.result().reviewer == bo
        assert Review.objects.count() == 1


class TestTwoSubmissions:
    def test_submits_of_two_reviewers_give_one_review_and_one_conflict(self, ana: User, bo: User) -> None:
        evaluation = EvaluationFactory.create()
        outcomes = together(
            partial(decide, evaluation, ana), partial(decide, evaluation, bo), expecting=Conflict
        )
        [review] = [outcome for outcome in outcomes if isinstance(outcome, Review)]
        [conflict] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        said = f"{review.reviewer.name} submitted this at {review.submitted_at:%H:%M} UTC."
        assert conflict.reason == f"{said} You agree on every criterion."
        assert Review.objects.get() == review
        evaluation.refresh_from_db()
        assert evaluation.human_reviewer_id == review.reviewer.username
        assert AuditEvent.objects.get(action="submit").actor == review.reviewer

    def test_form_submitted_twice_at_once_gives_one_review(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        send = partial(decide, evaluation, ana, submission=uuid4())
        outcomes = together(send, send, send)
        assert outcomes == [Review.objects.get()] * 3
        assert AuditEvent.objects.filter(action="submit").count() == 1


def import_data(text: bytes) -> Import:
    with transaction.atomic():
        return importer.import_stream(blocks=[text], run_name="run", file_name="run.jsonl", actor=None)


@pytest.mark.slow
def test_import_and_index_job_of_the_same_records_take_turns() -> None:
    first = import_data(line("eval_1"))
    EvaluationFacets.objects.all().delete()
    more = {"Clarity": {"score": "Yes"}, "Rigor": {"score": "No"}}
    file = file_of(line("eval_1"), line("eval_2", parsed_rubric_scores=more))
    with transaction.atomic():
        # Like `indexing.index_next_chunk`: first the lock, then the records, then their run.
        locks.acquire(Lock.INDEXING)
        waiting = start_and_wait_for_lock(partial(import_data, file))
        indexing._index_lines(first, indexing.LineRange(0, 1))
        indexing._update_counts(first.target_run)
    assert (waiting.result().new, waiting.result().unchanged) == (1, 1)


class TestImportAndDecision:
    @pytest.fixture
    def evaluation(self) -> Evaluation:
        import_data(line())
        return Evaluation.objects.get()

    @pytest.mark.slow
    def test_decision_before_an_import_stays_current(self, evaluation: Evaluation, ana: User) -> None:
        with transaction.atomic():
            decide(evaluation, ana)
            waiting = start_and_wait_for_lock(partial(import_data, line(aggregated_score="Fail")))
        assert (waiting.result().conflicts, waiting.result().updated) == (0, 1)
        evaluation.refresh_from_db()
        assert (evaluation.human_reviewer_id, evaluation.is_outdated) == ("ana", True)

    @pytest.mark.slow
    def test_import_before_a_decision_makes_it_a_conflict(self, evaluation: Evaluation, ana: User) -> None:
        with transaction.atomic():
            import_data(line(aggregated_score="Fail"))
            waiting = start_and_wait_for_lock(partial(decide, evaluation, ana))
        with pytest.raises(Conflict, match=r"^This record was re-imported at "):
            waiting.result()
        assert not Review.objects.exists()

"""Concurrent claims, submits and imports of one record, each with its own connection."""

from functools import partial
from uuid import uuid4

import pytest
from django.db import transaction

from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer
from reviews.models import AuditEvent, Evaluation, EvaluationFacets, Import, Review, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.search import indexing
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, line
from tests.support.threads import start_and_wait_for_lock, together
from tests.support.work import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


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

"""Claims of one reviewer at a time."""

import datetime as dt

import pytest
from django.db.models import Q
from django.utils import timezone
from pytest_django import Settings

from reviews.accounts.permissions import Denied
from reviews.dashboard.presence import active_reviewers
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Evaluation, Run, Skip, User
from reviews.queue import claims, progress
from reviews.records.conflicts import RecordUnavailable
from reviews.search.filters import STATUSES
from tests.support.factories import EvaluationFactory
from tests.support.work import claim_expiry, decide, decide_all, end_claim, evaluations

pytestmark = pytest.mark.django_db


def names(action: str) -> list[str]:
    """Return the people who did this, from the audit events."""
    return list(AuditEvent.objects.filter(action=action).values_list("actor_name", flat=True))


class TestClaimNext:
    @pytest.mark.slow
    def test_queue_goes_task_by_task_with_9_before_10_then_by_model(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["100", "10", "9", "2"], model_id="b")
        evaluations(run, tasks=["10", "9"], model_id="a")
        order = [(found.task_id, found.model_id) for found in decide_all(run, ana)]
        assert order == [("2", "b"), ("9", "a"), ("9", "b"), ("10", "a"), ("10", "b"), ("100", "b")]

    def test_records_without_a_task_come_last(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=[None, "7", None])
        assert [found.task_id for found in decide_all(run, ana)] == ["7", None, None]

    def test_claim_next_ignores_other_runs_and_other_statuses(self, run: Run, ana: User) -> None:
        EvaluationFactory.create(human_review_status="Needs Review")
        for status in ("Not Required", "Completed", "Reviewed"):
            EvaluationFactory.create(run=run, human_review_status=status)
        pending = EvaluationFactory.create(run=run, human_review_status="Pending")
        assert decide_all(run, ana) == [pending]

    def test_claim_next_continues_the_task_of_the_last_review(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "2", "2", "3"])
        decide(Evaluation.objects.filter(task_id="2").earliest("id"), ana)
        assert [found.task_id for found in decide_all(run, ana)] == ["2", "1", "3"]

    def test_second_reviewer_gets_a_task_that_nobody_works_on(self, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "1", "2", "2"])
        mine, theirs = (claims.claim_next(run=run, reviewer=reviewer) for reviewer in (ana, bo))
        assert (mine and mine.task_id, theirs and theirs.task_id) == ("1", "2")

    def test_two_reviewers_share_the_only_task_left(self, run: Run, ana: User, bo: User) -> None:
        made = evaluations(run, tasks=["1", "1"])
        claimed = [claims.claim_next(run=run, reviewer=reviewer) for reviewer in (ana, bo)]
        assert claimed == made

    def test_claim_next_returns_the_claimed_record_and_renews_its_claim(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "1"])
        first = claims.claim_next(run=run, reviewer=ana)
        again = claims.claim_next(run=run, reviewer=ana)
        assert first == again
        assert claim_expiry(again) > claim_expiry(first)
        assert names("claim") == ["ana"]

    def test_claim_next_returns_the_record_that_was_claimed_last(self, run: Run, ana: User) -> None:
        first, second, _ = evaluations(run, tasks=["1", "2", "3"])
        for evaluation in (second, first):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) == first

    def test_claim_next_skips_a_claimed_record_that_has_left_the_queue(self, run: Run, ana: User) -> None:
        held, other = evaluations(run, tasks=["1", "2"])
        claims.claim(evaluation_id=held.pk, reviewer=ana)
        Evaluation.objects.filter(pk=held.pk).update(human_review_status="Not Required")
        assert claims.claim_next(run=run, reviewer=ana) == other

    def test_expired_claim_is_released(self, run: Run, ana: User, bo: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim_next(run=run, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=bo) is None
        end_claim(evaluation)
        assert claims.claim_next(run=run, reviewer=bo) == evaluation
        assert names("claim") == ["bo", "ana"]

    def test_claim_lasts_as_long_as_the_site_says(self, run: Run, ana: User, settings: Settings) -> None:
        settings.CLAIM_LENGTH = dt.timedelta(hours=2)
        evaluations(run, tasks=["1"])
        before = timezone.now()
        claimed = claims.claim_next(run=run, reviewer=ana)
        assert before <= claim_expiry(claimed) - dt.timedelta(hours=2) <= timezone.now()

    def test_person_without_a_role_cannot_claim_the_next_record(self, run: Run, eve: User) -> None:
        evaluations(run, tasks=["1"])
        with pytest.raises(Denied, match=r"^Only a reviewer, a lead or an admin can review evaluations\.$"):
            claims.claim_next(run=run, reviewer=eve)


class TestPrefetch:
    @pytest.fixture
    def current(self, run: Run, ana: User) -> Evaluation:
        """The record on ana's screen: the first of three of task 1. A record of task 2 waits, too."""
        evaluations(run, tasks=["2", "1", "1", "1"])
        return claims.claim(evaluation_id=run.evaluations.filter(task_id="1").earliest("pk").pk, reviewer=ana)

    def prefetch(
        self, current: Evaluation, reviewer: User, *others: Evaluation, condition: Q = claims.EVERYTHING
    ) -> Evaluation:
        """Prefetch the record after the current one and the others on the page."""
        after = [evaluation.pk for evaluation in (current, *others)]
        found = claims.prefetch_next(run=current.run, reviewer=reviewer, after=after, condition=condition)
        assert found
        return found

    def test_prefetched_record_has_a_shorter_claim(
        self, current: Evaluation, ana: User, settings: Settings
    ) -> None:
        prefetched = self.prefetch(current, ana)
        assert (prefetched.task_id, prefetched.claimed_by) == ("1", ana)
        assert prefetched != current
        assert claim_expiry(prefetched) <= timezone.now() + settings.CLAIM_LENGTH / 3 < claim_expiry(current)

    def test_prefetching_twice_returns_the_same_record_and_leaves_one_event(
        self, current: Evaluation, ana: User
    ) -> None:
        assert self.prefetch(current, ana) == self.prefetch(current, ana)
        prefetch_events = AuditEvent.objects.filter(action="claim", detail={"prefetched": True})
        assert prefetch_events.count() == 1

    def test_prefetched_record_comes_next_after_a_decision(self, current: Evaluation, ana: User) -> None:
        prefetched = self.prefetch(current, ana)
        assert claims.claim_next(run=current.run, reviewer=ana) == current
        decide(current, ana)
        following = claims.claim_next(run=current.run, reviewer=ana)
        assert following == prefetched
        assert claim_expiry(following) > claim_expiry(prefetched)

    def test_prefetched_record_fulfils_the_condition(self, current: Evaluation, ana: User) -> None:
        self.prefetch(current, ana)
        assert self.prefetch(current, ana, condition=Q(task_id="2")).task_id == "2"

    def test_two_records_are_prefetched_in_the_order_of_the_queue(
        self, current: Evaluation, ana: User
    ) -> None:
        first = self.prefetch(current, ana)
        second = self.prefetch(current, ana, first)
        assert len({current, first, second}) == 3
        assert (first.task_id, second.task_id) == ("1", "1")
        page = [current.pk, first.pk, second.pk]
        assert claims.prefetch_next(run=current.run, reviewer=ana, after=page) is None
        shown = current
        for following in (first, second):
            decide(shown, ana)
            shown = following
            assert claims.claim_next(run=current.run, reviewer=ana) == following

    def test_prefetched_records_of_a_page_that_crashed_come_first_and_in_order(
        self, current: Evaluation, ana: User
    ) -> None:
        first = self.prefetch(current, ana)
        second = self.prefetch(current, ana, first)
        assert self.prefetch(current, ana) == first
        assert self.prefetch(current, ana, first) == second
        assert names("claim") == ["ana"] * 3

    def test_at_most_two_records_of_a_run_are_prefetched(self, current: Evaluation, ana: User) -> None:
        first = self.prefetch(current, ana)
        second = self.prefetch(current, ana, first)
        other = self.prefetch(current, ana, condition=Q(task_id="2"))
        prefetched = current.run.evaluations.claimed().filter(claim_is_prefetched=True)
        assert set(prefetched) == {second, other}
        event = AuditEvent.objects.get(action="release prefetched")
        assert event.detail["evaluations"] == [first.pk]

    def test_prefetched_record_counts_as_waiting(self, current: Evaluation, ana: User) -> None:
        prefetched = self.prefetch(current, ana)
        counts = progress.run_progress(current.run)
        assert (counts.waiting, counts.claimed, counts.left) == (3, 1, 4)
        claimed, waiting = (
            set(current.run.evaluations.filter(STATUSES[name])) for name in ("claimed", "waiting")
        )
        assert claimed == {current}
        assert prefetched in waiting
        [active] = active_reviewers(WorkSelection(current.run))
        assert active.claims == [current]

    def test_prefetched_record_is_unavailable_until_it_is_released(
        self, current: Evaluation, ana: User, bo: User
    ) -> None:
        prefetched = self.prefetch(current, ana)
        with pytest.raises(RecordUnavailable):
            claims.claim(evaluation_id=prefetched.pk, reviewer=bo)
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 1
        assert claims.claim(evaluation_id=prefetched.pk, reviewer=bo) == prefetched
        assert claims.claim_next(run=current.run, reviewer=ana) == current

    def test_raising_the_claim_length_keeps_the_claim_of_the_record_on_screen(
        self, current: Evaluation, ana: User, settings: Settings
    ) -> None:
        prefetched = self.prefetch(current, ana)
        settings.CLAIM_LENGTH *= 8
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 1
        for evaluation, is_claimed in ((current, True), (prefetched, False)):
            evaluation.refresh_from_db()
            assert evaluation.is_claimed == is_claimed

    def test_prefetched_record_that_is_shown_is_not_released(self, current: Evaluation, ana: User) -> None:
        shown = self.prefetch(current, ana)
        claims.claim(evaluation_id=shown.pk, reviewer=ana)
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 0

    def test_releasing_without_a_prefetched_record_leaves_no_event(
        self, current: Evaluation, ana: User
    ) -> None:
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 0
        assert names("release prefetched") == []

    def test_person_without_a_role_cannot_prefetch(self, run: Run, eve: User) -> None:
        with pytest.raises(Denied):
            claims.prefetch_next(run=run, reviewer=eve, after=[])


class TestClaim:
    def test_claim_takes_a_certain_record(self, run: Run, ana: User) -> None:
        _, wanted = evaluations(run, tasks=["1", "2"])
        claimed = claims.claim(evaluation_id=wanted.pk, reviewer=ana)
        assert (claimed, claimed.claimed_by) == (wanted, ana)
        assert claims.claim_next(run=run, reviewer=ana) == wanted
        assert names("claim") == ["ana"]

    def test_claim_of_a_claimed_record_names_the_reviewer_and_the_time(
        self, run: Run, ana: User, bo: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        claimed_at = AuditEvent.objects.get(action="claim").at
        claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert taken.value.reason == f"ana has been reviewing this since {claimed_at:%H:%M} UTC."

    def test_claim_of_a_decided_record_names_the_reviewer(self, run: Run, ana: User, bo: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        decide(evaluation, ana)
        review = evaluation.reviews.get()
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert taken.value.reason == f"ana submitted this at {review.submitted_at:%H:%M} UTC."

    @pytest.mark.parametrize("status", ["Not Required", "Completed", "Reviewed"])
    def test_claim_of_a_record_outside_the_queue_names_its_status(self, ana: User, status: str) -> None:
        evaluation = EvaluationFactory.create(human_review_status=status)
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert taken.value.reason == f"This record is not in the queue: its status is {status}."

    def test_only_leads_claim_a_record_assigned_to_somebody_else(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"], assigned_to=bo)
        with pytest.raises(RecordUnavailable, match=r"^This record is assigned to bo\.$"):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim(evaluation_id=evaluation.pk, reviewer=lea).claimed_by == lea

    def test_time_of_another_day_has_its_date(self, run: Run, ana: User) -> None:
        assert claims.format_time(dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)) == "2026-01-02 03:04 UTC"

    def test_claim_of_an_unknown_record_raises(self, ana: User) -> None:
        with pytest.raises(Evaluation.DoesNotExist):
            claims.claim(evaluation_id=0, reviewer=ana)

    def test_person_without_a_role_cannot_claim(self, eve: User) -> None:
        evaluation = EvaluationFactory.create()
        with pytest.raises(Denied):
            claims.claim(evaluation_id=evaluation.pk, reviewer=eve)


class TestRenew:
    def test_renewal_extends_the_claim(self, ana: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        until = claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        assert until > claim_expiry(evaluation)
        evaluation.refresh_from_db()
        assert evaluation.claimed_until == until

    def test_expired_claim_is_renewed_if_nobody_else_claimed(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        end_claim(evaluation)
        claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since"):
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)

    def test_notice_says_when_the_claim_expired(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        assert claims.expired_claim_notice(evaluation, ana) == ""
        end_claim(evaluation)
        evaluation.refresh_from_db()
        ended = f"{claim_expiry(evaluation):%H:%M} UTC"
        sentence = f"Your claim expired at {ended}. Nobody else opened this record, so it is yours again."
        assert claims.expired_claim_notice(evaluation, ana) == sentence
        assert claims.expired_claim_notice(evaluation, bo) == ""

    def test_renewal_fails_after_somebody_else_claimed(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        end_claim(evaluation)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        with pytest.raises(RecordUnavailable, match=r"^bo has been reviewing this since"):
            claims.renew(evaluation_id=evaluation.pk, reviewer=ana)

    def test_renewal_fails_after_a_release(self, ana: User, lea: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=lea)
        with pytest.raises(RecordUnavailable, match=r"^Your claim on this record has ended"):
            claims.renew(evaluation_id=evaluation.pk, reviewer=ana)

    def test_renewal_does_not_claim_a_record(self, eve: User) -> None:
        evaluation = EvaluationFactory.create()
        with pytest.raises(RecordUnavailable):
            claims.renew(evaluation_id=evaluation.pk, reviewer=eve)


class TestRelease:
    @pytest.mark.parametrize("by", ["ana", "lea", "max"])
    def test_reviewer_lead_and_admin_release_a_record(
        self, ana: User, bo: User, by: str, request: pytest.FixtureRequest
    ) -> None:
        actor = request.getfixturevalue(by)
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=actor)
        assert claims.claim(evaluation_id=evaluation.pk, reviewer=bo) == evaluation
        event = AuditEvent.objects.get(action="release")
        assert (event.actor, event.detail) == (actor, {"claimed_by": "ana"})

    def test_reviewer_cannot_release_the_record_of_another(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        sentence = r"^You need the lead role for this\.$"
        with pytest.raises(Denied, match=sentence):
            claims.release(evaluation_id=evaluation.pk, actor=bo)
        evaluation.refresh_from_db()
        assert evaluation.claimed_by == ana

    def test_release_of_an_unclaimed_record_does_nothing(self, bo: User) -> None:
        claims.release(evaluation_id=EvaluationFactory.create().pk, actor=bo)
        assert not AuditEvent.objects.exists()


class TestSkip:
    def test_skipped_record_stays_in_the_queue_of_others(self, run: Run, ana: User, bo: User) -> None:
        first, second = evaluations(run, tasks=["1", "2"])
        claims.claim_next(run=run, reviewer=ana)
        claims.skip(evaluation_id=first.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) == second
        assert claims.claim_next(run=run, reviewer=bo) == first
        assert names("skip") == ["ana"]

    def test_skipped_record_returns_when_it_is_unskipped(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.unskip_all(run=run, reviewer=ana) == 1
        assert claims.claim_next(run=run, reviewer=ana) == evaluation

    def test_skipping_twice_skips_once(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        for _ in range(2):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        assert Skip.objects.count() == 1

    def test_claim_of_a_skipped_record_ends_the_skip(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=ana)
        assert claims.claim_next(run=run, reviewer=ana) == evaluation

    def test_one_record_can_be_unskipped(self, run: Run, ana: User) -> None:
        first, second = evaluations(run, tasks=["1", "2"])
        for evaluation in (first, second):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        for _ in range(2):
            claims.unskip(evaluation_id=second.pk, reviewer=ana)
        assert names("unskip") == ["ana"]
        assert claims.claim_next(run=run, reviewer=ana) == second

    def test_record_claimed_by_another_cannot_be_skipped(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since"):
            claims.skip(evaluation_id=evaluation.pk, reviewer=bo)

    def test_unskip_all_counts_own_skips_of_this_run_that_are_still_in_the_queue(
        self, run: Run, ana: User, bo: User
    ) -> None:
        waits, decided, others = evaluations(run, tasks=["1", "2", "3"])
        elsewhere = EvaluationFactory.create()
        for evaluation in (waits, decided, elsewhere):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        claims.skip(evaluation_id=others.pk, reviewer=bo)
        decide(decided, bo)
        assert claims.unskip_all(run=run, reviewer=ana) == 1
        assert claims.unskip_all(run=run, reviewer=ana) == 0
        assert names("unskip all") == ["ana"]
        assert claims.claim_next(run=run, reviewer=bo) == waits

"""Who gets which record next, who holds it until when, and what the lists say of it.

What two people do at the same moment stands in `test_at_once.py`.
"""

import datetime as dt

import pytest
from django.db.models import Q
from django.utils import timezone
from pytest_django import Settings

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Evaluation, Run, Skip, User
from reviews.queue import claims
from reviews.queue.claims import RecordUnavailable
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide, end_claim, evaluations, held_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def decide_all(run: Run, reviewer: User) -> list[Evaluation]:
    """Go through the queue to its end; the records in the order they came."""
    decided = []
    while evaluation := claims.claim_next(run=run, reviewer=reviewer):
        decide(evaluation, reviewer)
        decided.append(evaluation)
    return decided


def names(action: str) -> list[str]:
    """Who did this, by the audit events."""
    return list(AuditEvent.objects.filter(action=action).values_list("actor_name", flat=True))


class TestClaimNext:
    def test_goes_task_by_task_with_9_before_10_and_model_by_model(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["100", "10", "9", "2"], model_id="b")
        evaluations(run, tasks=["10", "9"], model_id="a")
        order = [(found.task_id, found.model_id) for found in decide_all(run, ana)]
        assert order == [("2", "b"), ("9", "a"), ("9", "b"), ("10", "a"), ("10", "b"), ("100", "b")]

    def test_hands_out_records_without_a_task_last(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=[None, "7", None])
        assert [found.task_id for found in decide_all(run, ana)] == ["7", None, None]

    def test_hands_out_nothing_of_another_run_or_another_status(self, run: Run, ana: User) -> None:
        EvaluationFactory.create(human_review_status="Needs Review")
        for status in ("Not Required", "Completed", "Reviewed"):
            EvaluationFactory.create(run=run, human_review_status=status)
        pending = EvaluationFactory.create(run=run, human_review_status="Pending")
        assert decide_all(run, ana) == [pending]

    def test_goes_on_with_the_task_of_the_last_review(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "2", "2", "3"])
        decide(Evaluation.objects.filter(task_id="2").earliest("id"), ana)
        assert [found.task_id for found in decide_all(run, ana)] == ["2", "1", "3"]

    def test_gives_a_second_reviewer_a_task_that_nobody_is_at(self, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "1", "2", "2"])
        mine, theirs = (claims.claim_next(run=run, reviewer=reviewer) for reviewer in (ana, bo))
        assert (mine and mine.task_id, theirs and theirs.task_id) == ("1", "2")

    def test_lets_two_reviewers_share_the_only_task_left(self, run: Run, ana: User, bo: User) -> None:
        made = evaluations(run, tasks=["1", "1"])
        claimed = [claims.claim_next(run=run, reviewer=reviewer) for reviewer in (ana, bo)]
        assert claimed == made

    def test_returns_what_the_reviewer_holds_and_holds_it_longer(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "1"])
        first = claims.claim_next(run=run, reviewer=ana)
        again = claims.claim_next(run=run, reviewer=ana)
        assert first == again
        assert held_until(again) > held_until(first)
        assert names("claim") == ["ana"]

    def test_returns_of_two_that_the_reviewer_holds_the_one_claimed_last(self, run: Run, ana: User) -> None:
        first, second, _ = evaluations(run, tasks=["1", "2", "3"])
        for evaluation in (second, first):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) == first

    def test_passes_over_what_the_reviewer_holds_when_a_file_took_it_from_the_queue(
        self, run: Run, ana: User
    ) -> None:
        held, other = evaluations(run, tasks=["1", "2"])
        claims.claim(evaluation_id=held.pk, reviewer=ana)
        Evaluation.objects.filter(pk=held.pk).update(human_review_status="Not Required")
        assert claims.claim_next(run=run, reviewer=ana) == other

    def test_takes_back_a_claim_that_ran_out(self, run: Run, ana: User, bo: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim_next(run=run, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=bo) is None
        end_claim(evaluation)
        assert claims.claim_next(run=run, reviewer=bo) == evaluation
        assert names("claim") == ["bo", "ana"]

    def test_holds_a_record_for_the_length_that_is_set(self, run: Run, ana: User, settings: Settings) -> None:
        settings.CLAIM_LENGTH = dt.timedelta(hours=2)
        evaluations(run, tasks=["1"])
        before = timezone.now()
        claimed = claims.claim_next(run=run, reviewer=ana)
        assert before <= held_until(claimed) - dt.timedelta(hours=2) <= timezone.now()

    def test_is_not_for_people_without_a_role(self, run: Run, eve: User) -> None:
        evaluations(run, tasks=["1"])
        with pytest.raises(Denied, match=r"^Only a reviewer, a lead or an admin can review evaluations\.$"):
            claims.claim_next(run=run, reviewer=eve)


class TestOrder:
    """Beside the order of the tasks: what leads decided about it, and filters."""

    def test_has_what_is_urgent_first_whatever_task_is_in_mind(self, run: Run, ana: User) -> None:
        decide(evaluations(run, tasks=["9"])[0], ana)
        evaluations(run, tasks=["5", "9"])
        evaluations(run, tasks=["8"], priority=1)
        evaluations(run, tasks=["7"], priority=-1)
        assert [found.task_id for found in decide_all(run, ana)] == ["8", "5", "9", "7"]

    def test_has_what_is_assigned_to_the_reviewer_first(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1"], priority=5)
        evaluations(run, tasks=["2"], assigned_to=ana)
        assert [found.task_id for found in decide_all(run, ana)] == ["2", "1"]

    def test_has_nothing_that_is_assigned_to_others_or_escalated(self, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1"], assigned_to=bo)
        evaluations(run, tasks=["2"], is_escalated=True)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.prefetch_next(run=run, reviewer=ana, current=0) is None

    def test_has_nothing_that_was_assigned_to_others_when_its_claim_ran_out(
        self, run: Run, ana: User, bo: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"], assigned_to=bo)
        end_claim(claims.claim(evaluation_id=evaluation.pk, reviewer=bo))
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.claim_next(run=run, reviewer=bo) == evaluation

    def test_has_a_claim_that_ran_out_before_what_nobody_has_had(self, run: Run, ana: User, bo: User) -> None:
        _, left = evaluations(run, tasks=["1", "2"])
        end_claim(claims.claim(evaluation_id=left.pk, reviewer=bo))
        assert claims.claim_next(run=run, reviewer=ana) == left

    def test_is_narrowed_by_a_condition(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "2"], model_id="a")
        wanted = evaluations(run, tasks=["1", "2"], model_id="b")
        condition = Q(model_id="b")
        found = []
        while evaluation := claims.claim_next(run=run, reviewer=ana, condition=condition):
            decide(evaluation, ana)
            found.append(evaluation)
        assert found == wanted

    def test_with_a_condition_passes_over_what_the_reviewer_holds_beside_it(
        self, run: Run, ana: User
    ) -> None:
        held, wanted = evaluations(run, tasks=["1", "2"])
        claims.claim(evaluation_id=held.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana, condition=Q(task_id="2")) == wanted

    def test_finds_a_task_that_nobody_is_at_among_the_next_500_records_only(
        self, run: Run, ana: User, bo: User
    ) -> None:
        first, *rest = evaluations(run, tasks=["1"] * 600 + ["2"])
        assert claims.claim_next(run=run, reviewer=bo) == first
        assert claims.claim_next(run=run, reviewer=ana) == rest[0]


class TestClaimSpare:
    @pytest.fixture
    def current(self, run: Run, ana: User) -> Evaluation:
        """What ana has on her screen: the first of three of task 1; a record of task 2 waits too."""
        evaluations(run, tasks=["2", "1", "1", "1"])
        return claims.claim(evaluation_id=run.evaluations.filter(task_id="1").earliest("pk").pk, reviewer=ana)

    def spare(self, current: Evaluation, reviewer: User, condition: Q = claims.EVERYTHING) -> Evaluation:
        found = claims.prefetch_next(
            run=current.run, reviewer=reviewer, current=current.pk, condition=condition
        )
        assert found
        return found

    def test_holds_the_next_record_of_the_task_for_a_shorter_while(
        self, current: Evaluation, ana: User, settings: Settings
    ) -> None:
        spare = self.spare(current, ana)
        assert (spare.task_id, spare.claimed_by) == ("1", ana)
        assert spare != current
        assert held_until(spare) <= timezone.now() + settings.CLAIM_LENGTH / 3 < held_until(current)

    def test_gives_the_same_one_again_and_leaves_one_event(self, current: Evaluation, ana: User) -> None:
        assert self.spare(current, ana) == self.spare(current, ana)
        spare_events = AuditEvent.objects.filter(action="claim", detail={"prefetched": True})
        assert spare_events.count() == 1

    def test_is_what_comes_next_when_the_other_is_decided(self, current: Evaluation, ana: User) -> None:
        spare = self.spare(current, ana)
        assert claims.claim_next(run=current.run, reviewer=ana) == current
        decide(current, ana)
        following = claims.claim_next(run=current.run, reviewer=ana)
        assert following == spare
        assert held_until(following) > held_until(spare)

    def test_that_does_not_fit_the_filters_is_another(self, current: Evaluation, ana: User) -> None:
        self.spare(current, ana)
        assert self.spare(current, ana, Q(task_id="2")).task_id == "2"

    def test_is_nobody_elses_until_it_is_released(self, current: Evaluation, ana: User, bo: User) -> None:
        spare = self.spare(current, ana)
        with pytest.raises(RecordUnavailable):
            claims.claim(evaluation_id=spare.pk, reviewer=bo)
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 1
        assert claims.claim(evaluation_id=spare.pk, reviewer=bo) == spare
        assert claims.claim_next(run=current.run, reviewer=ana) == current

    def test_raising_the_claim_length_keeps_the_claim_of_the_record_on_screen(
        self, current: Evaluation, ana: User, settings: Settings
    ) -> None:
        prefetched = self.spare(current, ana)
        settings.CLAIM_LENGTH *= 8
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 1
        for evaluation, is_claimed in ((current, True), (prefetched, False)):
            evaluation.refresh_from_db()
            assert evaluation.is_claimed == is_claimed

    def test_a_prefetched_record_that_comes_on_screen_is_not_released(
        self, current: Evaluation, ana: User
    ) -> None:
        shown = self.spare(current, ana)
        claims.claim(evaluation_id=shown.pk, reviewer=ana)
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 0

    def test_released_when_there_is_none_leaves_no_event(self, current: Evaluation, ana: User) -> None:
        assert claims.release_prefetched(run=current.run, reviewer=ana) == 0
        assert names("release prefetched") == []

    def test_is_not_for_people_without_a_role(self, run: Run, eve: User) -> None:
        with pytest.raises(Denied):
            claims.prefetch_next(run=run, reviewer=eve, current=0)


class TestClaim:
    def test_takes_the_very_record(self, run: Run, ana: User) -> None:
        _, wanted = evaluations(run, tasks=["1", "2"])
        claimed = claims.claim(evaluation_id=wanted.pk, reviewer=ana)
        assert (claimed, claimed.claimed_by) == (wanted, ana)
        assert claims.claim_next(run=run, reviewer=ana) == wanted
        assert names("claim") == ["ana"]

    def test_says_who_holds_it_since_when(self, run: Run, ana: User, bo: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        claimed_at = AuditEvent.objects.get(action="claim").at
        claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert taken.value.reason == f"ana has been reviewing this since {claimed_at:%H:%M} UTC."

    def test_says_who_has_decided_it(self, run: Run, ana: User, bo: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        decide(evaluation, ana)
        review = evaluation.reviews.get()
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        assert taken.value.reason == f"ana submitted this at {review.submitted_at:%H:%M} UTC."

    @pytest.mark.parametrize("status", ["Not Required", "Completed", "Reviewed"])
    def test_says_what_the_status_is_where_nobody_here_decided(self, ana: User, status: str) -> None:
        evaluation = EvaluationFactory.create(human_review_status=status)
        with pytest.raises(RecordUnavailable) as taken:
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert taken.value.reason == f"This record is not in the queue: its status is {status}."

    def test_of_what_is_assigned_to_somebody_else_is_for_leads(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"], assigned_to=bo)
        with pytest.raises(RecordUnavailable, match=r"^This record is assigned to bo\.$"):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim(evaluation_id=evaluation.pk, reviewer=lea).claimed_by == lea

    def test_names_the_day_of_what_was_not_today(self, run: Run, ana: User) -> None:
        assert claims.format_time(dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)) == "2026-01-02 03:04 UTC"

    def test_of_no_record_raises(self, ana: User) -> None:
        with pytest.raises(Evaluation.DoesNotExist):
            claims.claim(evaluation_id=0, reviewer=ana)

    def test_is_not_for_people_without_a_role(self, eve: User) -> None:
        evaluation = EvaluationFactory.create()
        with pytest.raises(Denied):
            claims.claim(evaluation_id=evaluation.pk, reviewer=eve)


class TestRenew:
    def test_holds_on_to_the_record(self, ana: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        until = claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        assert until > held_until(evaluation)
        evaluation.refresh_from_db()
        assert evaluation.claimed_until == until

    def test_brings_back_a_claim_that_ran_out_while_nobody_took_it(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        end_claim(evaluation)
        claims.renew(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since"):
            claims.claim(evaluation_id=evaluation.pk, reviewer=bo)

    def test_tells_who_comes_back_when_the_claim_ran_out(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        assert claims.expired_claim_notice(evaluation, ana) == ""
        end_claim(evaluation)
        evaluation.refresh_from_db()
        ended = f"{held_until(evaluation):%H:%M} UTC"
        sentence = f"Your claim expired at {ended}. Nobody else opened this record, so it is yours again."
        assert claims.expired_claim_notice(evaluation, ana) == sentence
        assert claims.expired_claim_notice(evaluation, bo) == ""

    def test_learns_that_somebody_else_took_it(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        end_claim(evaluation)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        with pytest.raises(RecordUnavailable, match=r"^bo has been reviewing this since"):
            claims.renew(evaluation_id=evaluation.pk, reviewer=ana)

    def test_does_not_undo_a_release(self, ana: User, lea: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=lea)
        with pytest.raises(RecordUnavailable, match=r"^Your claim on this record has expired"):
            claims.renew(evaluation_id=evaluation.pk, reviewer=ana)

    def test_is_no_way_to_claim(self, eve: User) -> None:
        evaluation = EvaluationFactory.create()
        with pytest.raises(RecordUnavailable):
            claims.renew(evaluation_id=evaluation.pk, reviewer=eve)


class TestRelease:
    @pytest.mark.parametrize("by", ["ana", "lea", "max"])
    def test_by_the_holder_or_whoever_leads_frees_the_record(
        self, ana: User, bo: User, by: str, request: pytest.FixtureRequest
    ) -> None:
        actor = request.getfixturevalue(by)
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=actor)
        assert claims.claim(evaluation_id=evaluation.pk, reviewer=bo) == evaluation
        event = AuditEvent.objects.get(action="release")
        assert (event.actor, event.detail) == (actor, {"holder": "ana"})

    def test_of_what_somebody_else_holds_is_for_leads(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        sentence = r"^You need the lead role for this\.$"
        with pytest.raises(Denied, match=sentence):
            claims.release(evaluation_id=evaluation.pk, actor=bo)
        evaluation.refresh_from_db()
        assert evaluation.claimed_by == ana

    def test_of_a_free_record_does_nothing(self, bo: User) -> None:
        claims.release(evaluation_id=EvaluationFactory.create().pk, actor=bo)
        assert not AuditEvent.objects.exists()


class TestSkip:
    def test_puts_the_record_off_for_one_and_leaves_it_to_others(self, run: Run, ana: User, bo: User) -> None:
        first, second = evaluations(run, tasks=["1", "2"])
        claims.claim_next(run=run, reviewer=ana)
        claims.skip(evaluation_id=first.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) == second
        assert claims.claim_next(run=run, reviewer=bo) == first
        assert names("skip") == ["ana"]

    def test_leaves_nothing_to_claim_until_it_is_taken_back(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.unskip_all(run=run, reviewer=ana) == 1
        assert claims.claim_next(run=run, reviewer=ana) == evaluation

    def test_twice_is_once(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        for _ in range(2):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        assert Skip.objects.count() == 1

    def test_is_over_when_the_very_record_is_claimed(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        claims.release(evaluation_id=evaluation.pk, actor=ana)
        assert claims.claim_next(run=run, reviewer=ana) == evaluation

    def test_of_one_record_can_be_taken_back_alone(self, run: Run, ana: User) -> None:
        first, second = evaluations(run, tasks=["1", "2"])
        for evaluation in (first, second):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        for _ in range(2):
            claims.unskip(evaluation_id=second.pk, reviewer=ana)
        assert names("unskip") == ["ana"]
        assert claims.claim_next(run=run, reviewer=ana) == second

    def test_of_what_somebody_else_holds_is_refused(self, ana: User, bo: User) -> None:
        evaluation = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=r"^ana has been reviewing this since"):
            claims.skip(evaluation_id=evaluation.pk, reviewer=bo)

    def test_taken_back_counts_ones_own_of_this_run_that_still_wait(
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

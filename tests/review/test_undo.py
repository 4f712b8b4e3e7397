"""Undo of a person's last action: each kind of action, its obstacles, and concurrent undos."""

import datetime as dt
from collections.abc import Callable
from functools import partial

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Draft, Evaluation, FileConflict, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict, RunArchived
from reviews.review import decisions, drafts, escalations
from reviews.review.undo import Undone, UndoRefused, last_action, undo
from reviews.runs.changes import archive_run
from tests.support.factories import EvaluationFactory, RunFactory, UserFactory
from tests.support.threads import together
from tests.support.work import decide, end_claim, fresh, restore_version

pytestmark = pytest.mark.django_db

Act = Callable[[Evaluation, User], object]


@pytest.fixture
def evaluation(run: Run, ana: User) -> Evaluation:
    """A record that ana has claimed, with a draft."""
    record = claims.claim(evaluation_id=record_in(run, "7").pk, reviewer=ana)
    drafts.save(evaluation_id=record.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
    return record


def record_in(run: Run, task: str) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id=task, model_id="o1")


def skip(evaluation: Evaluation, reviewer: User) -> None:
    claims.skip(evaluation_id=evaluation.pk, reviewer=reviewer)


def release(evaluation: Evaluation, reviewer: User) -> None:
    claims.release(evaluation_id=evaluation.pk, actor=reviewer)


def escalate(evaluation: Evaluation, reviewer: User, kind: str = "cannot judge") -> None:
    escalations.escalate(evaluation_id=evaluation.pk, reviewer=reviewer, kind=kind, reason="", note="")


def ask(evaluation: Evaluation, reviewer: User) -> None:
    escalate(evaluation, reviewer, "question")


def submit(evaluation: Evaluation, reviewer: User) -> None:
    decide(evaluation, reviewer, comments="Hm.")


def unskip(evaluation: Evaluation, reviewer: User) -> None:
    claims.unskip(evaluation_id=evaluation.pk, reviewer=reviewer)


def claim(evaluation: Evaluation, reviewer: User) -> None:
    claims.claim(evaluation_id=evaluation.pk, reviewer=reviewer)


def withdraw(evaluation: Evaluation, reviewer: User) -> None:
    escalations.withdraw(escalation_id=evaluation.escalations.get().pk, actor=reviewer)


KINDS: dict[str, tuple[Act, str, str]] = {
    "submit": (submit, "submitted Task 7 · o1", "undo"),
    "skip": (skip, "skipped Task 7 · o1", "undo skip"),
    "release": (release, "released Task 7 · o1", "undo release"),
    "question": (ask, "asked a lead about Task 7 · o1", "withdraw escalation"),
    "cannot judge": (escalate, "escalated Task 7 · o1", "withdraw escalation"),
}
PUT_OFF = [name for name in KINDS if name != "submit"]
# Concurrent undos of the kinds: the fast suite tries one.
ONE_KIND = ["submit", *(pytest.param(name, marks=pytest.mark.slow) for name in PUT_OFF)]


@pytest.mark.parametrize("kind", KINDS)
def test_undo_returns_the_record_with_its_entries_and_audits_it(
    evaluation: Evaluation, ana: User, kind: str
) -> None:
    act, label, event = KINDS[kind]
    act(evaluation, ana)
    assert not fresh(evaluation).is_claimed
    undone = undo(run=evaluation.run, actor=ana)
    after = fresh(evaluation)
    assert (undone.action.label, undone.evaluation, undone.is_claimed) == (label, evaluation, True)
    assert (after.in_queue, after.is_escalated, after.claimed_by) == (True, False, ana)
    assert not after.skips.exists()
    draft = drafts.find_draft(evaluation, ana)
    assert draft
    assert ["comments", "Hm."] in draft.fields
    assert AuditEvent.objects.filter(action=event, evaluation=evaluation, actor=ana).count() == 1
    assert last_action(run=evaluation.run, actor=ana) is None


def test_undo_of_a_revision_keeps_the_decision_before(evaluation: Evaluation, ana: User) -> None:
    first = decide(evaluation, ana)
    decide(fresh(evaluation), ana, by=decisions.revise)
    undone = undo(run=evaluation.run, actor=ana)
    assert (undone.action.label, undone.is_claimed) == ("revised Task 7 · o1", False)
    assert fresh(evaluation).review == first
    assert undo(run=evaluation.run, actor=ana).action.label == "submitted Task 7 · o1"


def test_undo_of_a_restored_version_keeps_the_decision_before(evaluation: Evaluation, lea: User) -> None:
    release(evaluation, lea)
    decide(evaluation, lea)
    second = decide(fresh(evaluation), lea, by=decisions.revise)
    restore_version(fresh(evaluation), lea)
    undone = undo(run=evaluation.run, actor=lea)
    assert undone.action.label == "restored a version of Task 7 · o1"
    assert fresh(evaluation).review == second


class TestObstacles:
    """Actions that can no longer be undone: nothing changes, and the sentence says why."""

    def refused(self, evaluation: Evaluation, actor: User) -> str:
        before = AuditEvent.objects.count()
        with pytest.raises(UndoRefused) as refusal:
            undo(run=evaluation.run, actor=actor)
        assert AuditEvent.objects.count() == before
        assert refusal.value.action.record == evaluation
        return refusal.value.reason

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_claimed_by_another_stays_theirs(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        claim(evaluation, bo)
        reason = self.refused(evaluation, ana)
        assert reason.startswith(f"Can't undo: {KINDS[kind][1]}. bo has been reviewing this since ")
        assert fresh(evaluation).claimed_by == bo
        end_claim(evaluation)
        assert undo(run=evaluation.run, actor=ana).is_claimed

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_decided_by_another_stays_decided(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        decide(fresh(evaluation), bo)
        assert ". bo submitted this at " in self.refused(evaluation, ana)

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_assigned_to_another_stays_theirs(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        Evaluation.objects.update(assigned_to=bo)
        assert self.refused(evaluation, ana).endswith("This record is assigned to bo.")

    @pytest.mark.parametrize("kind", ["question", "cannot judge"])
    def test_answered_escalation_stays_answered(
        self, evaluation: Evaluation, ana: User, lea: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        raised = evaluation.escalations.get()
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="Yes.")
        reason = self.refused(evaluation, ana)
        assert ". lea resolved this escalation at " in reason
        assert reason.endswith(" UTC: back to the queue.")

    def test_escalation_that_a_lead_has_claimed_stays_open(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        ask(evaluation, ana)
        claim(evaluation, lea)
        assert ". lea has been reviewing this since " in self.refused(evaluation, ana)
        assert fresh(evaluation).is_escalated

    def test_revised_decision_stays(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        submit(evaluation, ana)
        decide(fresh(evaluation), lea, by=decisions.revise)
        assert ". lea decided this again at " in self.refused(evaluation, ana)

    def test_release_of_anothers_claim_stays(self, evaluation: Evaluation, lea: User) -> None:
        release(evaluation, lea)
        reason = self.refused(evaluation, lea)
        assert reason.endswith("The claim was ana's, who can claim the record again.")

    def test_reopened_record_stays_reopened(self, evaluation: Evaluation, ana: User) -> None:
        submit(evaluation, ana)
        decisions.reopen(evaluation_id=evaluation.pk, actor=ana, reason="Too fast.")
        reason = self.refused(evaluation, ana)
        assert reason == "Can't undo: reopened Task 7 · o1. Review the record to decide it again."

    def test_resolved_conflict_stays_resolved(self, evaluation: Evaluation, lea: User) -> None:
        conflict = FileConflict.objects.create(
            evaluation=evaluation,
            run=evaluation.run,
            source=evaluation.source_import,
            line=1,
            content_hash=b"",
            human=evaluation.human,
        )
        decisions.resolve_conflict(
            run=evaluation.run, conflict_id=conflict.pk, version=evaluation.version, theirs=False, actor=lea
        )
        assert self.refused(evaluation, lea).startswith("Can't undo: resolved a conflict on Task 7 · o1. ")

    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_is_undone_in_an_archived_run(
        self, evaluation: Evaluation, ana: User, lea: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        archive_run(run_id=evaluation.run_id, actor=lea)
        with pytest.raises(RunArchived):
            undo(run=fresh(evaluation).run, actor=ana)

    def test_undo_needs_a_role(self, evaluation: Evaluation, ana: User) -> None:
        skip(evaluation, ana)
        ana.groups.clear()
        with pytest.raises(Denied):
            undo(run=evaluation.run, actor=User.objects.get(pk=ana.pk))


class TestOrder:
    """Undo walks back through the actions one by one."""

    @pytest.mark.slow
    def test_each_undo_undoes_the_action_before(self, run: Run, ana: User) -> None:
        for task, (act, _, _) in enumerate(KINDS.values()):
            record = record_in(run, str(task))
            claim(record, ana)
            act(record, ana)
        labels = [undo(run=run, actor=ana).action.label for _ in KINDS]
        assert labels == [
            "escalated Task 4 · o1",
            "asked a lead about Task 3 · o1",
            "released Task 2 · o1",
            "skipped Task 1 · o1",
            "submitted Task 0 · o1",
        ]
        with pytest.raises(Conflict, match=r"^You have nothing to undo in this run"):
            undo(run=run, actor=ana)

    def test_action_that_cannot_be_undone_blocks_those_before(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        submit(evaluation, ana)
        other = record_in(evaluation.run, "8")
        skip(other, ana)
        claim(other, bo)
        for _ in range(2):
            with pytest.raises(UndoRefused, match=r"^Can't undo: skipped Task 8"):
                undo(run=evaluation.run, actor=ana)
        assert fresh(evaluation).is_decided

    @pytest.mark.parametrize(
        ("act", "reverse"), [(skip, unskip), (skip, claim), (release, claim), (ask, withdraw)]
    )
    def test_action_that_was_reversed_otherwise_is_passed_over(
        self, evaluation: Evaluation, ana: User, act: Act, reverse: Act
    ) -> None:
        submit(record_in(evaluation.run, "8"), ana)
        act(evaluation, ana)
        reverse(evaluation, ana)
        assert undo(run=evaluation.run, actor=ana).action.label == "submitted Task 8 · o1"

    def test_independent_review_and_its_agreement_are_one_action(self, ana: User, bo: User) -> None:
        record = record_in(RunFactory.create(overlap=2, overlap_share=1.0), "7")
        decide(record, bo)
        decide(fresh(record), ana)
        assert undo(run=record.run, actor=ana).action.label == "submitted Task 7 · o1"
        assert last_action(run=record.run, actor=ana) is None
        assert fresh(record).review is None

    def test_actions_of_others_and_of_other_runs_do_not_count(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        skip(record_in(evaluation.run, "8"), bo)
        skip(EvaluationFactory.create(), ana)
        assert last_action(run=evaluation.run, actor=ana) is None

    def test_action_of_the_day_before_is_not_undone(
        self, evaluation: Evaluation, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        skip(evaluation, ana)
        later = timezone.now() + dt.timedelta(hours=24, seconds=1)
        monkeypatch.setattr(timezone, "now", lambda: later)
        with pytest.raises(Conflict, match=r"^You have nothing to undo"):
            undo(run=evaluation.run, actor=ana)
        assert evaluation.skips.exists()

    def test_certain_action_is_undone_once_and_out_of_order(self, evaluation: Evaluation, ana: User) -> None:
        skip(evaluation, ana)
        other = record_in(evaluation.run, "8")
        submit(other, ana)
        skipped = last_action(run=evaluation.run, actor=ana, evaluation=evaluation)
        assert skipped
        again = partial(undo, run=evaluation.run, actor=ana, event=skipped.event.pk)
        assert again().evaluation == evaluation
        with pytest.raises(Conflict, match=r"^This was already undone\.$"):
            again()
        assert fresh(other).is_decided

    def test_event_of_another_person_is_not_undone(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        skip(evaluation, ana)
        skipped = last_action(run=evaluation.run, actor=ana)
        assert skipped
        with pytest.raises(Conflict):
            undo(run=evaluation.run, actor=bo, event=skipped.event.pk)
        assert evaluation.skips.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(("undone", "queries"), [(0, 2), (21, 4)])
    def test_last_action_costs_few_queries_after_many_undos(
        self,
        evaluation: Evaluation,
        ana: User,
        django_assert_num_queries: DjangoAssertNumQueries,
        undone: int,
        queries: int,
    ) -> None:
        release(evaluation, ana)
        other = record_in(evaluation.run, "8")
        for _ in range(undone):
            skip(other, ana)
            unskip(other, ana)
        with django_assert_num_queries(queries):
            action = last_action(run=evaluation.run, actor=ana)
            assert action
            assert action.label == "released Task 7 · o1"
        with django_assert_num_queries(1):
            assert last_action(run=evaluation.run, actor=ana, evaluation=evaluation) == action


def acted_twice(run: Run, kind: str) -> tuple[User, list[Evaluation]]:
    """Return a reviewer and two records, each with an action of this kind."""
    ana = UserFactory.create(role="reviewer")
    records = [record_in(run, task) for task in "78"]
    for record in records:
        claim(record, ana)
        KINDS[kind][0](record, ana)
    return ana, records


@pytest.mark.django_db(transaction=True)
class TestConcurrency:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ONE_KIND)
    def test_two_undos_at_once_undo_two_actions(self, run: Run, kind: str) -> None:
        ana, records = acted_twice(run, kind)
        undone = together(*(partial(undo, run=run, actor=ana) for _ in range(2)))
        assert {one.evaluation for one in undone} == {*records}
        assert {fresh(record).claimed_by for record in records} == {ana}

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ONE_KIND)
    def test_double_click_on_a_toast_undoes_one_action(self, run: Run, kind: str) -> None:
        ana, records = acted_twice(run, kind)
        action = last_action(run=run, actor=ana)
        assert action
        click = partial(undo, run=run, actor=ana, event=action.event.pk)
        outcomes = together(click, click, expecting=Conflict)
        assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "Undone"]
        assert [fresh(record).is_claimed for record in records] == [False, True]

    @pytest.mark.parametrize("kind", PUT_OFF)
    def test_undo_and_claim_of_another_give_the_record_to_one(self, run: Run, kind: str) -> None:
        ana = UserFactory.create(role="reviewer")
        lead = UserFactory.create(role="lead")  # may claim an escalated record, too
        record = record_in(run, "7")
        claim(record, ana)
        KINDS[kind][0](record, ana)
        outcomes = together(
            partial(undo, run=run, actor=ana),
            partial(claims.claim, evaluation_id=record.pk, reviewer=lead),
            expecting=Conflict,
        )
        [refused] = [one for one in outcomes if isinstance(one, Conflict)]
        winner = ana if isinstance(outcomes[0], Undone) else lead
        assert fresh(record).claimed_by == winner
        assert f"{winner.name} has been reviewing this since" in refused.reason

    def test_undo_and_revision_by_a_lead_leave_one_outcome(self, run: Run) -> None:
        ana, lead = (UserFactory.create(role=role) for role in ("reviewer", "lead"))
        record = record_in(run, "7")
        submit(record, ana)
        outcomes = together(
            partial(undo, run=run, actor=ana),
            partial(decide, fresh(record), lead, by=decisions.revise),
            expecting=Conflict,
        )
        [refused] = [one for one in outcomes if isinstance(one, Conflict)]
        is_undone = isinstance(outcomes[0], Undone)
        assert fresh(record).in_queue == is_undone
        assert Draft.objects.filter(evaluation=record, reviewer=ana).exists() == is_undone
        assert refused.reason

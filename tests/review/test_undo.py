"""Undo of a person's last action: each kind of action, and their order."""

import datetime as dt
from functools import partial

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import decisions, drafts, escalations
from reviews.review.undo import UndoRefused, last_action, undo
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.undone_actions import KINDS, Act, ask, claim, record_in, release, skip, submit
from tests.support.work import decide, fresh, restore_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(run: Run, ana: User) -> Evaluation:
    """A record that ana has claimed, with a draft."""
    record = claims.claim(evaluation_id=record_in(run, "7").pk, reviewer=ana)
    drafts.save(evaluation_id=record.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
    return record


def unskip(evaluation: Evaluation, reviewer: User) -> None:
    claims.unskip(evaluation_id=evaluation.pk, reviewer=reviewer)


def withdraw(evaluation: Evaluation, reviewer: User) -> None:
    escalations.withdraw(escalation_id=evaluation.escalations.get().pk, actor=reviewer)


@pytest.mark.slow
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


@pytest.mark.slow
def test_undo_of_a_revision_keeps_the_decision_before(evaluation: Evaluation, ana: User) -> None:
    first = decide(evaluation, ana)
    decide(fresh(evaluation), ana, by=decisions.revise)
    undone = undo(run=evaluation.run, actor=ana)
    assert (undone.action.label, undone.is_claimed) == ("revised Task 7 · o1", False)
    assert fresh(evaluation).review == first
    assert undo(run=evaluation.run, actor=ana).action.label == "submitted Task 7 · o1"


@pytest.mark.slow
def test_undo_of_a_restored_version_keeps_the_decision_before(evaluation: Evaluation, lea: User) -> None:
    release(evaluation, lea)
    decide(evaluation, lea)
    second = decide(fresh(evaluation), lea, by=decisions.revise)
    restore_version(fresh(evaluation), lea)
    undone = undo(run=evaluation.run, actor=lea)
    assert undone.action.label == "restored a version of Task 7 · o1"
    assert fresh(evaluation).review == second


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

    @pytest.mark.slow
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

    @pytest.mark.slow
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

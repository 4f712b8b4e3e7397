"""Spot checks: drawing decisions and settling them."""

import pytest

from reviews.accounts.permissions import Denied
from reviews.dashboard import spot_checks
from reviews.dashboard.reviewer_activity import WorkSelection
from reviews.models import AuditEvent, Evaluation, Run, SpotCheck, User
from reviews.records.conflicts import Conflict
from reviews.review import decisions
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


@pytest.fixture
def drawn(run: Run, ana: User, lea: User) -> SpotCheck:
    """A decision by ana that lea drew for a spot check."""
    decide(evaluations(run, tasks=["1"])[0], ana)
    [one] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
    return one


class TestDraw:
    def test_draw_takes_each_current_decision_once(self, run: Run, ana: User, bo: User, lea: User) -> None:
        mine, also, reopened, stale, theirs, _ = evaluations(run, tasks=["1"] * 6)
        for evaluation in (mine, also, reopened, stale):
            decide(evaluation, ana)
        decide(theirs, bo)
        decide(EvaluationFactory.create(), ana)
        decisions.reopen(evaluation_id=reopened.pk, actor=ana, reason="Again.")
        Evaluation.objects.filter(pk=stale.pk).update(is_outdated=True)
        selection = WorkSelection(run, reviewer=ana)
        first = spot_checks.draw(selection=selection, count=1, actor=lea)
        second = spot_checks.draw(selection=selection, count=10, actor=lea)
        assert [len(first), len(second)] == [1, 1]
        assert {one.review.evaluation for one in (*first, *second)} == {mine, also}
        assert spot_checks.draw(selection=selection, count=10, actor=lea) == []

    def test_draw_is_recorded_with_the_drawn_reviews(self, drawn: SpotCheck, lea: User) -> None:
        event = AuditEvent.objects.get(action="draw spot checks")
        assert (event.actor, event.run) == (lea, drawn.run)
        assert event.detail == {"reviewer": "ana", "reviews": [drawn.review_id]}

    def test_draw_is_limited_to_a_hundred(
        self, run: Run, ana: User, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spot_checks, "MOST_DRAWN", 2)
        for evaluation in evaluations(run, tasks=["1"] * 3):
            decide(evaluation, ana)
        assert len(spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=10**9, actor=lea)) == 2

    def test_lead_cannot_draw_own_decisions(self, run: Run, ana: User, lea: User) -> None:
        for actor, reviewer in ((ana, lea), (lea, lea), (lea, None)):
            with pytest.raises(Denied):
                spot_checks.draw(selection=WorkSelection(run, reviewer=reviewer), count=1, actor=actor)


class TestOpenChecks:
    def test_open_checks_are_own_draws_oldest_first(self, run: Run, ana: User, lea: User, max: User) -> None:
        for evaluation in evaluations(run, tasks=["1"] * 3):
            decide(evaluation, ana)
        mine = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=2, actor=lea)
        theirs = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=2, actor=max)
        assert spot_checks.open_checks(lea) == mine
        assert spot_checks.open_checks(max) == theirs

    def test_open_checks_omit_replaced_decisions(self, drawn: SpotCheck, ana: User, lea: User) -> None:
        decisions.reopen(evaluation_id=drawn.review.evaluation_id, actor=ana, reason="Again.")
        assert spot_checks.open_checks(lea) == []


class TestOutcomes:
    def test_agreement_keeps_decision_and_stores_note(self, drawn: SpotCheck, lea: User) -> None:
        spot_checks.agree(check_id=drawn.pk, actor=lea, note="Well argued.")
        [completed] = spot_checks.completed_checks(WorkSelection(drawn.run))
        assert (completed.outcome, completed.note, completed.resolved_by) == ("agreed", "Well argued.", lea)
        assert completed.review.evaluation.is_done
        assert spot_checks.open_checks(lea) == []

    def test_reopened_record_returns_to_the_queue_with_a_reason(self, drawn: SpotCheck, lea: User) -> None:
        spot_checks.reopen(check_id=drawn.pk, actor=lea, reason="Step two.")
        [completed] = spot_checks.completed_checks(WorkSelection(drawn.run))
        assert (completed.outcome, completed.note) == ("reopened", "Step two.")
        assert completed.review.evaluation.in_queue
        assert AuditEvent.objects.get(action="reopen").detail["reason"] == "Step two."

    @pytest.mark.parametrize("twice", [True, False])
    def test_completed_or_reopened_check_cannot_be_settled(
        self, drawn: SpotCheck, ana: User, lea: User, twice: bool
    ) -> None:
        if twice:
            spot_checks.agree(check_id=drawn.pk, actor=lea)
        else:
            decisions.reopen(evaluation_id=drawn.review.evaluation_id, actor=ana, reason="Again.")
        with pytest.raises(Conflict):
            spot_checks.agree(check_id=drawn.pk, actor=lea)
        with pytest.raises(Conflict):
            spot_checks.reopen(check_id=drawn.pk, actor=lea, reason="Step two.")

    def test_spot_check_is_settled_by_leads_only(self, drawn: SpotCheck, ana: User) -> None:
        for complete in (spot_checks.agree, spot_checks.reopen):
            with pytest.raises(Denied):
                complete(
                    check_id=drawn.pk, actor=ana, **({} if complete is spot_checks.agree else {"reason": "."})
                )

"""Spot checks: drawing decisions and settling them."""

from typing import Any
from uuid import uuid4

import pytest

from reviews.accounts.permissions import Denied
from reviews.dashboard import spot_checks
from reviews.dashboard.reviewer_activity import team_figures
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, Evaluation, Overturn, Run, SpotCheck, User
from reviews.queue import allocation
from reviews.records.conflicts import Conflict
from reviews.review import decisions
from tests.support.factories import EvaluationFactory
from tests.support.work import ORIGINS, SCORES, decide, evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(run: Run, ana: User, lea: User) -> SpotCheck:
    """A decision by ana that lea drew for a spot check."""
    decide(evaluations(run, tasks=["1"])[0], ana)
    [one] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
    return one


class TestDraw:
    @pytest.mark.slow
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

    def test_draw_is_limited_to_a_hundred_and_repeatable_with_a_seed(
        self, run: Run, ana: User, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spot_checks, "MOST_DRAWN", 5)
        made = evaluations(run, tasks=["1"] * 7)
        for evaluation in made:
            decide(evaluation, ana)
        selection = WorkSelection(run, reviewer=ana)
        drawn = spot_checks.draw(selection=selection, count=10**9, actor=lea, seed="demo")
        by_hash = sorted(made, key=lambda one: allocation.position("demo", one.evaluation_id))
        assert [one.review.evaluation for one in drawn] == by_hash[:5]

    def test_lead_cannot_draw_own_decisions(self, run: Run, ana: User, lea: User) -> None:
        for actor, reviewer in ((ana, lea), (lea, lea), (lea, None)):
            with pytest.raises(Denied):
                spot_checks.draw(selection=WorkSelection(run, reviewer=reviewer), count=1, actor=actor)


class TestSelect:
    @pytest.mark.slow
    def test_selected_decisions_of_others_are_checked_once_and_count_in_no_share(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        first, second, own, waiting, other = evaluations(run, tasks=["1"] * 5)
        for record, person in ((first, ana), (second, bo), (own, lea), (other, ana)):
            decide(record, person)
        elsewhere = EvaluationFactory.create()
        decide(elsewhere, ana)
        keys = [one.pk for one in (first, second, own, waiting, elsewhere)]
        made = spot_checks.select(run=run, records=keys, actor=lea)
        assert [one.review.evaluation_id for one in made] == [first.pk, second.pk]
        assert spot_checks.select(run=run, records=keys, actor=lea) == []
        assert list(spot_checks.open_checks(lea)) == made
        detail = {"records": 2, "reviews": [one.review_id for one in made]}
        assert AuditEvent.objects.filter(action="select spot checks").earliest("pk").detail == detail
        spot_checks.agree(check_id=made[0].pk, actor=lea)
        [figures] = team_figures(WorkSelection(run, reviewer=ana)).reviewers
        assert figures.checked == 0
        [drawn] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=9, actor=lea)
        assert drawn.review.evaluation_id == other.pk

    def test_only_leads_select(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied):
            spot_checks.select(run=run, records=[], actor=ana)


class TestOpenChecks:
    def test_open_checks_are_own_draws_oldest_first(self, run: Run, ana: User, lea: User, max: User) -> None:
        for evaluation in evaluations(run, tasks=["1"] * 3):
            decide(evaluation, ana)
        mine = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=2, actor=lea)
        theirs = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=2, actor=max)
        assert list(spot_checks.open_checks(lea)) == mine
        assert list(spot_checks.open_checks(max)) == theirs

    def test_open_checks_omit_replaced_decisions(self, drawn: SpotCheck, ana: User, lea: User) -> None:
        decisions.reopen(evaluation_id=drawn.review.evaluation_id, actor=ana, reason="Again.")
        assert list(spot_checks.open_checks(lea)) == []


class TestStandingSample:
    @pytest.mark.slow
    def test_standing_sample_has_decisions_independent_of_the_order(
        self, run: Run, ana: User, bo: User, lea: User, max: User
    ) -> None:
        Run.objects.update(spot_check_share=0.5)
        records = evaluations(Run.objects.get(), tasks=["1"] * 12)
        for place, evaluation in enumerate(records):
            decide(evaluation, (ana, bo, lea)[place % 3])
        expected = {
            one.pk for one in records if allocation.is_spot_checked(Run.objects.get(), one.evaluation_id, 1)
        }
        drawn = {one.review.evaluation_id: one.reviewer for one in SpotCheck.objects.filter(drawn_by=None)}
        assert set(drawn) == expected
        assert 0 < len(expected) < len(records)
        assert {one.review.evaluation_id for one in spot_checks.open_checks(max)} == expected
        # Nobody checks their own decisions.
        assert {one.reviewer for one in spot_checks.open_checks(lea)} <= {ana, bo}

    def test_larger_share_has_all_of_a_smaller_one(self, run: Run) -> None:
        ids = [f"record-{number}" for number in range(200)]

        def drawn(share: float) -> set[str]:
            run.spot_check_share = share
            return {each for each in ids if allocation.is_spot_checked(run, each, 1)}

        assert drawn(0) == set()
        assert drawn(0.1) < drawn(0.4)
        assert drawn(1) == set(ids)

    def test_agreed_independent_reviews_and_revisions_are_drawn(self, run: Run, ana: User, bo: User) -> None:
        Run.objects.update(spot_check_share=1, overlap_share=1)
        [record] = evaluations(Run.objects.get(), tasks=["1"])
        decide(record, ana)
        assert not SpotCheck.objects.exists()
        decide(record, bo)
        decide(Evaluation.objects.get(), bo, by=decisions.revise)
        assert list(
            SpotCheck.objects.values_list("reviewer__username", "review__version").order_by("pk")
        ) == [
            ("bo", 2),
            ("bo", 3),
        ]

    def test_undone_decision_leaves_the_standing_sample(self, run: Run, ana: User, lea: User) -> None:
        Run.objects.update(spot_check_share=1)
        [record] = evaluations(Run.objects.get(), tasks=["1"])
        decisions.undo(review=decide(record, ana))
        assert list(spot_checks.open_checks(lea)) == []

    def test_own_decision_cannot_be_checked(self, run: Run, lea: User) -> None:
        Run.objects.update(spot_check_share=1)
        [record] = evaluations(Run.objects.get(), tasks=["1"])
        decide(record, lea)
        with pytest.raises(Denied):
            spot_checks.agree(check_id=SpotCheck.objects.get().pk, actor=lea)


def correct(check: SpotCheck, lead: User, score: str = "Yes", **other: Any) -> SpotCheck:
    scores = SCORES | {"Conclusion Accuracy": {"score": score, "justification": "It is right."}}
    said: dict[str, Any] = {"scores": scores, "comments": "", "origins": ORIGINS, "reason": "Half is right."}
    version = Evaluation.objects.get(pk=check.review.evaluation_id).version
    return spot_checks.correct(
        check_id=check.pk, actor=lead, version=version, submission=uuid4(), **(said | other)
    )


class TestCorrection:
    def test_correction_overturns_the_decision_and_is_not_drawn(self, drawn: SpotCheck, lea: User) -> None:
        Run.objects.update(spot_check_share=1)
        done = correct(drawn, lea)
        assert (done.outcome, done.note) == ("corrected", "Half is right.")
        record = Evaluation.objects.get(pk=drawn.review.evaluation_id)
        assert (record.review, record.human_reviewer_id) == (done.correction, "lea")
        assert Overturn.objects.get().review == drawn.review
        assert SpotCheck.objects.count() == 1
        assert AuditEvent.objects.get(action="revise").detail["reason"] == "Half is right."

    def test_correction_of_texts_only_agrees_with_the_scores(self, drawn: SpotCheck, lea: User) -> None:
        assert correct(drawn, lea, score="No").outcome == "agreed"
        assert not Overturn.objects.exists()

    def test_undone_correction_reopens_the_check(self, drawn: SpotCheck, lea: User) -> None:
        correction = correct(drawn, lea).correction
        assert correction
        decisions.undo(review=correction)
        assert list(spot_checks.open_checks(lea)) == [drawn]
        assert team_figures(WorkSelection(drawn.run)).reviewers[0].checked == 0

    def test_correction_counts_against_the_reviewer(self, drawn: SpotCheck, lea: User) -> None:
        correct(drawn, lea)
        figures = next(one for one in team_figures(WorkSelection(drawn.run)).reviewers if one.checked)
        assert (figures.reviewer.username, figures.checked, figures.upheld) == ("ana", 1, 0)

    def test_correction_is_for_leads(self, drawn: SpotCheck, ana: User, bo: User) -> None:
        for person in (ana, bo):
            with pytest.raises(Denied):
                correct(drawn, person)


class TestOutcomes:
    def test_agreement_keeps_decision_and_stores_note(self, drawn: SpotCheck, lea: User) -> None:
        spot_checks.agree(check_id=drawn.pk, actor=lea, note="Well argued.")
        [completed] = spot_checks.completed_checks(WorkSelection(drawn.run))
        assert (completed.outcome, completed.note, completed.resolved_by) == ("agreed", "Well argued.", lea)
        assert completed.review.evaluation.is_done
        assert list(spot_checks.open_checks(lea)) == []

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

"""Overturned decisions, their reasons, and the decisions behind a metric."""

import pytest
from django.db import IntegrityError

from reviews.dashboard import drilldown, reviewer_activity
from reviews.dashboard.drilldown import SIGNALS, list_decisions, list_overturned
from reviews.dashboard.selection import WorkSelection
from reviews.database.statements import execute
from reviews.models import Evaluation, FileConflict, Overturn, Review, Run, User
from reviews.records.schema import HUMAN_FIELDS
from reviews.review import decisions as review_decisions
from reviews.review import undo
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import SCORES, decide, evaluations, fresh

pytestmark = pytest.mark.django_db

OTHER = SCORES | {"Clarity": {"score": "No", "justification": "It jumps."}}


@pytest.fixture
def decided(ana: User) -> Evaluation:
    """A record that ana has decided."""
    return fresh(decide(EvaluationFactory.create(), ana).evaluation)


def kinds(reviewer: User) -> list[str]:
    return [one.kind for one in list_overturned(WorkSelection(reviewer=reviewer))]


def count(reviewer: User) -> int:
    team = reviewer_activity.team_figures(WorkSelection(reviewer=reviewer))
    return sum(one.overturned for one in team.reviewers)


class TestOverturns:
    def test_changed_decision_of_another_is_overturned(
        self, decided: Evaluation, ana: User, lea: User
    ) -> None:
        theirs = decide(decided, lea, by=review_decisions.revise, scores=OTHER, comments="Step two jumps.")
        [one] = list_overturned(WorkSelection(reviewer=ana))
        assert (one.review.evaluation, one.review.reviewer, one.by) == (decided, ana, theirs)
        assert (one.kind, one.actor, one.reason) == ("revised", lea, "Step two jumps.")
        assert count(ana) == 1

    def test_comment_on_a_decision_of_another_is_no_overturn(
        self, decided: Evaluation, ana: User, lea: User
    ) -> None:
        decide(decided, lea, by=review_decisions.revise, comments="Well seen.")
        assert (kinds(ana), count(ana)) == ([], 0)

    def test_score_in_other_case_is_no_overturn(self, decided: Evaluation, ana: User, lea: User) -> None:
        decide(decided, lea, by=review_decisions.revise, scores=SCORES | {"Clarity": {"score": "YES "}})
        assert (kinds(ana), count(ana)) == ([], 0)

    @pytest.mark.slow
    def test_undone_revision_is_no_overturn(self, decided: Evaluation, ana: User, lea: User) -> None:
        decide(decided, lea, by=review_decisions.revise, scores=OTHER)
        undo.undo(run=decided.run, actor=lea)
        assert (kinds(ana), count(ana)) == ([], 0)

    def test_reopened_decision_of_another_is_overturned(
        self, decided: Evaluation, ana: User, lea: User
    ) -> None:
        review_decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="The reference has changed.")
        [one] = list_overturned(WorkSelection(reviewer=ana))
        assert (one.kind, one.reason, one.by) == ("reopened", "The reference has changed.", None)

    def test_decision_replaced_by_a_file_is_overturned(
        self, decided: Evaluation, ana: User, lea: User
    ) -> None:
        conflict = FileConflict.objects.create(
            evaluation=decided,
            run=decided.run,
            source=decided.first_import,
            line=1,
            content_hash=b"",
            human=dict.fromkeys(HUMAN_FIELDS) | {"human_review_status": "Reviewed"},
        )
        review_decisions.resolve_conflict(
            run=conflict.run, conflict_id=conflict.pk, version=decided.version, theirs=True, actor=lea
        )
        assert kinds(ana) == ["file"]

    def test_change_of_own_decision_is_no_overturn(self, decided: Evaluation, ana: User) -> None:
        decide(decided, ana, by=review_decisions.revise, scores=OTHER)
        review_decisions.reopen(evaluation_id=decided.pk, actor=ana, reason="I was wrong.")
        assert not Overturn.objects.exists()

    @pytest.mark.slow
    def test_decision_overturned_twice_counts_once_and_lists_both(
        self, decided: Evaluation, ana: User, lea: User, max: User
    ) -> None:
        decide(decided, lea, by=review_decisions.revise, scores=OTHER)
        decide(fresh(decided), max, by=review_decisions.revise)
        review_decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Let ana see it.")
        assert (kinds(ana), kinds(lea), kinds(max)) == (["revised"], ["revised"], ["reopened"])
        assert (count(ana), count(lea), count(max)) == (1, 1, 1)

    def test_overturns_are_append_only(self, decided: Evaluation, lea: User) -> None:
        review_decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Again.")
        with pytest.raises(IntegrityError, match="append-only"):
            execute("DELETE FROM overturn")


class TestDrilldown:
    @pytest.fixture
    def run(self, ana: User) -> Run:
        """With a decision of ana's for each signal: same, changed, fast, and one that she took back."""
        run = RunFactory.create()
        judged = {"Clarity": "Yes", "Conclusion Accuracy": "No"}
        passed = {name: {"score": "Yes", "justification": ""} for name in judged}
        same, changed, fast, back = evaluations(run, tasks=["same", "changed", "fast", "back"])
        decide(same, ana, judged=judged)
        decide(changed, ana, judged=judged, scores=passed)
        decide(fast, ana, judged=judged, words=240, active_ms=1_000)
        decide(back, ana, judged=judged)
        undo.undo(run=run, actor=ana)
        return run

    @pytest.mark.parametrize(
        ("signal", "tasks"),
        [
            ("all", ["fast", "changed", "same"]),
            ("changed", ["changed"]),
            ("unchanged", ["fast", "same"]),
            ("verdict-changed", ["changed"]),
            ("fast", ["fast"]),
        ],
    )
    def test_decisions_behind_a_metric_are_listed_newest_first(
        self, run: Run, signal: str, tasks: list[str]
    ) -> None:
        page = list_decisions(WorkSelection(run), signal=signal)
        assert [review.evaluation.task_id for review in page.rows] == tasks
        assert page.next_after == ""

    @pytest.mark.slow
    def test_decisions_behind_a_metric_have_a_title_for_each_signal(self, run: Run) -> None:
        for signal in SIGNALS:
            list_decisions(WorkSelection(run), signal=signal)
        with pytest.raises(KeyError):
            list_decisions(WorkSelection(run), signal="password")

    @pytest.mark.slow
    def test_decisions_behind_a_metric_are_of_one_reviewer(self, run: Run, ana: User, bo: User) -> None:
        assert len(list_decisions(WorkSelection(reviewer=ana)).rows) == 3
        assert list_decisions(WorkSelection(reviewer=bo)).rows == []

    @pytest.mark.slow
    def test_decisions_behind_a_metric_are_paginated(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(drilldown, "PAGE_SIZE", 2)
        first = list_decisions(WorkSelection(run))
        second = list_decisions(WorkSelection(run), after=first.next_after)
        assert [len(page.rows) for page in (first, second)] == [2, 1]
        assert {review.pk for page in (first, second) for review in page.rows} == {
            review.pk for review in Review.objects.filter(withdrawal=None)
        }
        assert second.next_after == ""
        assert list_decisions(WorkSelection(run), after="'; DROP").rows == first.rows

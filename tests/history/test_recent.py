"""Recent work of a reviewer."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.history import recent
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations, undo
from tests.support.factories import EvaluationFactory
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db

ALL_YES = {"Clarity": {"score": "Yes", "justification": "Each step follows."}}


def raise_it(evaluation: Evaluation, reviewer: User) -> Any:
    return escalations.escalate(
        evaluation_id=evaluation.pk, reviewer=reviewer, kind="question", reason="", note=""
    )


class TestDecisions:
    @pytest.mark.slow
    def test_own_decisions_are_listed_newest_first(self, run: Run, ana: User, bo: User) -> None:
        made = evaluations(run, tasks=["1", "2", "3"])
        for evaluation, reviewer in zip(made, (ana, bo, ana), strict=True):
            decide(evaluation, reviewer)
        decide(EvaluationFactory.create(), ana)
        assert [one.evaluation for one in recent.load_page(reviewer=ana, run=run).decisions] == [
            made[2],
            made[0],
        ]

    def test_decisions_have_verdicts_before_and_after(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"], aggregated_score="Fail")
        decide(evaluation, ana, scores=ALL_YES)
        evaluation.refresh_from_db()
        decide(evaluation, ana, by=decisions.revise)
        verdicts = [(one.before, one.after) for one in recent.load_page(reviewer=ana, run=run).decisions]
        assert verdicts == [("Pass", "Fail"), ("Fail", "Pass")]

    @pytest.mark.slow
    def test_decisions_have_their_state(self, run: Run, ana: User, lea: User) -> None:
        made = evaluations(run, tasks=["1", "2", "3"])
        for evaluation in made:
            decide(evaluation, ana)
        undo.undo(run=run, actor=ana)
        decide(Evaluation.objects.get(pk=made[0].pk), lea, by=decisions.revise)
        states = [one.state for one in recent.load_page(reviewer=ana, run=run).decisions]
        assert states == ["undone", "current", "superseded"]

    @pytest.mark.slow
    def test_decisions_are_paginated(self, run: Run, ana: User) -> None:
        for evaluation in evaluations(run, tasks=["1"] * 51):
            decide(evaluation, ana)
        first = recent.load_page(reviewer=ana, run=run)
        second = recent.load_page(reviewer=ana, run=run, after=first.next_after)
        assert (len(first.decisions), len(second.decisions), second.next_after) == (50, 1, "")

    @pytest.mark.parametrize("after", ["x", "-1", "1" * 19, "\0", "٣"])
    def test_invalid_cursor_gives_the_first_page(self, run: Run, ana: User, after: str) -> None:
        decide(evaluations(run, tasks=["1"])[0], ana)
        assert len(recent.load_page(reviewer=ana, run=run, after=after).decisions) == 1

    @pytest.mark.parametrize("count", [1, 3])
    def test_page_of_decisions_costs_three_queries(
        self, run: Run, ana: User, count: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        decided, skipped, raised = (evaluations(run, tasks=["1"] * count) for _ in range(3))
        for evaluation in decided:
            decide(evaluation, ana)
        for evaluation in skipped:
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        for evaluation in raised:
            raise_it(evaluation, ana)
        with django_assert_num_queries(3):
            page = recent.load_page(reviewer=ana, run=run)
            shown: list[Any] = [
                (one.state, one.evaluation.run.name, one.evaluation.task_id) for one in page.decisions
            ]
            shown += [(one.evaluation.run.name, one.evaluation.task_id) for one in page.skips]
            shown += [(one.evaluation.run.name, one.resolved_by) for one in page.escalations]
        assert len(shown) == 3 * count


def test_skips_of_records_in_the_queue_are_listed(run: Run, ana: User, bo: User) -> None:
    waits, decided, unskipped, others = evaluations(run, tasks=["1"] * 4)
    for evaluation in (waits, decided, unskipped):
        claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
    claims.skip(evaluation_id=others.pk, reviewer=bo)
    decide(decided, bo)
    claims.unskip(evaluation_id=unskipped.pk, reviewer=ana)
    assert [one.evaluation for one in recent.load_page(reviewer=ana, run=run).skips] == [waits]


def test_escalations_are_listed_without_withdrawn_ones(run: Run, ana: User, lea: User) -> None:
    waits, answered, withdrawn = evaluations(run, tasks=["1"] * 3)
    raised = {evaluation.pk: raise_it(evaluation, ana) for evaluation in (waits, answered, withdrawn)}
    escalations.withdraw(escalation_id=raised[withdrawn.pk].pk, actor=ana)
    escalations.resolve(escalation_id=raised[answered.pk].pk, actor=lea, outcome="returned", answer="")
    assert [one.evaluation for one in recent.load_page(reviewer=ana, run=run).escalations] == [
        answered,
        waits,
    ]

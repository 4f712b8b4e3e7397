"""The states of the records that are to be scored blind, and bounds of the accuracy."""

from dataclasses import astuple
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cognireview.types import report_parts
from cognireview.types.encoding import encode
from reviews.database.statements import fetch_all
from reviews.judge import accuracy, funnel
from reviews.judge.funnel import ListedState
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import blind_scoring, escalations
from reviews.search import strata
from tests.support.factories import RunFactory
from tests.support.rubrics import rubric_data
from tests.support.work import decide, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db

CLARITY = "Clarity"
PARSED = {CLARITY: {"score": "Yes", "justification": ""}}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(rubric=rubric_data(CLARITY), blind_share=1)


def records(run: Run, count: int, **values: Any) -> list[Evaluation]:
    usual = {
        "aggregated_score": "Pass",
        "parsed_rubric_scores": PARSED,
        "structured_model_response": {"steps": ["It is 4."]},
    }
    made = evaluations(run, tasks=map(str, range(count)), **(usual | values))
    strata.recount(run, {})
    return made


def found(run: Run) -> report_parts.Funnel:
    scope = JudgeScope(run)
    return funnel.follow_records(scope, accuracy.compare_with_humans(scope))


def lock_in(record: Evaluation, reviewer: User, score: str) -> None:
    claimed = claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    blind_scoring.lock_in(
        evaluation_id=record.pk,
        reviewer=reviewer,
        version=claimed.version,
        scores={CLARITY: score},
        fields=[],
        active_ms=None,
    )


def submitted(record: Evaluation, reviewer: User, score: str) -> None:
    scores = {CLARITY: {"score": score, "justification": ""}}
    decide(record, reviewer, scores=scores, origins={CLARITY: "human"}, judged={CLARITY: "Yes"})


@pytest.mark.slow
def test_funnel_follows_records_from_assignment_to_the_end(run: Run, ana: User, bo: User, lea: User) -> None:
    same, other, escalated, closed, waiting, _ = records(run, 6)
    for record in (same, other, escalated, closed, waiting):
        lock_in(record, ana, "No")
    lock_in_scores(waiting, bo, {CLARITY: "Yes"})
    submitted(same, ana, "No")
    submitted(other, ana, "Yes")
    for record in (escalated, closed):
        escalations.escalate(
            evaluation_id=record.pk, reviewer=ana, kind="cannot judge", reason="out of my field", note=""
        )
    sent = closed.escalations.get()
    escalations.resolve(escalation_id=sent.pk, actor=lea, outcome="closed", answer="Nobody can judge this.")
    counted = found(run)
    assert (counted.assigned, counted.locked_in, counted.missing) == (6, 5, 1)
    assert (counted.changed, counted.escalated, counted.closed, counted.ratings) == (1, 2, 1, 6)
    assert counted.sentences[0] == "5 of 6 records assigned to blind review are locked in, by 6 ratings."
    assigned = funnel.list_records(JudgeScope(run), "assigned").rows
    assert [one.is_locked_in for one in assigned] == [True, True, True, True, True, False]
    assert listed(run, "closed") == [closed.pk]


def test_escalated_records_are_those_of_the_counted_ratings(run: Run, ana: User, bo: User) -> None:
    by_ana, by_bo, withdrawn = records(run, 3)
    [picked] = records(run, 1, needs_human_review=False)
    for record, reviewer in ((by_ana, ana), (by_bo, bo), (withdrawn, bo), (picked, bo)):
        lock_in(record, reviewer, "No")
        escalations.escalate(
            evaluation_id=record.pk, reviewer=reviewer, kind="cannot judge", reason="no", note=""
        )
    escalations.withdraw(escalation_id=withdrawn.escalations.get().pk, actor=bo)
    counted = found(run)
    assert (counted.locked_in, counted.escalated) == (3, 2)
    scope = JudgeScope(run, reviewer=bo)
    counted = funnel.follow_records(scope, accuracy.compare_with_humans(scope))
    assert (counted.locked_in, counted.escalated) == (2, 1)


def listed(run: Run, state: ListedState) -> list[int]:
    return [one.evaluation.pk for one in funnel.list_records(JudgeScope(run), state).rows]


@pytest.mark.slow
def test_listed_records_are_those_counted(run: Run, ana: User, lea: User) -> None:
    open_, closed, _ = records(run, 3)
    unassigned = records(run, 1, needs_human_review=False, human_review_status="Not Required")
    lock_in(open_, ana, "No")
    claims.claim(evaluation_id=closed.pk, reviewer=lea)
    escalations.escalate(evaluation_id=closed.pk, reviewer=lea, kind="cannot judge", reason="no", note="")
    sent = closed.escalations.get()
    escalations.resolve(escalation_id=sent.pk, actor=lea, outcome="closed", answer="Nobody can judge this.")
    counted = found(run)
    assert (counted.assigned, counted.locked_in, counted.closed) == (3, 1, 1)
    assert len(listed(run, "assigned")) == counted.assigned
    assert unassigned[0].pk not in listed(run, "assigned")
    assert listed(run, "closed") == [closed.pk]


def test_record_rated_by_two_counts_once_for_either(run: Run, ana: User, bo: User) -> None:
    [record] = records(run, 1)
    lock_in(record, ana, "No")
    lock_in_scores(record, bo, {CLARITY: "Yes"})
    scope = JudgeScope(run, reviewer=ana)
    counted = funnel.follow_records(scope, accuracy.compare_with_humans(scope))
    assert (counted.assigned, counted.locked_in, counted.ratings) == (1, 1, 1)


def test_bounds_assume_the_worst_and_the_best_of_missing_records(run: Run, ana: User) -> None:
    first, second, *_ = records(run, 12)
    lock_in_scores(first, ana, {CLARITY: "Yes"})
    lock_in_scores(second, ana, {CLARITY: "No"})
    bounds = found(run).bounds
    assert bounds
    # Two of twelve are known, one of them is right.
    assert astuple(bounds) == pytest.approx((1 / 12, 11 / 12))
    assert found(run).sentences[1] == (
        "The accuracy over the whole run would be 8% if the judge were wrong on the 10 others, and 92% if it "
        "were right."
    )


@pytest.mark.slow
def test_record_that_waits_for_another_independent_review_counts_once(run: Run, ana: User) -> None:
    Run.objects.filter(pk=run.pk).update(overlap_share=1, overlap=2)
    first, *_ = records(run, 3)
    lock_in(first, ana, "Yes")
    submitted(first, ana, "Yes")
    run.refresh_from_db()
    funnel_now = found(run)
    assert (funnel_now.assigned, funnel_now.locked_in, funnel_now.missing) == (3, 1, 2)
    assert len(funnel.list_records(JudgeScope(run), "assigned").rows) == 3


@pytest.mark.slow
def test_records_closed_without_a_rating_are_missing(run: Run, ana: User, lea: User) -> None:
    first, second = records(run, 2)
    lock_in(first, ana, "Yes")
    claims.claim(evaluation_id=second.pk, reviewer=ana)
    escalations.escalate(
        evaluation_id=second.pk, reviewer=ana, kind="cannot judge", reason="out of my field", note=""
    )
    before = found(run)
    sent = second.escalations.get()
    escalations.resolve(escalation_id=sent.pk, actor=lea, outcome="closed", answer="Nobody can judge this.")
    counted = found(run)
    assert (before.closed, counted.closed) == (0, 1)
    assert [(one.assigned, one.missing) for one in (before, counted)] == [(2, 1), (2, 1)]
    assert counted.bounds
    assert astuple(counted.bounds) == pytest.approx((1 / 2, 1))


def test_ratings_of_changed_records_are_outdated(run: Run, ana: User) -> None:
    first, second = records(run, 2)
    for record in (first, second):
        lock_in_scores(record, ana, {CLARITY: "Yes"})
    Evaluation.objects.filter(pk=first.pk).update(content_hash=b"new", aggregated_score="Fail")
    counted = found(run)
    assert (counted.ratings, counted.outdated) == (1, 1)
    assert counted.sentences[-1] == "1 rating no longer counts: a file changed what was rated."


def test_run_without_blind_share_has_an_empty_funnel(run: Run) -> None:
    run.blind_share = 0
    run.save()
    records(run, 3)
    assert found(run).sentences == ["No record is to be scored blind."]
    assert encode(report_parts.Funnel, found(run))["bounds"] is None


def test_records_to_score_are_looked_up_among_the_rated_ones_by_hash(run: Run, ana: User) -> None:
    """To compare each of them with each rated one takes longer than everything else."""
    lock_in(records(run, 3)[0], ana, "No")
    with CaptureQueriesContext(connection) as sent:
        assert found(run).missing == 2
    statements = [one["sql"] for one in sent if "string_agg" in one["sql"] and '"final"' in one["sql"]]
    assert len(statements) == 2
    for statement in statements:
        assert "NOT (ANY (id = (hashed SubPlan" in str(fetch_all(f"EXPLAIN {statement}"))

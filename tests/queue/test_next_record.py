"""The order in which the queue offers records."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from reviews.database import statements as sql_statements
from reviews.models import Evaluation, Run, Skip, User
from reviews.queue import claims
from reviews.queue.next_record import runs_with_records
from tests.support.factories import RunFactory
from tests.support.plans import rows_read, rows_read_by
from tests.support.work import decide, decide_all, end_claim, evaluations

pytestmark = pytest.mark.django_db


class TestOrder:
    """Priorities, assignments and filters."""

    def test_higher_priority_comes_before_the_current_task(self, run: Run, ana: User) -> None:
        decide(evaluations(run, tasks=["9"])[0], ana)
        evaluations(run, tasks=["5", "9"])
        evaluations(run, tasks=["8"], priority=1)
        evaluations(run, tasks=["7"], priority=-1)
        assert [found.task_id for found in decide_all(run, ana)] == ["8", "5", "9", "7"]

    def test_records_assigned_to_the_reviewer_come_first(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1"], priority=5)
        evaluations(run, tasks=["2"], assigned_to=ana)
        assert [found.task_id for found in decide_all(run, ana)] == ["2", "1"]

    def test_queue_has_no_record_that_is_escalated_or_assigned_to_others(
        self, run: Run, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=["1"], assigned_to=bo)
        evaluations(run, tasks=["2"], is_escalated=True)
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.prefetch_next(run=run, reviewer=ana, after=[]) is None

    def test_record_assigned_to_others_stays_theirs_after_its_claim_expired(
        self, run: Run, ana: User, bo: User
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"], assigned_to=bo)
        end_claim(claims.claim(evaluation_id=evaluation.pk, reviewer=bo))
        assert claims.claim_next(run=run, reviewer=ana) is None
        assert claims.claim_next(run=run, reviewer=bo) == evaluation

    def test_record_with_an_expired_claim_comes_first(self, run: Run, ana: User, bo: User) -> None:
        _, left = evaluations(run, tasks=["1", "2"])
        end_claim(claims.claim(evaluation_id=left.pk, reviewer=bo))
        assert claims.claim_next(run=run, reviewer=ana) == left

    def test_condition_filters_the_queue(self, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1", "2"], model_id="a")
        wanted = evaluations(run, tasks=["1", "2"], model_id="b")
        condition = Q(model_id="b")
        found = []
        while evaluation := claims.claim_next(run=run, reviewer=ana, condition=condition):
            decide(evaluation, ana)
            found.append(evaluation)
        assert found == wanted

    def test_condition_excludes_a_claimed_record(self, run: Run, ana: User) -> None:
        held, wanted = evaluations(run, tasks=["1", "2"])
        claims.claim(evaluation_id=held.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana, condition=Q(task_id="2")) == wanted

    @pytest.mark.slow
    def test_task_that_nobody_works_on_is_found_among_the_next_500_records_only(
        self, run: Run, ana: User, bo: User
    ) -> None:
        first, *rest = evaluations(run, tasks=["1"] * 600 + ["2"])
        assert claims.claim_next(run=run, reviewer=bo) == first
        assert claims.claim_next(run=run, reviewer=ana) == rest[0]


@pytest.mark.slow
@pytest.mark.parametrize("due_on", [None, dt.date(2026, 3, 2)])
def test_claim_next_reads_few_records_of_a_long_queue(run: Run, ana: User, due_on: dt.date | None) -> None:
    run.due_on = due_on
    run.save()
    evaluations(run, tasks=["1"] * 300, due_on=dt.date(2026, 3, 9))
    first, *_ = evaluations(run, tasks=["1"] * 300)
    decide(first, ana)
    statements = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if "UPDATE evaluation SET" in sql:
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        claimed = claims.claim_next(run=run, reviewer=ana)
    assert claimed
    claims.release(evaluation_id=claimed.pk, actor=ana)
    [(sql, params)] = statements
    # The table is too short for the planner to prefer the index by itself.
    sql_statements.execute(
        "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; ANALYZE evaluation"
    )
    assert rows_read(sql, params)["evaluation"] < 10


@pytest.mark.slow
def test_records_come_by_priority_then_by_due_date(run: Run, ana: User) -> None:
    soon, later = dt.date(2026, 3, 2), dt.date(2026, 3, 9)
    orders: dict[str, dict[str, Any]] = {
        "1": {},
        "2": {"due_on": later},
        "3": {"due_on": soon},
        "4": {"priority": 1},
        "5": {"priority": 1, "due_on": later},
    }
    for task, values in orders.items():
        evaluations(run, tasks=[task], **values)
    assert [record.task_id for record in decide_all(run, ana)] == ["5", "4", "3", "2", "1"]


def test_earlier_due_dates_come_before_the_task_to_continue(run: Run, ana: User) -> None:
    evaluations(run, tasks=["1", "2"], due_on=dt.date(2026, 3, 2))
    evaluations(run, tasks=["1"])
    assert [record.task_id for record in decide_all(run, ana)] == ["1", "2", "1"]


@pytest.mark.slow
def test_records_without_a_due_date_are_served_at_that_of_their_run(run: Run, ana: User) -> None:
    early, on_time, late = (dt.date(2026, 3, day) for day in (2, 9, 16))
    run.due_on = on_time
    run.save()
    for task, due_on in {"1": late, "2": None, "3": on_time, "4": early, "5": None}.items():
        evaluations(run, tasks=[task], due_on=due_on)
    evaluations(run, tasks=["6", "7"], due_on=late, assigned_to=ana)
    evaluations(run, tasks=["8"], assigned_to=ana)
    assert [record.task_id for record in decide_all(run, ana)] == ["8", "6", "7", "4", "3", "2", "5", "1"]


def claim_by(name: str) -> Callable[[Evaluation], object]:
    return lambda record: claims.claim(evaluation_id=record.pk, reviewer=User.objects.get(username=name))


def assign_to(name: str) -> Callable[[Evaluation], object]:
    return lambda record: Evaluation.objects.filter(pk=record.pk).update(
        assigned_to=User.objects.get(username=name)
    )


def escalate(record: Evaluation) -> None:
    Evaluation.objects.filter(pk=record.pk).update(is_escalated=True)


def skip(record: Evaluation) -> None:
    Skip.objects.create(evaluation=record, reviewer=User.objects.get(username="ana"))


def let_claim_of_bo_expire(record: Evaluation) -> None:
    end_claim(claims.claim(evaluation_id=record.pk, reviewer=User.objects.get(username="bo")))


@pytest.mark.parametrize(
    ("happens", "is_offered"),
    [
        (str, True),
        (claim_by("ana"), True),
        (claim_by("bo"), False),
        (let_claim_of_bo_expire, True),
        (assign_to("ana"), True),
        (assign_to("bo"), False),
        (escalate, False),
        (skip, False),
    ],
)
@pytest.mark.usefixtures("bo")
def test_run_has_records_if_the_next_one_can_be_claimed(
    run: Run, ana: User, happens: Callable[[Evaluation], object], is_offered: bool
) -> None:
    [record] = evaluations(run, tasks=["1"])
    happens(record)
    assert runs_with_records(runs=[run], reviewer=ana) == [run][:is_offered]
    assert bool(claims.claim_next(run=run, reviewer=ana)) == is_offered


def test_runs_have_records_whose_claims_expired(run: Run, ana: User, bo: User) -> None:
    other, empty = RunFactory.create_batch(2)
    for record in (*evaluations(run, tasks=["1", "2"]), *evaluations(other, tasks=["1", "2"])):
        end_claim(claims.claim(evaluation_id=record.pk, reviewer=bo))
    assert runs_with_records(runs=[run, other, empty], reviewer=ana) == [run, other]


def test_runs_with_records_keep_their_order(run: Run, ana: User) -> None:
    other, empty = RunFactory.create_batch(2)
    evaluations(run, tasks=["1"])
    evaluations(other, tasks=["1"])
    assert runs_with_records(runs=[other, empty, run], reviewer=ana) == [other, run]


def test_few_records_of_long_queues_are_read_to_find_runs(run: Run, ana: User, bo: User) -> None:
    evaluations(run, tasks=["1"] * 300, assigned_to=bo)
    other = RunFactory.create()
    evaluations(other, tasks=["1"] * 300)
    sql_statements.execute(
        "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; ANALYZE evaluation"
    )
    read = rows_read_by(lambda: runs_with_records(runs=[run, other], reviewer=ana))
    assert read["evaluation"] < 10

"""Due dates of runs and records, and assigned records by due date."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import AuditEvent, User
from reviews.queue import due_dates
from reviews.queue.due_dates import AssignedRecords
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.work import evaluations

pytestmark = pytest.mark.django_db

TODAY = timezone.now().date()
YESTERDAY, TOMORROW = TODAY - dt.timedelta(days=1), TODAY + dt.timedelta(days=1)


def test_record_without_due_date_is_due_with_its_run() -> None:
    run = RunFactory.create(due_on=YESTERDAY)
    own, of_run = EvaluationFactory.create(run=run, due_on=TOMORROW), EvaluationFactory.create(run=run)
    done = EvaluationFactory.create(run=run, human_review_status="Completed")
    assert [(one.due, one.is_overdue) for one in (own, of_run, done)] == [
        (TOMORROW, False),
        (YESTERDAY, True),
        (None, False),
    ]


def test_assigned_records_are_counted_by_person_and_run(ana: User, bo: User) -> None:
    run, late = RunFactory.create(), RunFactory.create(due_on=YESTERDAY)
    evaluations(run, tasks=["1", "2"], assigned_to=ana)
    evaluations(run, tasks=["3"], assigned_to=ana, due_on=TOMORROW)
    evaluations(run, tasks=["4"], assigned_to=ana, human_review_status="Completed")
    evaluations(run, tasks=["5"], assigned_to=ana, is_escalated=True)
    evaluations(late, tasks=["1"], assigned_to=ana)
    evaluations(late, tasks=["2"], assigned_to=bo, due_on=TOMORROW)
    evaluations(RunFactory.create(archived_at=timezone.now()), tasks=["1"], assigned_to=ana)
    of_ana = {
        AssignedRecords(ana.pk, run.pk, 3, 0, TOMORROW),
        AssignedRecords(ana.pk, late.pk, 1, 1, YESTERDAY),
    }
    of_bo = AssignedRecords(bo.pk, late.pk, 1, 0, TOMORROW)
    assert {*due_dates.assigned_records()} == {*of_ana, of_bo}
    assert {*due_dates.assigned_records(person=ana)} == of_ana
    assert due_dates.assigned_records(person=bo, runs=[run.pk]) == []
    tomorrow = {AssignedRecords(ana.pk, run.pk, 1, 0, TOMORROW), of_bo}
    assert {*due_dates.assigned_records(due=TOMORROW)} == tomorrow
    assert due_dates.announce_due_records() == 2
    announced = AuditEvent.objects.filter(action="records due").values_list("run", "detail")
    assert sorted(announced, key=str) == sorted(
        (one.run, {"username": name, "records": one.records, "due_on": TOMORROW.isoformat()})
        for one, name in zip(sorted(tomorrow), ("ana", "bo"), strict=True)
    )


def test_queue_page_says_what_is_assigned_and_when_it_is_due(as_ana: Client, ana: User) -> None:
    run = RunFactory.create()
    evaluations(run, tasks=["1"], assigned_to=ana, due_on=YESTERDAY)
    evaluations(run, tasks=["2"], assigned_to=ana)
    page = text(as_ana.get(reverse("review", args=[run.pk])))
    assert f"Assigned to you: 2, overdue since {YESTERDAY}" in page
    assert "(1 overdue)" in page


def test_record_and_list_say_when_a_record_is_due(as_ana: Client, ana: User) -> None:
    record = EvaluationFactory.create(
        due_on=TOMORROW, claimed_by=ana, claimed_until=timezone.now() + dt.timedelta(hours=1)
    )
    assert "Due tomorrow" in text(as_ana.get(reverse("evaluation", args=[record.pk])))
    assert "Due tomorrow" in text(as_ana.get(reverse("run", args=[record.run_id])))

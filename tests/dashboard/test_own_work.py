"""A reviewer's own work: records to continue, decisions of today and this week, and records left."""

import datetime as dt

import pytest
from django.utils import timezone

from reviews.dashboard import own_work
from reviews.models import Draft, Evaluation, Run, Skip, User
from reviews.models.runs import RunQuerySet
from reviews.queue import claims
from reviews.review.decisions import revise, undo
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def runs() -> RunQuerySet:
    return Run.objects.all()


def drafted(evaluation: Evaluation, reviewer: User) -> None:
    Draft.objects.create(evaluation=evaluation, reviewer=reviewer, fields=[["comments", "half"]])


def unfinished(reviewer: User) -> list[str | None]:
    return [one.evaluation.task_id for one in own_work.unfinished_records(reviewer, runs())]


def test_claimed_records_and_drafts_are_unfinished(ana: User, bo: User) -> None:
    run = RunFactory.create()
    for task in ("mine", "drafted", "claimed by bo", "escalated", "for bo", "untouched"):
        EvaluationFactory.create(run=run, task_id=task)
    by_task = {one.task_id: one for one in Evaluation.objects.all()}
    claims.claim(evaluation_id=by_task["claimed by bo"].pk, reviewer=bo)
    claims.claim(evaluation_id=by_task["mine"].pk, reviewer=ana)
    Evaluation.objects.filter(task_id="escalated").update(is_escalated=True)
    Evaluation.objects.filter(task_id="for bo").update(assigned_to=bo)
    for task in ("mine", "drafted", "claimed by bo", "escalated", "for bo"):
        drafted(by_task[task], ana)
    assert unfinished(ana) == ["mine", "drafted"]
    assert unfinished(bo) == ["claimed by bo"]
    [mine, other] = own_work.unfinished_records(ana, runs())
    assert (mine.is_claimed, other.is_claimed) == (True, False)
    assert mine.drafted_at
    assert own_work.unfinished_records(ana, Run.objects.none()) == []


def test_draft_of_a_revision_is_unfinished_for_its_reviewer_only(ana: User, bo: User) -> None:
    record = decide(EvaluationFactory.create(task_id="done"), ana).evaluation
    drafted(record, ana)
    drafted(record, bo)
    [one] = own_work.unfinished_records(ana, runs())
    assert one.is_revision
    assert unfinished(bo) == []


def test_done_counts_begin_at_midnight_and_on_monday_of_the_reader(ana: User, bo: User) -> None:
    decide(EvaluationFactory.create(), bo)
    for _ in range(2):
        decide(EvaluationFactory.create(), ana)
    submitted = timezone.now()
    # In this zone, the day has begun half an hour before.
    since_midnight = dt.timedelta(hours=submitted.hour, minutes=submitted.minute)
    ahead = dt.timedelta(minutes=30) - since_midnight
    zone = dt.timezone(ahead if ahead > -dt.timedelta(hours=12) else ahead + dt.timedelta(days=1))
    now = submitted.astimezone(zone)
    assert own_work.done_counts(ana, now) == (2, 2)
    tomorrow = own_work.done_counts(ana, now + dt.timedelta(days=1))
    assert tomorrow == (0, 0 if now.weekday() == 6 else 2)
    assert own_work.done_counts(ana, now + dt.timedelta(days=7 - now.weekday())) == (0, 0)
    assert own_work.done_counts(ana, now - dt.timedelta(hours=1)) == (2, 2)


def test_record_counts_once_and_not_after_an_undo(ana: User) -> None:
    twice, undone = EvaluationFactory.create(), EvaluationFactory.create()
    first = decide(twice, ana)
    decide(first.evaluation, ana, by=revise)
    undo(review=decide(undone, ana))
    assert own_work.done_counts(ana, timezone.now()) == (1, 1)


def test_assigned_and_skipped_records_are_left(ana: User, bo: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFactory.create()
    assigned, skipped, *_ = EvaluationFactory.create_batch(4, run=run)
    Evaluation.objects.filter(pk=assigned.pk).update(assigned_to=ana)
    EvaluationFactory.create(run=run, assigned_to=ana, human_review_status="Completed")
    Skip.objects.create(evaluation=skipped, reviewer=ana)
    assert own_work.waiting_counts(ana, runs()) == (1, 1)
    assert own_work.waiting_counts(bo, runs()) == (0, 0)
    assert own_work.waiting_counts(ana, Run.objects.none()) == (0, 0)
    # Assigned to somebody else, the record does not come back to ana.
    Evaluation.objects.filter(pk=skipped.pk).update(assigned_to=bo)
    assert own_work.waiting_counts(ana, runs()).skipped == 0
    Evaluation.objects.filter(pk=skipped.pk).update(assigned_to=ana)
    assert own_work.waiting_counts(ana, runs()) == (2, 1)
    Evaluation.objects.filter(assigned_to=None).update(assigned_to=ana)
    monkeypatch.setattr(own_work, "MAX_COUNTED", 2)
    assert own_work.waiting_counts(ana, runs()).assigned == 2

"""Transactions that change several records do not wait for an import, which may wait for their locks."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from reviews.imports.importer import import_stream
from reviews.models import Evaluation, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.queue import claims, members
from reviews.queue.members import deactivate_reviewer
from reviews.records.conflicts import Conflict
from reviews.records.rubric import VerdictRule
from reviews.review import known_answers
from reviews.runs import changes
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_of
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import decide

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def record(ana: User, bo: User) -> Evaluation:
    """Return a record that ana has claimed and that is assigned to her, in a run with another one."""
    import_data(file_of(line("e-1"), line("e-2")), run="algebra")
    record = Evaluation.objects.get(evaluation_id="e-1")
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    Evaluation.objects.filter(pk=record.pk).update(assigned_to=ana)
    return record


@transaction.atomic
def import_again(meanwhile: Callable[[], object], **options: Any) -> "Future[object]":
    """Import a file with the known records and a new one. Start an action once the records are locked."""
    started: list[Future[object]] = []

    def progress(*_: object) -> None:
        started.append(start_and_wait_for_lock(meanwhile))

    data = file_of(*(line(name, verification_message="changed") for name in ("e-1", "e-2", "e-3")))
    import_stream(
        blocks=[data], run_name="algebra", file_name="again.jsonl", actor=None, progress=progress, **options
    )
    return started[0]


def owner(record: Evaluation) -> tuple[User | None, User | None]:
    record.refresh_from_db()
    return record.claimed_by, record.assigned_to


def test_change_of_members_during_an_import_does_not_deadlock(record: Evaluation, ana: User) -> None:
    def restrict() -> None:
        members.configure_members(run_id=record.run_id, actor=None, members=["bo"])

    import_again(restrict).result()
    assert owner(record) == (ana, ana)
    members.release_left_records()
    assert owner(record) == (None, None)
    assert Evaluation.objects.filter(run=record.run_id).count() == 3


def test_deactivation_does_not_wait_for_an_import(record: Evaluation, ana: User, max: User) -> None:
    done = import_again(lambda: deactivate_reviewer(person=ana, actor=max))
    assert done.done()
    done.result()
    ana.refresh_from_db()
    assert not ana.is_active
    members.release_left_records()
    assert owner(record) == (None, None)


def test_records_of_people_with_access_are_kept(record: Evaluation, ana: User) -> None:
    members.release_left_records()
    assert owner(record) == (ana, ana)


def test_archiving_does_not_wait_for_records_of_an_import(record: Evaluation, ana: User) -> None:
    done = import_again(lambda: changes.archive_run(run_id=record.run_id, actor=None))
    done.result()
    assert Run.objects.get(pk=record.run_id).archived_at
    assert Evaluation.objects.filter(run=record.run_id).count() == 3


def test_deletion_waits_for_the_end_of_an_import(record: Evaluation) -> None:
    Run.objects.filter(pk=record.run_id).update(deletion_requested_at=timezone.now())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviews.imports.runs.check_open", lambda _run: None)
        done = import_again(changes.delete_next_part)
    assert done.result() is False
    assert changes.delete_next_part()


def test_end_of_a_check_does_not_wait_for_an_import(record: Evaluation, lea: User) -> None:
    check = KnownAnswerCheck.objects.create(run=record.run, started_by=lea)
    KnownAnswer.objects.create(known_answer_check=check, evaluation=record)
    with pytest.raises(Conflict, match="are being changed"):
        import_again(lambda: known_answers.end(check_id=check.pk, actor=lea)).result()
    known_answers.end(check_id=check.pk, actor=lea)


def test_submit_during_an_import_with_a_rubric_does_not_deadlock(record: Evaluation, ana: User) -> None:
    started: list[Future[object]] = []

    def blocks() -> Iterator[bytes]:
        scores = {"Clarity": {"score": "Yes", "justification": "Each step follows."}}
        submit = partial(decide, record, ana, scores=scores, origins={"Clarity": "judge"})
        started.append(start_and_wait_for_lock(submit))
        yield file_of(line("e-1", verification_message="changed"))

    with transaction.atomic():
        import_stream(
            blocks=blocks(),
            run_name="algebra",
            file_name="again.jsonl",
            actor=None,
            rubric=rubric_of("Clarity", rule=VerdictRule("none")),
        )
    started[0].result()
    record.refresh_from_db()
    assert record.review_id

"""The jobs as a worker runs them."""

from collections.abc import Iterable

import pytest
from django.core.management import call_command
from django.db import connection
from procrastinate.contrib.django import app

from reviews import importer
from reviews.models import Evaluation, Import, User
from tests.lines import line

pytestmark = pytest.mark.django_db(transaction=True)


def upload(admin: User, blocks: Iterable[bytes], *, strict: bool = False) -> Import:
    return importer.receive_upload(
        run_name="run", file_name="run.jsonl", blocks=blocks, strict=strict, actor=admin
    )


def work() -> None:
    """What a worker does that finds these jobs, and then ends."""
    call_command("procrastinate", "worker", wait=False, listen_notify=False)


def test_an_upload_is_imported_by_the_next_worker(max: User) -> None:
    waiting = upload(max, [line("eval_1")])
    assert (waiting.state, Evaluation.objects.count()) == (Import.State.QUEUED, 0)
    work()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.new, Evaluation.objects.count()) == (Import.State.DONE, 1, 1)


def test_an_error_of_ours_is_told_and_leaves_nothing_behind(
    max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = upload(max, [line("eval_1")])

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(importer, "copy_new", fail)
    work()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error) == (Import.State.FAILED, "ZeroDivisionError: a bug")
    assert Evaluation.objects.count() == 0


def test_the_job_of_a_worker_that_died_is_taken_up_by_the_next(max: User) -> None:
    waiting = upload(max, [line("eval_1")])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')"
            " RETURNING id"
        )
        [dead] = cursor.fetchone() or [0]
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [dead])
    app.configure_task("reviews.tasks.take_up_stalled_jobs").defer(timestamp=0)
    work()
    waiting.refresh_from_db()
    assert (waiting.state, Evaluation.objects.count()) == (Import.State.DONE, 1)

"""Background jobs in a worker."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.db.models import QuerySet
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

from cognireview.environment import BASE_DIR
from reviews import tasks
from reviews.database.statements import execute, fetch_all, fetch_one, fetch_value
from reviews.exports import jobs, output, stored_files
from reviews.imports import importer
from reviews.imports import jobs as imports_job
from reviews.models import (
    AuditEvent,
    Evaluation,
    Export,
    ExportPart,
    Import,
    ImportProgress,
    User,
    WebhookDelivery,
)
from reviews.webhooks import deliveries
from tests.support import receiver
from tests.support.factories import EvaluationFactory
from tests.support.jobs import blocks, upload, work
from tests.support.lines import file_of, import_data, line
from tests.support.waiting import eventually
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


def retry_and_work() -> None:
    """Run a worker that retries the jobs of dead workers at once, until all jobs are done."""
    app.configure_task(tasks.retry_stalled_jobs.name).defer(timestamp=0)
    work(has_periodic_jobs=True)


def test_queued_imports_occupy_no_worker(max: User) -> None:
    for number in range(2):
        upload(max, [line(f"eval_{number}")])
    found = []
    for _ in range(2):
        found += fetch_all("SELECT args FROM procrastinate_fetch_job_v2(NULL, NULL)")
    first, nothing = (args for (args,) in found)
    assert "import_id" in first
    assert nothing is None


@pytest.mark.slow
def test_upload_is_imported_by_the_next_worker(max: User) -> None:
    waiting = upload(max, [line("eval_1")])
    assert (waiting.state, Evaluation.objects.count()) == (Import.State.QUEUED, 0)
    work(has_periodic_jobs=True)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.new, Evaluation.objects.count()) == (Import.State.DONE, 1, 1)


@pytest.mark.slow
def test_internal_error_is_reported_and_leaves_nothing(max: User, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = upload(max, [line("eval_1")])

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(importer, "insert_evaluations", fail)
    work()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error) == (Import.State.FAILED, "ZeroDivisionError: a bug")
    assert Evaluation.objects.count() == 0


class TestDatabaseOutage:
    """Connections are terminated as by a stopping PostgreSQL."""

    @pytest.mark.slow
    def test_import_is_restarted_after_an_outage(self, max: User, monkeypatch: pytest.MonkeyPatch) -> None:
        waiting = upload(max, [line("eval_1")])
        lose_database(monkeypatch, importer, "insert_evaluations", times=2)
        work()
        waiting.refresh_from_db()
        assert (waiting.state, waiting.error, waiting.new) == (Import.State.DONE, "", 1)
        assert not jobs_of(waiting).exists()

    @pytest.mark.slow
    def test_export_is_restarted_after_an_outage(self, lea: User, monkeypatch: pytest.MonkeyPatch) -> None:
        export = jobs.enqueue(
            options=output.ExportOptions(import_data(file_of(line("eval_1"))).target_run), actor=lea
        )
        lose_database(monkeypatch, stored_files, "pack", times=2)
        work()
        export.refresh_from_db()
        assert (export.state, export.error) == (Export.State.DONE, "")
        assert AuditEvent.objects.filter(action="export").count() == 1


def lose_database(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, times: int) -> None:
    """Terminate the caller's connection in the first calls of a function."""
    function, left = getattr(module, name), iter(range(times))

    def lose(*arguments: Any) -> Any:
        if next(left, None) is not None:
            execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return function(*arguments)

    monkeypatch.setattr(module, name, lose)


@pytest.mark.slow
def test_job_of_a_dead_worker_is_retried(max: User) -> None:
    waiting = upload(max, [line("eval_1")])
    give_jobs_to_a_dead_worker()
    retry_and_work()
    waiting.refresh_from_db()
    assert (waiting.state, Evaluation.objects.count()) == (Import.State.DONE, 1)


@pytest.mark.slow
def test_periodic_job_of_a_dead_worker_that_is_queued_again_does_not_hold_up_others(max: User) -> None:
    periodic = app.configure_task(
        tasks.remove_expired_rows.name, queueing_lock=tasks.remove_expired_rows.queueing_lock
    )
    stalled = periodic.defer(timestamp=0)
    waiting = upload(max, [line("eval_1")])
    give_jobs_to_a_dead_worker()
    again = periodic.defer(timestamp=1)
    retry_and_work()
    waiting.refresh_from_db()
    assert (waiting.state, Evaluation.objects.count()) == (Import.State.DONE, 1)
    assert again != stalled
    assert not ProcrastinateJob.objects.exists()


def give_jobs_to_a_dead_worker() -> None:
    """Let all jobs look as if a worker that died an hour ago had begun them."""
    [dead] = fetch_one(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
    ) or [0]
    execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [dead])


@pytest.mark.slow
class TestStoppedWorker:
    """Several blocks of a file, because a worker stops between two."""

    LINES = 4_000

    @pytest.mark.exhaustive
    def test_stopped_worker_returns_its_import(self, max: User) -> None:
        waiting = upload(max, blocks(self.LINES))
        with worker("--shutdown-graceful-timeout=0") as stopped:
            with locked_table("evaluation"):
                stopped.terminate()
            stopped.wait()
        assert [job.status for job in jobs_of(waiting)] == ["todo"]
        assert not Evaluation.objects.exists()
        work()
        waiting.refresh_from_db()
        assert (waiting.state, waiting.new) == (Import.State.DONE, self.LINES)

    @pytest.mark.exhaustive
    def test_import_of_a_killed_worker_is_done_once_by_the_next(self, max: User) -> None:
        lines = 1_000
        waiting = upload(max, blocks(lines))
        # The import writes the options of filters last, so all its records are written and uncommitted.
        with worker() as first, locked_table("run_facet"):
            kill(first)
        assert ImportProgress.objects.get().bytes_done > 0
        waiting.refresh_from_db()
        assert waiting.state == Import.State.RUNNING
        assert not Evaluation.objects.exists()
        assert not waiting.exceptions.exists()
        retry_and_work()
        waiting.refresh_from_db()
        assert (waiting.state, waiting.new, waiting.lines) == (Import.State.DONE, lines, lines)
        assert Evaluation.objects.count() == lines
        assert not jobs_of(waiting).exists()
        events = [event.action for event in AuditEvent.objects.order_by("pk")]
        assert events == ["upload", "import", "infer rubric"]


@pytest.mark.exhaustive
def test_export_of_a_killed_worker_is_built_once_by_the_next(
    lea: User,
) -> None:
    """Another worker finds the job by itself, within ten seconds."""
    data = file_of(line("eval_1"), line("eval_2"))
    export = jobs.enqueue(options=output.ExportOptions(import_data(data).target_run), actor=lea)
    with worker() as first, locked_table("export_part"):
        kill(first)
    export.refresh_from_db()
    assert export.state == Export.State.UNFINISHED
    with worker():
        assert eventually(lambda: not Export.objects.filter(state=Export.State.UNFINISHED).exists())
        assert eventually(lambda: not ProcrastinateJob.objects.filter(task_name=jobs.JOB).exists())
    export.refresh_from_db()
    assert export.state == Export.State.DONE
    assert b"".join(stored_files.stored_range(export, ExportPart.Kind.FILE, 0, export.size - 1)) == data
    assert AuditEvent.objects.filter(action="export").count() == 1


@pytest.mark.exhaustive
def test_killed_worker_loses_no_message(max: User, ana: User, settings: LazySettings) -> None:
    """A sent message may be repeated with the same id, but the run causes one message only."""
    with receiver.running() as there:
        settings.WEBHOOK_HOSTS = [there.host]
        deliveries.add_webhook(url=there.url, run=None, actor=max)
        decide(EvaluationFactory.create(), ana)
        deliveries.notify_reviewed_runs()
        with worker(COGNIREVIEW_WEBHOOK_HOSTS=there.host) as first:
            there.meanwhile = first.kill
            assert eventually(lambda: first.poll() is not None)
            kill(first)
        delivery = WebhookDelivery.objects.get()
        assert (delivery.state, delivery.attempts.count()) == ("waiting", 0)
        retry_and_work()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts.count()) == ("delivered", 1)
    assert [received.headers["webhook-id"] for received in there.received] == [delivery.message_id] * 2


@contextmanager
def locked_table(names: str) -> Iterator[None]:
    """Lock tables from before a worker writes to them to the end of the block, which begins as it waits."""
    with transaction.atomic():
        execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")
        assert eventually(somebody_waits)
        yield


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, and wait until it counts as dead."""
    process.kill()
    process.wait()
    execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")


def somebody_waits() -> bool:
    return fetch_value("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)") is True


def jobs_of(source: Import) -> QuerySet[ProcrastinateJob]:
    return ProcrastinateJob.objects.filter(task_name=imports_job.JOB, args={"import_id": source.pk})


@contextmanager
def worker(*options: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker process on the tests' database."""
    parts = connection.settings_dict
    place = {"host": parts["HOST"], "port": parts["PORT"], "password": parts["PASSWORD"]}
    server = urlencode(place, quote_via=quote)
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{parts['USER']}@/{parts['NAME']}?{server}",
        "COGNIREVIEW_STALLED_WORKER_SECONDS": "2",
        **variables,
    }
    command = [sys.executable, "manage.py", "procrastinate", "worker", *options]
    with subprocess.Popen(command, cwd=BASE_DIR, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()

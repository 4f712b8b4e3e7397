"""Jobs that lose the database: they are restarted or skipped, and do not fail."""

import asyncio
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import JobAborted
from psycopg import errors

from cognireview.operations import disk_full
from cognireview.processes import job_worker
from reviews import tasks
from reviews.exports import jobs
from reviews.imports import jobs as import_jobs
from reviews.search import indexing
from reviews.webhooks import deliveries
from tests.cognireview.operations.test_outage import wrapped

CONTEXT: Any = SimpleNamespace(should_abort=lambda: False)
JOBS: dict[str, tuple[Callable[[], Any], str]] = {
    "import": (lambda: tasks.import_upload.func(CONTEXT, 1), "reviews.imports.jobs.progress_reports"),
    "export": (lambda: tasks.build_export.func(CONTEXT, 1), "reviews.exports.jobs.build"),
    "facets": (lambda: tasks.index_records.func(CONTEXT), "reviews.search.indexing.index_next_chunk"),
}


def failing(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.fixture(autouse=True)
def failed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the recorded failures."""
    noted: list[str] = []
    monkeypatch.setattr(import_jobs, "fail_upload", lambda error, **_: noted.append(error))
    monkeypatch.setattr(jobs, "fail", lambda error, **_: noted.append(error))
    return noted


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("error", [errors.AdminShutdown, errors.DeadlockDetected])
def test_job_is_restarted_after_an_outage_or_a_deadlock(
    name: str, error: type[errors.OperationalError], failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job, part = JOBS[name]
    monkeypatch.setattr(part, failing(wrapped(error("ended by the database"))))
    with pytest.raises(tasks.DatabaseAway) as raised:
        job()
    assert failed == []
    retried = tasks._RESTART.get_retry_decision(exception=raised.value, job=SimpleNamespace(attempts=9))  # type: ignore[arg-type]
    assert retried is not None


@pytest.mark.parametrize(
    ("job", "part"),
    [
        (tasks.notify_reviewed_runs, "reviews.webhooks.deliveries.notify_reviewed_runs"),
        (tasks.remove_expired_rows, "reviews.maintenance.retention.remove_expired_rows"),
    ],
    ids=["webhooks", "retention"],
)
def test_periodic_job_is_skipped_during_an_outage(
    job: Any, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, failing(wrapped(errors.AdminShutdown("terminating connection"))))
    job.func(timestamp=0)
    monkeypatch.setattr(part, failing(wrapped(errors.DiskFull("no space left"))))
    with pytest.raises(Exception, match="no space left"):
        job.func(timestamp=0)


@pytest.mark.parametrize("name", ["import", "export"])
def test_job_fails_after_a_recurring_error(
    name: str, failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job, part = JOBS[name]
    monkeypatch.setattr(part, failing(wrapped(errors.DiskFull("no space left"))))
    with pytest.raises(Exception, match="no space left"):
        job()
    assert failed == [disk_full.MESSAGE]


def test_stopping_worker_is_not_an_outage(failed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "index_next_chunk", lambda: True)
    monkeypatch.setattr(CONTEXT, "should_abort", lambda: True)
    with pytest.raises(JobAborted):
        tasks.index_records.func(CONTEXT)


class TestHeartbeat:
    def test_worker_touches_its_file_until_it_stops(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "heartbeat"

        async def stop_at_second_beat(_finish_seconds: int, **_options: object) -> None:
            for _ in range(2):
                while not file.exists():  # noqa: ASYNC110
                    await asyncio.sleep(0)
                file.unlink()

        monkeypatch.setattr(job_worker, "_HEARTBEAT_SECONDS", 0)
        monkeypatch.setattr(job_worker, "_work_until_stopped", stop_at_second_beat)
        job_worker.work(0, file)
        assert not file.exists()

    def test_unwritable_file_does_not_stop_the_worker(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        job_worker._touch(tmp_path / "missing" / "heartbeat")
        assert "cannot be written: No such file" in caplog.text


class TestWorker:
    """The worker may end by a stop, an outage, or an internal error, which must be visible."""

    @staticmethod
    def ended_with(error: BaseException | None) -> Any:
        return SimpleNamespace(cancelled=lambda: False, exception=lambda: error)

    @pytest.mark.parametrize("error", [None, TimeoutError(), wrapped(errors.AdminShutdown())], ids=repr)
    def test_worker_continues_after_an_outage(self, error: BaseException | None) -> None:
        job_worker._raise_unexpected(self.ended_with(error))

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    def test_job_that_fails_enqueues_no_other_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @transaction.atomic
        def enqueue_and_fail() -> None:
            later = timezone.now() + timedelta(days=1)
            app.configure_task(deliveries.JOB, schedule_at=later).defer(delivery_id=1, attempt=1)
            raise ZeroDivisionError

        async def work() -> None:
            connector = job_worker.WorkerConnector(kwargs=connector_params())
            with app.replace_connector(connector) as ours:
                async with ours.open_async():
                    await ours.run_worker_async(wait=False, install_signal_handlers=False)

        monkeypatch.setattr(deliveries, "notify_reviewed_runs", enqueue_and_fail)
        app.configure_task(tasks.notify_reviewed_runs.name).defer(timestamp=0)
        asyncio.run(work())
        assert ProcrastinateJob.objects.filter(
            task_name=tasks.notify_reviewed_runs.name, status="failed"
        ).exists()
        assert not ProcrastinateJob.objects.filter(task_name=deliveries.JOB).exists()

    def test_worker_ends_after_any_other_error(self) -> None:
        with pytest.raises(LookupError):
            job_worker._raise_unexpected(self.ended_with(LookupError()))

    def test_work_is_done_a_while_after_the_last_job_that_was_not_periodic(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs, found, clock = job_worker._Jobs(), list[bool](), SimpleNamespace(now=1000.0)
        monkeypatch.setattr(job_worker, "time", SimpleNamespace(monotonic=lambda: clock.now))

        async def run() -> None:
            clock.now += job_worker._REST_SECONDS + 1
            found.append(jobs.are_done())

        def run_job(**given: int) -> bool:
            context: Any = SimpleNamespace(job=SimpleNamespace(task_kwargs=given))
            asyncio.run(jobs.note(run, context, None))
            clock.now += job_worker._REST_SECONDS + 1
            return jobs.are_done()

        assert [run_job(timestamp=1), run_job(import_id=1), run_job(timestamp=2)] == [False, True, True]
        # Never while a job runs.
        assert found == [False, False, False]

    @pytest.mark.parametrize("ends_after_work", [True, False])
    def test_worker_ends_after_work_only_if_another_replaces_it(
        self, monkeypatch: pytest.MonkeyPatch, *, ends_after_work: bool
    ) -> None:
        stopped = []

        async def work(_finish_seconds: int, jobs: job_worker._Jobs) -> None:
            monkeypatch.setattr(jobs, "are_done", lambda: True)
            try:
                await asyncio.sleep(0)
                if not ends_after_work:
                    os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.Event().wait()
            finally:
                stopped.append(jobs)

        monkeypatch.setattr(job_worker, "_run_worker", work)
        monkeypatch.setattr(job_worker, "_POLL_SECONDS", 0.001)
        job_worker.work(0, ends_after_work=ends_after_work)
        assert len(stopped) == 1

"""Run procrastinate's job worker, and restart it after a database outage, which ends it."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from procrastinate import App, JobContext
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.utils import connector_params
from procrastinate.periodic import PeriodicDeferrer, PeriodicTask
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from cognireview.operations import outage
from cognireview.processes.idle_memory import release_when_idle, set_up_heap


class SteadyDeferrer(PeriodicDeferrer):
    """Enqueues periodic jobs. procrastinate's own enqueues none until a clock that was set back catches up.

    After a suspension of the machine, it would also enqueue each job for each of its times in between.
    """

    def get_timestamps(
        self, periodic_task: PeriodicTask[Any, Any, Any], since: int | None, until: float
    ) -> Iterable[int]:
        """Yield the newest time of a task since its last one, if there is one."""
        if since is None or since > until:
            yield from super().get_timestamps(periodic_task, None, until)
            return
        periodic_task.croniter.set_current(start_time=until)
        newest = round(periodic_task.croniter.get_prev(ret_type=float))
        if newest > since:
            yield newest


class SteadyWorker(Worker):
    """A worker of procrastinate with this deferrer, which fetches a job as soon as its lock is free."""

    async def _periodic_deferrer(self) -> None:
        deferrer = SteadyDeferrer(registry=self.app.periodic_registry, **self.app.periodic_defaults)
        await deferrer.worker()

    async def _process_job(self, context: JobContext) -> None:
        """Process a job, and fetch the next one with its lock without waiting for the next poll."""
        try:
            await super()._process_job(context)
        finally:
            if context.job.lock:
                self._new_job_event.set()


async def run_worker(app: App, **options: Any) -> None:
    """Run a worker of an app, as `App.run_worker_async`."""
    app.perform_import_paths()  # type: ignore[no-untyped-call]
    chosen: dict[str, Any] = {**app.worker_defaults, **options}
    await SteadyWorker(app, **chosen).run()  # type: ignore[no-untyped-call]


_POLL_SECONDS = 0.5
_OPEN_TIMEOUT_SECONDS = 4
_HEARTBEAT_SECONDS = 5
# After its last job, for a worker that ends after work.
_REST_SECONDS = 30
# A connection takes 5 MB. Statements about jobs are short, so they take turns.
_POOL_SIZE: dict[str, Any] = {"min_size": 1, "max_size": 1}
log = logging.getLogger(__name__)


class WorkerConnector(PsycopgConnector):
    """The worker's own connections, for the worker. Jobs enqueue other jobs in their transaction.

    Otherwise a job would be enqueued at once: it could run before the rows that it needs are committed, and
    remain after a rollback.
    """

    def get_sync_connector(self) -> DjangoConnector:
        """Return the connector of the calling thread, which runs a job."""
        return DjangoConnector(alias=DEFAULT_DB_ALIAS)


class _Jobs:
    """The running jobs, and the time of the last one that was not periodic."""

    def __init__(self) -> None:
        self._running = 0
        self._worked_at: float | None = None

    async def note(self, run: Callable[[], Awaitable[Any]], context: JobContext, _worker: object) -> Any:
        """Run a job, as a middleware of procrastinate."""
        self._running += 1
        try:
            return await run()
        finally:
            self._running -= 1
            if "timestamp" not in context.job.task_kwargs:
                self._worked_at = time.monotonic()

    def are_done(self) -> bool:
        """Return whether there was work, and none for a while."""
        worked_at = self._worked_at
        return worked_at is not None and not self._running and time.monotonic() - worked_at > _REST_SECONDS


def work(finish_seconds: int, heartbeat_file: Path | None = None, *, ends_after_work: bool = False) -> None:
    """Run jobs until SIGTERM or SIGINT. Running jobs are asked to stop after `finish_seconds`.

    Touch `heartbeat_file` every few seconds, also during a database outage, until the process hangs or ends.
    If `ends_after_work`, return half a minute after the last job that was not periodic. Then another process
    works with less memory.
    """
    set_up_heap()
    release_when_idle()
    asyncio.run(_work(finish_seconds, heartbeat_file, ends_after_work=ends_after_work))


async def _work(finish_seconds: int, heartbeat_file: Path | None, *, ends_after_work: bool) -> None:
    heartbeat = asyncio.create_task(_beat(heartbeat_file)) if heartbeat_file else None
    try:
        await _work_until_stopped(finish_seconds, ends_after_work=ends_after_work)
    finally:
        if heartbeat:
            heartbeat.cancel()


async def _beat(file: Path) -> None:
    while True:
        _touch(file)
        await asyncio.sleep(_HEARTBEAT_SECONDS)


def _touch(file: Path) -> None:
    try:
        file.touch()
    except OSError as error:
        log.warning("The heartbeat file %s cannot be written: %s.", file, error.strerror)


async def _work_until_stopped(finish_seconds: int, *, ends_after_work: bool) -> None:
    stop_requested, jobs = asyncio.Event(), _Jobs()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    stop = asyncio.create_task(stop_requested.wait() if not ends_after_work else _wait(stop_requested, jobs))
    while not stop.done():
        worker = asyncio.create_task(_run_worker(finish_seconds, jobs))
        await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
        # Cancelling has the effect of a signal. After an outage, the worker has already ended.
        worker.cancel()
        await asyncio.wait({worker})
        _raise_unexpected(worker)
        await asyncio.wait({stop}, timeout=_POLL_SECONDS)
        while not stop.done() and not await asyncio.to_thread(outage.database_answers):
            await asyncio.wait({stop}, timeout=_POLL_SECONDS)


async def _wait(stop_requested: asyncio.Event, jobs: _Jobs) -> None:
    """Wait for the end of the work."""
    while not stop_requested.is_set() and not jobs.are_done():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop_requested.wait(), _POLL_SECONDS)


async def _run_worker(finish_seconds: int, jobs: _Jobs) -> None:
    # The pool gives up early. By default, it retries with growing pauses.
    connector = WorkerConnector(kwargs=connector_params(), timeout=5, reconnect_timeout=1, **_POOL_SIZE)
    with app.replace_connector(connector) as ours:
        try:
            # The pool would keep waiting for connections that it has given up.
            async with asyncio.timeout(_OPEN_TIMEOUT_SECONDS):
                await ours.open_async()
            await run_worker(
                ours,
                install_signal_handlers=False,
                shutdown_graceful_timeout=finish_seconds,
                worker_middleware=[jobs.note],
            )
        finally:
            await ours.close_async()


def _raise_unexpected(worker: "asyncio.Task[None]") -> None:
    """Raise the worker's error, unless it was cancelled or the database did not answer."""
    error = None if worker.cancelled() else worker.exception()
    if error is None:
        return
    if not isinstance(error, TimeoutError) and not outage.is_outage(error):
        raise error
    log.warning("The database does not answer. The worker continues once it does.")

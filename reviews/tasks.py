"""Background jobs. Each takes ids and calls one function."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app
from procrastinate.exceptions import JobAborted, UniqueViolation
from procrastinate.jobs import Status
from procrastinate.middleware import TaskMiddleware

from cognireview.operations import disk_full, outage
from cognireview.operations.redacted_errors import describe
from reviews.audit import chain_checks, log
from reviews.database.locks import is_deadlock
from reviews.exports import jobs as export_jobs
from reviews.imports import importer
from reviews.imports import jobs as import_jobs
from reviews.maintenance import job_list, retention
from reviews.notifications import audit_walk, sending
from reviews.queue import due_dates, members
from reviews.runs import changes
from reviews.sampling import draws, planned_shares
from reviews.search import indexing
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData
from reviews.webhooks import deliveries


class DatabaseAway(Exception):
    """A job lost its database or its transaction, and is restarted."""


def _close_connections(call_next: Callable[[], Any], _context: JobContext, _worker: object) -> Any:
    """Close the job's connection at its end: after an import, it keeps about 30 MB of PostgreSQL's memory."""
    try:
        return call_next()
    finally:
        close_old_connections()


# For every task that is not asynchronous, from the outermost one.
_AROUND: list[TaskMiddleware] = [_close_connections, job_list.keep_error]
_RESTART = RetryStrategy(retry_exceptions={JobAborted, DatabaseAway})


@contextmanager
def _restart_after_outage() -> Iterator[None]:
    """Raise `DatabaseAway` for an outage or a deadlock, so the job is restarted. Other errors fail it."""
    try:
        yield
    except Exception as error:
        if outage.is_outage(error) or is_deadlock(error):
            raise DatabaseAway from error
        raise


@contextmanager
def _skip_on_outage() -> Iterator[None]:
    """End a periodic job quietly during an outage: the next one does its work."""
    try:
        yield
    except Exception as error:
        if not outage.is_outage(error):
            raise


def _reason(error: Exception) -> str:
    """Describe a failure for pages and audit events, without contents of records."""
    if isinstance(error, CorruptData):
        corruption.log_corruption(error)
        return str(error)
    return disk_full.MESSAGE if disk_full.is_disk_full(error) else describe(error)


@contextmanager
def _record_failure(record: Callable[..., None]) -> Iterator[None]:
    """Call `record` with the reason of a failure. A stop of the worker or an outage restarts the job instead.

    If the disk is too full to record the failure, the job is restarted, too.
    """
    try:
        with _restart_after_outage():
            yield
    except (JobAborted, DatabaseAway):
        raise
    except Exception as error:
        try:
            record(error=_reason(error))
        except Exception as second:
            if disk_full.is_disk_full(second):
                raise DatabaseAway from second
            raise
        raise


def _check_in(context: JobContext) -> None:
    """Raise `JobAborted` if the worker stops, and `OSError` if the disk is nearly full."""
    if context.should_abort():
        raise JobAborted
    disk_full.check_space()


@app.task(
    task_middleware=_AROUND,
    name=import_jobs.JOB,
    queue="import",
    # Imports run one at a time (`Lock.IMPORT`). With this lock they wait without a connection or a worker.
    lock="import",
    pass_context=True,
    retry=_RESTART,
)
def import_upload(context: JobContext, import_id: int) -> None:
    """Import an uploaded file. The job is restarted after a stop of its worker or an outage."""
    with _record_failure(partial(import_jobs.fail_upload, import_id=import_id)):
        try:
            with import_jobs.progress_reports(import_id) as report:
                import_jobs.import_upload(import_id=import_id, progress=_unless_stopped(context, report))
        except importer.Cancelled:
            import_jobs.finish_cancelled(import_id=import_id)


def _unless_stopped(context: JobContext, report: importer.Progress) -> importer.Progress:
    def progress(bytes_done: int, counts: dict[str, int]) -> None:
        _check_in(context)
        report(bytes_done, counts)

    return progress


@app.task(task_middleware=_AROUND, name=export_jobs.JOB, queue="export", pass_context=True, retry=_RESTART)
def build_export(context: JobContext, export_id: int) -> None:
    """Build the file of an export. The job is restarted after a stop of its worker or an outage."""
    with _record_failure(partial(export_jobs.fail, export_id=export_id)):
        export_jobs.build(export_id=export_id, check_in=partial(_check_in, context))


@app.periodic(cron="*/10 * * * *")
@app.task(task_middleware=_AROUND, name=indexing.JOB, pass_context=True, retry=_RESTART)
def index_records(context: JobContext, timestamp: int = 0) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Index the records of large imports. A restarted job continues where the last one stopped."""
    with _restart_after_outage():
        while indexing.index_next_chunk():
            if context.should_abort():
                raise JobAborted


@app.periodic(cron="* * * * *")
@app.task(task_middleware=_AROUND, name=changes.JOB, pass_context=True, retry=_RESTART)
def delete_runs(context: JobContext, timestamp: int = 0) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Delete runs as requested. A restarted job continues where the last one stopped."""
    with _restart_after_outage():
        while changes.delete_next_part():
            if context.should_abort():
                raise JobAborted


@app.task(task_middleware=_AROUND, name=draws.JOB, retry=3)
def draw_sample(run_id: int) -> None:
    """Draw the random sample of a large run into its queue."""
    draws.draw_sample(run_id=run_id)


# The sixth field of the pattern is seconds. A starting worker runs the last due job at once.
@app.periodic(cron="* * * * * */10")
@app.task(task_middleware=_AROUND, queueing_lock="notify_reviewed_runs")
def notify_reviewed_runs(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Notify webhooks of runs whose queue has become empty, and report plans whose records are reviewed."""
    with _skip_on_outage():
        deliveries.notify_reviewed_runs()
        planned_shares.report_finished_plans()


@app.periodic(cron="* * * * * */10")
@app.task(task_middleware=_AROUND, queueing_lock="notify_of_events")
def notify_of_events(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Notify people and webhooks of the newest events of the audit log."""
    with _skip_on_outage():
        while audit_walk.notify_of_next_events():
            pass


# The lock: if the mail server hangs, a job takes longer than a minute, and several would occupy the worker.
@app.periodic(cron="* * * * *")
@app.task(task_middleware=_AROUND, queueing_lock="send_notifications", lock="send_notifications")
def send_notifications(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Mail the notifications that are due: those of the last minute, and daily digests."""
    with _skip_on_outage():
        sending.send_due()


# A failed attempt enqueues the next one itself. The retries are for our own errors and outages.
@app.task(
    task_middleware=_AROUND,
    name=deliveries.JOB,
    pass_context=True,
    retry=RetryStrategy(max_attempts=10, wait=60),
)
def deliver_message(context: JobContext, delivery_id: int, attempt: int) -> None:
    """Attempt to deliver a message to a webhook."""
    if context.job.lock:
        deliveries.attempt_delivery(delivery_id, attempt)
    else:
        deliveries.take_turn(delivery_id, attempt)


@app.periodic(cron="30 5 * * *")
@app.task(task_middleware=_AROUND, queueing_lock="announce_due_records")
def announce_due_records(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Record which assigned records are due tomorrow, once a day."""
    with _skip_on_outage():
        due_dates.announce_due_records()


@app.periodic(cron="*/10 * * * *")
@app.task(task_middleware=_AROUND, queueing_lock="release_left_records")
def release_left_records(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Release records of people without access that an import had locked when they lost it."""
    with _skip_on_outage():
        members.release_left_records()


@app.periodic(cron="*/10 * * * *")
@app.task(task_middleware=_AROUND, queueing_lock="publish_audit_head")
def publish_audit_head(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Write the chain head of the audit log to the program's log, outside the database."""
    with _skip_on_outage():
        log.log_chain_head()


@app.task(task_middleware=_AROUND, name=chain_checks.JOB, retry=_RESTART)
def check_audit_log(check_id: int) -> None:
    """Verify the audit log. The job is restarted after an outage."""
    with _record_failure(partial(chain_checks.fail_check, check_id=check_id)):
        chain_checks.run_check(check_id)


@app.periodic(cron="40 3 * * *")
@app.task(task_middleware=_AROUND, queueing_lock="request_daily_check")
def request_daily_check(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Check the audit log once a day."""
    with _skip_on_outage():
        chain_checks.request_check(actor=None)


@app.periodic(cron="*/10 * * * *")
@app.task(task_middleware=_AROUND, queueing_lock="remove_expired_rows")
def remove_expired_rows(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Remove expired exports, sessions and other rows."""
    with _skip_on_outage():
        retention.remove_expired_rows()


@app.periodic(cron="* * * * * */10")
@app.task(queueing_lock="retry_stalled_jobs", pass_context=True)
async def retry_stalled_jobs(context: JobContext, timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Retry the jobs of workers that died."""
    manager = context.app.job_manager
    with _skip_on_outage():
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=settings.STALLED_WORKER_SECONDS):
            try:
                await manager.retry_job(job)
            except UniqueViolation:
                # A periodic job is queued once: the one that waits by now does this one's work.
                await manager.finish_job(job, Status.ABORTED, delete_job=True)

"""The jobs: ids in, one function of the core called, nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.conf import settings
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app
from procrastinate.exceptions import JobAborted

from cognireview.operations import disk_full, outage
from cognireview.operations.redacted_errors import describe
from reviews.audit import log
from reviews.exports import jobs
from reviews.imports import importer
from reviews.imports import jobs as imports_job
from reviews.maintenance import retention
from reviews.sampling import draws
from reviews.search import indexing
from reviews.storage import corruption
from reviews.storage.corruption import CorruptData
from reviews.webhooks import deliveries


class DatabaseAway(Exception):
    """The database went away under a job, which begins anew."""


_BEGINS_ANEW = RetryStrategy(retry_exceptions={JobAborted, DatabaseAway})


@contextmanager
def _begun_anew_after_an_outage() -> Iterator[None]:
    """Tell an outage, after which a job begins anew, from what it fails by."""
    try:
        yield
    except Exception as error:
        if outage.is_outage(error):
            raise DatabaseAway from error
        raise


@contextmanager
def _left_to_the_next_after_an_outage() -> Iterator[None]:
    """Let a job that comes again by the clock end when its database goes away: the next one does its work."""
    try:
        yield
    except Exception as error:
        if not outage.is_outage(error):
            raise


def _reason(error: Exception) -> str:
    """Say why a job failed, on a page and in an audit event: without contents of records."""
    if isinstance(error, CorruptData):
        corruption.log_corruption(error)
        return str(error)
    return disk_full.MESSAGE if disk_full.is_disk_full(error) else describe(error)


@app.task(
    name=imports_job.JOB,
    queue="import",
    # They take turns (`Lock.IMPORT`). Here they wait for that without a connection, or a worker.
    lock="import",
    pass_context=True,
    retry=_BEGINS_ANEW,
)
def import_upload(context: JobContext, import_id: int) -> None:
    """Import a file that was uploaded in the browser.

    If its worker has to stop, or its database goes away, it begins anew.
    """
    try:
        with _begun_anew_after_an_outage(), imports_job.progress_reports(import_id) as report:
            imports_job.import_upload(import_id, _unless_stopped(context, report))
    except (JobAborted, DatabaseAway):
        raise
    except importer.Cancelled:
        imports_job.finish_cancelled(import_id)
    except Exception as error:
        _note(partial(imports_job.fail_upload, import_id, _reason(error)))
        raise


def _note(failure: Callable[[], None]) -> None:
    """Note why a job failed. On a disk too full even for that, the job starts again."""
    try:
        failure()
    except Exception as error:
        if disk_full.is_disk_full(error):
            raise DatabaseAway from error
        raise


def _unless_stopped(context: JobContext, report: importer.Progress) -> importer.Progress:
    def progress(bytes_done: int, counts: dict[str, int]) -> None:
        if context.should_abort():
            raise JobAborted
        disk_full.check_space()
        report(bytes_done, counts)

    return progress


@app.task(
    name=jobs.JOB,
    queue="export",
    pass_context=True,
    retry=_BEGINS_ANEW,
)
def build_export(context: JobContext, export_id: int) -> None:
    """Build the file of an export. If its worker has to stop, or its database goes away, it begins anew."""

    def check_in() -> None:
        if context.should_abort():
            raise JobAborted
        disk_full.check_space()

    try:
        with _begun_anew_after_an_outage():
            jobs.build(export_id, check_in)
    except (JobAborted, DatabaseAway):
        raise
    except Exception as error:
        _note(partial(jobs.fail, export_id, _reason(error)))
        raise


@app.periodic(cron="*/10 * * * *")
@app.task(name=indexing.JOB, pass_context=True, retry=_BEGINS_ANEW)
def index_records(context: JobContext, timestamp: int = 0) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Give records that a large import brought their facets and words. Whoever stops is gone on from."""
    with _begun_anew_after_an_outage():
        while indexing.index_next_chunk():
            if context.should_abort():
                raise JobAborted


@app.task(name=draws.JOB, retry=3)
def draw_sample(run_id: int) -> None:
    """Draw records of a large run that nobody flagged, to be reviewed all the same."""
    draws.draw_sample(run_id)


# The last part of the pattern are seconds. A worker that starts does at once what was last due.
@app.periodic(cron="* * * * * */10")
@app.task(queueing_lock="notify_reviewed_runs")
def notify_reviewed_runs(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Make the messages about runs whose queue has become empty."""
    with _left_to_the_next_after_an_outage():
        deliveries.notify_reviewed_runs()


# An attempt that fails enqueues the next one; this is for errors of ours, and a database that was away.
@app.task(name=deliveries.JOB, retry=RetryStrategy(max_attempts=10, wait=60))
def deliver_message(delivery_id: int, attempt: int) -> None:
    """Make one attempt to deliver a message to a webhook."""
    deliveries.attempt_delivery(delivery_id, attempt)


@app.periodic(cron="*/10 * * * *")
@app.task(queueing_lock="publish_audit_head")
def publish_audit_head(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Write the head of the audit chain to the log, which is outside the database."""
    with _left_to_the_next_after_an_outage():
        log.log_chain_head()


@app.periodic(cron="*/10 * * * *")
@app.task(queueing_lock="remove_expired_rows")
def remove_expired_rows(timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Remove expired exports, sessions and the like."""
    with _left_to_the_next_after_an_outage():
        retention.remove_expired_rows()


@app.periodic(cron="* * * * * */10")
@app.task(queueing_lock="retry_stalled_jobs", pass_context=True)
async def retry_stalled_jobs(context: JobContext, timestamp: int) -> None:  # noqa: ARG001 (periodic tasks get it)
    """Give the jobs of workers that died to the next worker."""
    manager = context.app.job_manager
    with _left_to_the_next_after_an_outage():
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=settings.STALLED_WORKER_SECONDS):
            await manager.retry_job(job)

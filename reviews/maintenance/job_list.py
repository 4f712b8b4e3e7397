"""List the jobs of the site, failed ones first, and retry or cancel them.

A job is a row of its own table if it has one (import, export, delivery of a message), and otherwise a row of
procrastinate, which deletes successful jobs.
"""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from django.db import DatabaseError, transaction
from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import JobAborted

from cognireview.operations import outage
from cognireview.operations.redacted_errors import describe
from reviews.audit import events
from reviews.database.statements import fetch_all, fetch_value
from reviews.exports import jobs as export_jobs
from reviews.imports import jobs as import_jobs
from reviews.models import Export, Import, JobError, User, WebhookDelivery
from reviews.webhooks import deliveries

KINDS = {
    "import": "Import",
    "export": "Export",
    "context": "Task context",
    "delivery": "Webhook message",
    "background": "Background job",
}
STATES = ("failed", "running", "queued", "done", "cancelled")
# Jobs of all kinds. A failure is new until it is dismissed; that of a message, for a week.
_JOBS = """
    SELECT 'import' AS kind, import.id, import.state::text AS state, file_name::text AS title, run_id,
        created_by_id AS owner, import.created_at, started_at, finished_at, error,
        import.id AS page, dismissed_at IS NULL AS is_new
    FROM import LEFT JOIN import_progress ON source_id = import.id
    UNION ALL
    SELECT 'export', export.id,
        CASE WHEN export.state <> 'unfinished' THEN export.state
            WHEN bytes_read > 0 THEN 'running' ELSE 'queued' END,
        format, run_id, created_by_id, export.created_at, NULL, finished_at, error, export.id,
        dismissed_at IS NULL
    FROM export LEFT JOIN export_progress ON export_id = export.id
    UNION ALL
    SELECT 'context', id, 'done', file_name, run_id, created_by_id, created_at, NULL, created_at, '',
        NULL, false
    FROM context_import
    UNION ALL
    SELECT 'delivery', delivery.id,
        CASE delivery.state WHEN 'waiting' THEN 'queued' WHEN 'delivered' THEN 'done' ELSE 'failed' END,
        event, delivery.run_id, NULL, delivery.created_at, NULL, attempt.at,
        CASE delivery.state WHEN 'delivered' THEN '' ELSE coalesce(reason, '') END, webhook_id,
        delivery.created_at > now() - interval '7 days'
    FROM webhook_delivery delivery LEFT JOIN LATERAL (
        SELECT at, reason FROM webhook_attempt
        WHERE delivery_id = delivery.id ORDER BY number DESC LIMIT 1
    ) attempt ON true
    UNION ALL
    SELECT 'background', job.id,
        CASE status::text WHEN 'todo' THEN 'queued' WHEN 'doing' THEN 'running'
            WHEN 'failed' THEN 'failed' WHEN 'succeeded' THEN 'done' ELSE 'cancelled' END,
        task_name, NULL, NULL, times.created, times.started, times.finished,
        coalesce(job_error.error, ''), NULL, true
    FROM procrastinate_jobs job
    LEFT JOIN job_error ON job_error.job_id = job.id
    LEFT JOIN LATERAL (
        SELECT min(at) AS created, max(at) FILTER (WHERE type = 'started') AS started,
            max(at) FILTER (WHERE type IN ('failed', 'succeeded', 'cancelled', 'aborted')) AS finished
        FROM procrastinate_events WHERE job_id = job.id
    ) times ON true
    WHERE task_name <> ALL(%(with_rows)s) AND NOT (task_name = %(delivery)s AND status <> 'failed')
"""
# New failures, running, queued, and all others by time.
_LIST = f"""
    SELECT kind, id, state, title, run_id, owner, created_at, started_at, finished_at, error, page
    FROM ({_JOBS}) job
    WHERE (%(kind)s = '' OR kind = %(kind)s) AND (%(state)s = '' OR state = %(state)s)
    ORDER BY
        CASE WHEN state = 'failed' AND is_new THEN 0 WHEN state = 'running' THEN 1
            WHEN state = 'queued' THEN 2 ELSE 3 END,
        created_at DESC NULLS LAST, kind, id DESC
    LIMIT %(limit)s OFFSET %(offset)s
"""  # noqa: S608 (a constant)
_NEW_FAILURES = f"SELECT count(*) FROM ({_JOBS}) job WHERE state = 'failed' AND is_new"  # noqa: S608 (a constant)
_TASKS: dict[str, Any] = {"with_rows": [import_jobs.JOB, export_jobs.JOB], "delivery": deliveries.JOB}
_PERIODIC = "SELECT task_name, max(defer_timestamp) FROM procrastinate_periodic_defers GROUP BY task_name"


class Job(NamedTuple):
    """A job of the list."""

    #: A key of `KINDS`.
    kind: str
    #: Its primary key in the table of its kind.
    pk: int
    #: One of `STATES`.
    state: str
    #: The file name, format, event or task.
    title: str
    #: The key of its run; None without one.
    run: int | None
    #: The key of the person who started it; None for the program.
    owner: int | None
    created_at: dt.datetime | None
    #: None if it has not started, or if the start is not recorded.
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    #: Why it failed, in a sentence; empty otherwise.
    error: str
    #: The key of its page; None without one. Pages of deliveries are those of their webhooks.
    page: int | None

    @property
    def duration(self) -> dt.timedelta | None:
        """The time from its start, or from its creation, to its end or until now."""
        begun = self.started_at or self.created_at
        if begun is None or self.state == "queued":
            return None
        end = timezone.now() if self.state == "running" else self.finished_at
        return max(end - begun, dt.timedelta(0)) if end else None

    @property
    def can_retry(self) -> bool:
        """Whether a retry may help. A failed import with rejected lines needs another file."""
        return self.state == "failed" and self.kind != "context"

    @property
    def can_cancel(self) -> bool:
        if self.kind in {"import", "export"}:
            return self.state in {"running", "queued"}
        return self.state == "queued" and self.kind in {"background", "delivery"}


class PeriodicJob(NamedTuple):
    """A job that runs by the clock."""

    name: str
    meaning: str
    #: When it was last due; None if never.
    last: dt.datetime | None


def list_jobs(*, kind: str = "", state: str = "", offset: int = 0, limit: int) -> list[Job]:
    """Return jobs of a kind and in a state; of any with an empty text."""
    values: dict[str, Any] = {"kind": kind, "state": state, "offset": offset, "limit": limit, **_TASKS}
    return [Job(*row) for row in fetch_all(_LIST, values)]


def new_failures() -> int:
    """Return the number of failed jobs that were not dismissed."""
    return int(fetch_value(_NEW_FAILURES, _TASKS))


def periodic_jobs() -> list[PeriodicJob]:
    """Return the periodic jobs by name, with the time when each was last due."""
    app.perform_import_paths()  # type: ignore[no-untyped-call]
    last = {name: dt.datetime.fromtimestamp(at, dt.UTC) for name, at in fetch_all(_PERIODIC) if at}
    return [
        PeriodicJob(
            _title(periodic.task.name),
            _first_sentence(periodic.task.func.__doc__ or ""),
            last.get(periodic.task.name),
        )
        for periodic in sorted(
            app.periodic_registry.periodic_tasks.values(), key=lambda found: found.task.name
        )
    ]


def _first_sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _title(task_name: str) -> str:
    """Return the words of a task's name."""
    return task_name.rpartition(".")[2].replace("_", " ").capitalize()


def title(job: Job) -> str:
    """Return the title of a job for people."""
    if job.kind == "background":
        return _title(job.title)
    return job.title.upper() if job.kind == "export" else job.title


def retry(*, kind: str, pk: int, actor: User) -> bool:
    """Run a failed job again. Return False if it has not failed or cannot be repeated."""
    return _RETRY[kind](pk, actor) if kind in _RETRY else False


def cancel(*, kind: str, pk: int, actor: User) -> bool:
    """Cancel a job that has not finished. Return False if that is no longer possible."""
    return _CANCEL[kind](pk, actor) if kind in _CANCEL else False


def _retry_import(pk: int, actor: User) -> bool:
    found = Import.objects.filter(pk=pk).first()
    if found is None or not import_jobs.can_retry(found):
        return False
    import_jobs.retry_import(import_id=pk, actor=actor)
    return True


def _retry_export(pk: int, actor: User) -> bool:
    return Export.objects.filter(pk=pk).exists() and export_jobs.retry(export_id=pk, actor=actor)


@transaction.atomic
def _retry_background(pk: int, actor: User) -> bool:
    if task := _lock_background(pk, "failed"):
        app.job_manager.retry_job_by_id(pk, retry_at=timezone.now())
        events.record("job retried", actor=actor, job=pk, task=task)
    return bool(task)


def _cancel_import(pk: int, actor: User) -> bool:
    if not Import.objects.filter(pk=pk, state__in=Import.UNFINISHED).exists():
        return False
    import_jobs.cancel_import(import_id=pk, actor=actor)
    return True


def _cancel_delivery(pk: int, actor: User) -> bool:
    exists = WebhookDelivery.objects.filter(pk=pk).exists()
    return exists and deliveries.give_up(delivery_id=pk, actor=actor)


@transaction.atomic
def _cancel_background(pk: int, actor: User) -> bool:
    if task := _lock_background(pk, "todo"):
        app.job_manager.cancel_job_by_id(pk)
        events.record("job cancelled", actor=actor, job=pk, task=task)
    return bool(task)


def _lock_background(pk: int, status: str) -> str:
    """Lock a job of procrastinate in a status. Return the name of its task, or an empty string."""
    statement = "SELECT task_name FROM procrastinate_jobs WHERE id = %s AND status::text = %s FOR UPDATE"
    return str(fetch_value(statement, [pk, status]) or "")


_RETRY: dict[str, Callable[[int, User], bool]] = {
    "import": _retry_import,
    "export": _retry_export,
    "delivery": lambda pk, actor: deliveries.retry(delivery_id=pk, actor=actor),
    "background": _retry_background,
}
_CANCEL: dict[str, Callable[[int, User], bool]] = {
    "import": _cancel_import,
    "export": lambda pk, actor: export_jobs.cancel(export_id=pk, actor=actor),
    "delivery": _cancel_delivery,
    "background": _cancel_background,
}


def keep_error(call_next: Callable[[], Any], context: JobContext, _worker: object) -> Any:
    """Keep the error of a job for the list (a middleware of tasks). A job to be restarted has none.

    The worker gets the job's own error in any case: it decides whether the job is restarted.
    """
    try:
        return call_next()
    except JobAborted:
        raise
    except Exception as error:
        if context.job.id is not None and not outage.is_outage(error):
            values = {"at": timezone.now(), "error": describe(error)}
            with suppress(DatabaseError):
                JobError.objects.update_or_create(job_id=context.job.id, defaults=values)
        raise

"""Describe the state of the site for operators: version, storage, workers, queue and checks."""

import datetime as dt
import shutil
from importlib.metadata import version

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder

from cognireview.environment import PROGRAM
from cognireview.operations import mail
from cognireview.operations.disk_full import RESERVE
from cognireview.types.site import Backup, Check, System, Worker
from reviews.database import replica
from reviews.database.statements import fetch_all, fetch_value
from reviews.http.health import not_ready_reason
from reviews.maintenance import job_list
from reviews.maintenance.backups import last_backup
from reviews.models import Run

# A backup older than this is reported, and runs and a database older than this without one.
BACKUP_DUE = dt.timedelta(days=7)
# Less free disk than this is reported.
_LITTLE_SPACE = 20 * RESERVE
_TABLES = {
    "imported files": ("source_chunk",),
    "records": ("evaluation", "evaluation_facets", "evaluation_words", "import_line"),
    "decisions": ("review", "draft", "rating", "independent_review", "known_answer", "blind_scores"),
    "audit log": ("audit_event", "audit_seal"),
    "exports and uploads": ("export_part", "upload_part"),
}
_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(to_regclass('public.' || name))), 0)::bigint
    FROM unnest(%s::text[]) name
"""
_WORKERS = """
    SELECT worker.id, last_heartbeat, count(job.id),
        last_heartbeat > now() - make_interval(secs => %s)
    FROM procrastinate_workers worker
    LEFT JOIN procrastinate_jobs job ON job.worker_id = worker.id AND job.status = 'doing'
    GROUP BY worker.id, last_heartbeat ORDER BY last_heartbeat DESC
"""
_JOBS = "SELECT status::text, count(*) FROM procrastinate_jobs GROUP BY 1"


def describe_system(now: dt.datetime) -> System:
    """Gather the state of the site. Raises `DatabaseError` if the database cannot be reached."""
    disk = shutil.disk_usage(settings.DATA_DIR)
    workers = [Worker(*row) for row in fetch_all(_WORKERS, [settings.STALLED_WORKER_SECONDS])]
    counted = dict(fetch_all(_JOBS))
    jobs = {name: counted.get(status, 0) for name, status in _STATUSES.items()}
    jobs["failed"] = job_list.new_failures()
    backup = last_backup()
    checks = _checks(now, workers, jobs, backup, disk.free)
    return System(
        version=version("cognireview"),
        is_ok=all(check.is_ok for check in checks),
        database=_database(),
        database_size=fetch_value("SELECT pg_database_size(current_database())"),
        parts={name: fetch_value(_SIZE, [list(tables)]) for name, tables in _TABLES.items()},
        disk_free=disk.free,
        disk_total=disk.total,
        workers=workers,
        jobs=jobs,
        checks=checks,
        backup=backup,
    )


_STATUSES = {"queued": "todo", "running": "doing"}


def _database() -> str:
    kind = "PostgreSQL server" if settings.ENVIRONMENT.database_url else "Embedded PostgreSQL"
    return f"{kind} {fetch_value('SHOW server_version').partition(' ')[0]}"


def _checks(
    now: dt.datetime, workers: list[Worker], jobs: dict[str, int], backup: Backup | None, free: int
) -> list[Check]:
    problem = not_ready_reason()
    alive = sum(worker.is_alive for worker in workers)
    checks = [
        Check("Ready for requests", not problem, problem or "The database answers and is up to date."),
        Check("Job workers", alive > 0, f"{alive} running" if alive else "None is running: jobs wait."),
        Check("Failed jobs", not jobs["failed"], f"{jobs['failed']:,}"),
        Check("Disk space", free > _LITTLE_SPACE, "enough" if free > _LITTLE_SPACE else "Little is left."),
        _backup_check(now, backup),
    ]
    if settings.ENVIRONMENT.database_replica_url:
        reason = replica.problem()
        checks.append(Check("Replica", not reason, reason or "It has all commits."))
    sends = mail.is_set_up()
    result = "A mail server is set." if sends else "No mail server is set."
    return [*checks, Check("Mail", is_ok=True, result=result)]


def _backup_check(now: dt.datetime, backup: Backup | None) -> Check:
    if backup is None:
        # Runs of the demo are dated earlier than the database.
        is_old = MigrationRecorder.Migration.objects.filter(applied__lt=now - BACKUP_DUE).exists()
        is_due = is_old and Run.objects.filter(created_at__lt=now - BACKUP_DUE).exists()
        return Check("Backup", not is_due, f"None is recorded. Write one: {PROGRAM} backup FILE")
    days = (now - backup.at).days
    result = "less than a day ago" if days < 1 else "1 day ago" if days == 1 else f"{days:,} days ago"
    return Check("Backup", now - backup.at <= BACKUP_DUE, result)

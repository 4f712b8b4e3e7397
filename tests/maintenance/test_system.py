"""The state of the site, and the record of backups."""

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from cognireview.types.site import Check
from reviews.database.statements import execute
from reviews.maintenance import system
from reviews.maintenance.backups import record_backup
from reviews.models import AuditEvent, Import
from tests.support.factories import ImportFactory, RunFactory

pytestmark = pytest.mark.django_db


def check(name: str) -> Check:
    return next(one for one in system.describe_system(timezone.now()).checks if one.name == name)


def beat(seconds: int) -> None:
    """Register a worker whose last heartbeat is that old."""
    execute(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - make_interval(secs => %s))",
        [seconds],
    )


def test_sizes_of_the_parts_are_below_that_of_the_database() -> None:
    found = system.describe_system(timezone.now())
    assert 0 < sum(found.parts.values()) < found.database_size
    assert all(size > 0 for size in found.parts.values())
    assert 0 < found.disk_free < found.disk_total


def test_worker_without_recent_heartbeat_does_not_count(settings: LazySettings) -> None:
    assert not check("Job workers").is_ok
    beat(settings.STALLED_WORKER_SECONDS + 5)
    assert not check("Job workers").is_ok
    beat(1)
    assert check("Job workers") == Check("Job workers", True, "1 running")
    assert [worker.is_alive for worker in system.describe_system(timezone.now()).workers] == [True, False]


def test_failed_job_needs_attention() -> None:
    assert check("Failed jobs").is_ok
    ImportFactory.create(state=Import.State.FAILED)
    assert check("Failed jobs") == Check("Failed jobs", False, "1")


def test_backup_is_reported_with_its_age() -> None:
    made = record_backup(target="/backups/monday.dump", size=5)
    assert AuditEvent.objects.get().detail == {"target": "/backups/monday.dump", "size": 5}
    assert check("Backup") == Check("Backup", True, "less than a day ago")
    later = system.describe_system(made.at + timedelta(days=8, minutes=1))
    assert next(one for one in later.checks if one.name == "Backup") == Check("Backup", False, "8 days ago")
    assert not later.is_ok


def test_mail_is_reported(settings: LazySettings) -> None:
    assert check("Mail").result == "No mail server is set."
    settings.SENDS_MAIL = True
    assert check("Mail").result == "A mail server is set."


def test_backup_is_due_when_a_run_is_a_week_old() -> None:
    run = RunFactory.create()
    assert check("Backup").is_ok
    assert check("Backup").result.startswith("None is recorded.")
    later = system.describe_system(run.created_at + timedelta(days=7, minutes=1))
    assert not next(one for one in later.checks if one.name == "Backup").is_ok


def test_backup_of_a_new_database_is_not_due() -> None:
    RunFactory.create(created_at=timezone.now() - timedelta(days=30))
    assert check("Backup").is_ok

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from cognireview.processes import supervisor
from reviews.maintenance.system import System, describe_system
from reviews.management.columns import columns


class Command(BaseCommand):
    help = (
        "Show the state of the site: services, job workers, queue, version, storage and last backup. "
        "Exit status: 0 in order, 1 something needs attention, 2 the database cannot be reached."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found, site = describe_system(timezone.now()), supervisor.running_site(settings.DATA_DIR)
        if options["json"]:
            self.stdout.write(json.dumps(_document(found, site)))
        else:
            for line in columns(("CogniReview", found.version), _rows(found, site)):
                self.stdout.write(line)
        if not found.is_ok:
            sys.exit(1)


def _rows(found: System, site: str) -> list[tuple[str, str]]:
    rows = [(check.name, check.result if check.is_ok else f"! {check.result}") for check in found.checks]
    rows += [
        ("Web server", site or "not started by `up` on this machine"),
        ("Database", f"{found.database}, {_size(found.database_size)}"),
        *((f"  {name}", _size(size)) for name, size in found.parts.items()),
        ("Disk", f"{_size(found.disk_free)} of {_size(found.disk_total)} left"),
        ("Queue", f"{found.jobs['queued']:,} queued, {found.jobs['running']:,} running"),
    ]
    for worker in found.workers:
        state = "running" if worker.is_alive else "no heartbeat"
        last = f"{worker.last_heartbeat:%Y-%m-%d %H:%M:%S} UTC"
        rows.append((f"Worker {worker.id}", f"{state}, last heartbeat {last}, jobs: {worker.jobs}"))
    if found.backup:
        at, target = found.backup.at, found.backup.target
        rows.append(("Last backup", f"{at:%Y-%m-%d %H:%M} UTC, {_size(found.backup.size)}, {target}"))
    return rows


def _size(size: int) -> str:
    return str(filesizeformat(size)).replace("\xa0", " ")


def _document(found: System, site: str) -> dict[str, Any]:
    backup = found.backup
    return {
        "version": found.version,
        "ok": found.is_ok,
        "checks": [asdict(check) for check in found.checks],
        "url": site or None,
        "database": {"server": found.database, "bytes": found.database_size, "parts": found.parts},
        "disk": {"free": found.disk_free, "total": found.disk_total},
        "jobs": found.jobs,
        "workers": [
            {**asdict(worker), "last_heartbeat": worker.last_heartbeat.isoformat()}
            for worker in found.workers
        ],
        "backup": {"at": backup.at.isoformat(), "target": backup.target, "bytes": backup.size}
        if backup
        else None,
    }

import json
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from cognireview.processes import supervisor
from cognireview.types.encoding import encode
from cognireview.types.site import System
from reviews.maintenance.system import describe_system
from reviews.management.columns import columns


class Command(BaseCommand):
    help = (
        "Show the state of the site: services, job workers, queue, version, storage and last backup. "
        "Exit status: 0 in order, 1 something needs attention, 2 the database cannot be reached."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found, site = describe_system(timezone.now()), supervisor.running_site(settings.DATA_DIR)
        if options["json"]:
            self.stdout.write(json.dumps(encode(System, found) | {"url": site or None}))
        else:
            for line in columns(("CogniReview", found.version), _rows(found, site)):
                self.stdout.write(line)
        if not found.is_ok:
            sys.exit(1)


def _rows(found: System, site: str) -> list[tuple[str, str]]:
    rows = [(check.name, check.result if check.is_ok else f"! {check.result}") for check in found.checks]
    rows += [
        ("Web server", site or "not started by `up` on this machine"),
        ("Database", f"{found.database}, {filesizeformat(found.database_size)}"),
        *((f"  {name}", filesizeformat(size)) for name, size in found.parts.items()),
        ("Disk", f"{filesizeformat(found.disk_free)} of {filesizeformat(found.disk_total)} left"),
        ("Queue", f"{found.jobs['queued']:,} queued, {found.jobs['running']:,} running"),
    ]
    for worker in found.workers:
        state = "running" if worker.is_alive else "no heartbeat"
        last = f"{worker.last_heartbeat:%Y-%m-%d %H:%M:%S} UTC"
        rows.append((f"Worker {worker.id}", f"{state}, last heartbeat {last}, jobs: {worker.jobs}"))
    if found.backup:
        at, size = found.backup.at, filesizeformat(found.backup.size)
        rows.append(("Last backup", f"{at:%Y-%m-%d %H:%M} UTC, {size}, {found.backup.target}"))
    return rows

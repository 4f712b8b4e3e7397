"""`python -m tests.growth.failover`: kill the primary of a Patroni cluster under load; exit 1 after any loss.

`manage.py up` runs a site whose `DATABASE_URL` names both servers. PostgreSQL or the whole machine of the
primary is killed, while programs review, import and export (docs/growth.md).
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import django
from django.core.management import call_command
from django.db import connection

from tests.growth import patroni
from tests.load.killing import Killer
from tests.load.problems import found, report
from tests.support.waiting import eventually

SERVER, MACHINE = "PostgreSQL", "machine"
SECONDS_TO_RECOVER = 15


@dataclass
class PrimaryKiller(Killer):
    """Kills the primary: its PostgreSQL, or Patroni as well, as if the machine were lost."""

    cluster: patroni.Cluster = field(kw_only=True)
    targets: ClassVar[tuple[str, ...]] = (SERVER, MACHINE)
    seconds_to_recover: ClassVar[float] = SECONDS_TO_RECOVER

    def _killed(self, target: str) -> str:
        # Without a synchronous standby, there is no server to fail over to.
        primary = self.cluster.primary()
        if primary is None:
            return ""
        primary.kill(with_patroni=target == MACHINE)
        other = next(node for node in self.cluster.nodes if node is not primary)
        assert eventually(other.is_primary, within=patroni.SECONDS_TO_START), self.cluster.logs()
        primary.start_again()
        return f"{target} of {primary.name}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.growth.failover", description=__doc__)
    parser.add_argument("--kills", type=int, default=5, help="of PostgreSQL and of the machine, each (5)")
    parser.add_argument("--records", type=int, default=30_000, help="how many come in (30,000)")
    parser.add_argument("--reviewers", type=int, default=8, help="how many programs review (8)")
    parser.add_argument("--pause", type=float, default=8.0, help="most seconds from one kill to the next (8)")
    parser.add_argument("--seed", type=int, default=1, help="of the records, and of what happens when")
    options = parser.parse_args()
    if missing := patroni.missing():
        sys.exit(f"Not installed: {', '.join(missing)}. See docs/growth.md.")
    folder = Path(tempfile.mkdtemp(prefix="cognireview-failover-"))
    sys.exit(1 if report(_run(options, folder), folder, keep=False) else 0)


def _run(options: argparse.Namespace, folder: Path) -> list[str]:
    begin = time.monotonic()
    with patroni.cluster(folder) as cluster:
        settings = {
            "COGNIREVIEW_DATA_DIR": str(folder / "var"),
            "COGNIREVIEW_LOG_LEVEL": "WARNING",
            "DATABASE_URL": cluster.url,
            "DATABASE_REPLICA_URL": cluster.replica_url,
        }
        os.environ |= {**settings, "DJANGO_SETTINGS_MODULE": "cognireview.settings"}
        django.setup()
        # Models can be imported only after Django is set up.
        site, kill, reviewers = (
            import_module(f"tests.load.{name}") for name in ("site", "kill", "reviewers")
        )
        call_command("migrate", verbosity=0)
        numbers = (options.records, options.reviewers, options.kills, options.pause, options.seed)
        with site.running(folder / "var", **_only_databases(settings)) as running:
            killer = partial(PrimaryKiller, cluster=cluster)
            load = kill.Load(running, folder, reviewers.Options(*numbers), killer)
            problems = found(load.work())
        cluster.wait_until_complete()
        problems += found(load.check())
        connection.close()
    print(f"{time.monotonic() - begin:.0f} seconds, seed {options.seed}")  # noqa: T201
    return problems


def _only_databases(settings: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.startswith("DATABASE_")}


if __name__ == "__main__":
    main()

"""Check the operations: `python -m tests.operations [--only NAME ...] [--seconds 30]`. Exit 1 on a miss."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.operations.checking import Missed
from tests.operations.outage import check_outage
from tests.operations.site import Site, running
from tests.operations.stopping import (
    check_counting_together,
    check_rolling_restart,
    check_up,
    check_worker,
)
from tests.operations.upgrading import check_upgrade


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.operations", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(_checks(0)), help="these alone")
    parser.add_argument("--seconds", type=float, default=30, help="how long the database is away")
    options = parser.parse_args()
    missed = 0
    with TemporaryDirectory() as folder:
        work = Path(folder)
        with running(work / "data") as site:
            token = site.token("lea", "admin")
            for name, check in _checks(options.seconds).items():
                if options.only and name not in options.only:
                    continue
                site.settings.clear()
                try:
                    check(site, token, work)
                except Missed as sentence:
                    missed += 1
                    print(f"  MISSED: {sentence}\n{site.logs()}")  # noqa: T201
    return 1 if missed else 0


def _checks(seconds: float) -> dict[str, Callable[[Site, str, Path], None]]:
    return {
        "restart": lambda site, token, _: check_rolling_restart(site, token, workers=1),
        "restart-of-several": lambda site, token, _: check_rolling_restart(site, token, workers=2),
        "up": lambda site, token, _: check_up(site, token),
        "metrics": lambda site, _token, _: check_counting_together(site),
        "worker": check_worker,
        "stopped-database": lambda site, token, _: check_outage(site, token, how="stop", seconds=seconds),
        "killed-database": lambda site, token, _: check_outage(site, token, how="kill", seconds=seconds),
        # Runs last because it leaves a database of another version.
        "upgrade": check_upgrade,
    }


if __name__ == "__main__":
    sys.exit(main())

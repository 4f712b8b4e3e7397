"""`python -m tests.load reviewers|kill`: load the program, or kill its processes; exit 1 after any loss."""

import argparse
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import django
from django.db import connection

from cognireview.postgres import embedded
from tests.load.problems import found, report

# The module of each test and its default number of records, reviewers and kills per target.
_TESTS = {"reviewers": ("tests.load.reviewers", 100_000, 25, 0), "kill": ("tests.load.kill", 60_000, 12, 20)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("test", choices=_TESTS)
    parser.add_argument("--records", type=int, help="how many come in (100,000; kill: 60,000)")
    parser.add_argument("--reviewers", type=int, help="how many programs review (25; kill: 12)")
    parser.add_argument("--kills", type=int, help="of worker, web server and database, each (20)")
    parser.add_argument("--pause", type=float, default=8.0, help="most seconds from one kill to the next (8)")
    parser.add_argument("--seed", type=int, default=1, help="of the records, and of what happens when")
    parser.add_argument(
        "--folder",
        type=Path,
        help="use this folder, and keep it; without it, a folder is kept if anything fails",
    )
    options = parser.parse_args()
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="cognireview-load-"))).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # The folder is also kept after an error, as evidence.
    sys.exit(1 if report(_run(options, folder), folder, keep=bool(options.folder)) else 0)


def _run(options: argparse.Namespace, folder: Path) -> list[str]:
    """Run a test on a separate embedded server with the durability settings of production."""
    os.environ.pop("DATABASE_URL", None)
    data_dir = folder / "var"
    os.environ |= {
        "COGNIREVIEW_DATA_DIR": str(data_dir),
        "COGNIREVIEW_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "cognireview.settings",
    }
    django.setup()
    module, *usual = _TESTS[options.test]
    # Models can be imported only after Django is set up.
    site, test = import_module("tests.load.site"), import_module(module)
    begin = time.monotonic()
    chosen = (options.records, options.reviewers, options.kills)
    numbers = [default if given is None else given for given, default in zip(chosen, usual, strict=True)]
    with embedded.running(data_dir):
        with site.running(data_dir) as running:
            load = test.Load(running, folder, test.Options(*numbers, options.pause, options.seed))
            problems = found(load.work())
        problems += found(load.check())
        connection.close()
    print(f"{time.monotonic() - begin:.0f} seconds, seed {options.seed}")  # noqa: T201
    return problems


main()

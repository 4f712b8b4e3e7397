"""`python -m tests.benchmarks`: measure, print the table, and exit 1 if a figure misses its target."""

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connection

from cognireview.postgres import embedded
from cognireview.processes.idle_memory import set_up_heap
from tests.benchmarks.beside import TOOLS, compare


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="groups of docs/benchmarks.md")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink all files (to try it out: 0.01)")
    parser.add_argument(
        "--beside", choices=TOOLS, help="install this tool, and compare the same work over HTTP"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cognireview-benchmarks-") as folder:
        if options.beside:
            for line in compare(Path(folder), options.beside, options.scale):
                print(line, flush=True)  # noqa: T201
            return
        met = _measure(Path(folder), options.scale, options.only)
    sys.exit(0 if met else 1)


def _measure(folder: Path, scale: float, only: list[str] | None) -> bool:
    """Measure on a separate embedded server with the durability settings of production."""
    os.environ.pop("DATABASE_URL", None)
    os.environ |= {
        "COGNIREVIEW_DATA_DIR": str(folder / "var"),
        "DJANGO_SETTINGS_MODULE": "cognireview.settings",
    }
    django.setup()
    set_up_heap()  # as in a web process
    # Models can be imported only after Django is set up.
    figures = import_module("tests.benchmarks.figures")
    bench, met = figures.Bench(folder, scale), True
    with embedded.running(folder / "var"):
        call_command("migrate", verbosity=0)
        print(f"{'':58} {'measured':>9} {'limit':>9} {'ratio':>7}  target")  # noqa: T201
        for group in only or figures.FIGURES:
            for figure in figures.FIGURES[group](bench):
                print(figure, flush=True)  # noqa: T201
                met &= figure.is_met
        connection.close()
    return met


main()

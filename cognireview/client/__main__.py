"""Commands for pipelines: import a file, check the judge, export a run.

COGNIREVIEW_URL and COGNIREVIEW_TOKEN come from the environment.
"""

import argparse
import sys
from itertools import islice
from pathlib import Path

from cognireview.client.client import Client
from cognireview.client.errors import CogniReviewError

_MOST_REJECTS_SHOWN = 20
_STATUSES = {"met": 0, "shown worse": 1, "not shown yet": 2}


def push(options: argparse.Namespace) -> int:
    """Import a file, and print its lines by outcome. 0 if all were imported, 1 if some were rejected."""
    with Client() as client:
        run = client.run(options.run)
        if options.map:
            run.set_mapping(Path(options.map) if options.map.endswith(".toml") else {"name": options.map})
        imported = run.import_file(options.file, strict=options.strict)
        details = imported.wait(options.seconds)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in details.counts.items() if count)
        sys.stdout.write(f"Import {details.id}: {counts}\n")
        for line in islice(imported.rejects(), _MOST_REJECTS_SHOWN):
            what = " ".join(filter(None, (line.field, line.reason)))
            sys.stdout.write(f"line {line.line}: {what}\n")
    return 1 if details.counts.get("rejected") else 0


def gate(options: argparse.Namespace) -> int:
    """Print a sentence for each requirement. 0 if all are met, 1 if one is shown worse, otherwise 2."""
    with Client() as client:
        report = client.run(options.run).judge_report(require=options.requirement)
    for requirement in report.requirements:
        sys.stdout.write(f"{requirement.sentence}\n")
    return _STATUSES.get(report.outcome, 2)


def export(options: argparse.Namespace) -> int:
    """Export a run with its decisions, and print size and SHA-256."""
    with Client() as client:
        found = client.run(options.run).export_to(options.file, only=options.only)
    sys.stdout.write(f"{found.path}: {found.size} bytes, SHA-256 {found.sha256}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cognireview.client", description=__doc__)
    commands = parser.add_subparsers(required=True)
    pushing = commands.add_parser("push", help="import a file, and wait for the import")
    pushing.add_argument("file", type=Path)
    pushing.add_argument("run")
    pushing.add_argument(
        "seconds", type=float, nargs="?", default=600, help="longest wait for the import (%(default)s)"
    )
    pushing.add_argument("--strict", action="store_true", help="one invalid line rejects the file")
    pushing.add_argument(
        "--map", help="mapping for a file of another tool: promptfoo, or a file mapping.toml"
    )
    pushing.set_defaults(command=push)
    checking = commands.add_parser("gate", help="fail unless the judge is shown to be good enough")
    checking.add_argument("run")
    checking.add_argument("requirement", nargs="+", help="such as 'accuracy >= 0.8'")
    checking.set_defaults(command=gate)
    exporting = commands.add_parser("export", help="export a run with its decisions")
    exporting.add_argument("run")
    exporting.add_argument("file", type=Path)
    exporting.add_argument("--only", choices=["all", "reviewed"], default="all")
    exporting.set_defaults(command=export)
    return parser


def main() -> int:
    """Run the command of the arguments, and return the exit status; 2 for an error."""
    options = _parser().parse_args()
    try:
        status: int = options.command(options)
    except (CogniReviewError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())

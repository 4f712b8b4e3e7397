"""What `manage.py` runs, which is `cognireview` where that is installed: Django's commands.

The embedded PostgreSQL runs while they need it.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line, get_commands

from cognireview import environment
from cognireview.operations import secret_key
from cognireview.operations.operator_errors import explain
from cognireview.operations.redacted_errors import report_uncaught
from cognireview.postgres import embedded
from cognireview.postgres.migrations import migrate, require_session

# Everything else may use the database. `up` keeps the server itself, since it outlives what it starts.
NO_DATABASE = frozenset(
    {"check", "collectstatic", "diffsettings", "findstatic", "help", "up", "verify_export", "version"}
)
# What they set for a connection has to last to their end.
NEEDS_SESSION = frozenset({"backup", "migrate", "restore"})
# Brings its tables along.
NO_MIGRATION = frozenset({"restore"})


def main() -> None:
    """Run the command in `sys.argv`."""
    run(_execute, needs_database=_needs_database(sys.argv[1:]))


def _execute() -> None:
    """Run the command; one of ours finds a fresh embedded database migrated, as after `up`."""
    django.setup()
    name = "".join(sys.argv[1:2])
    if name in NEEDS_SESSION:
        require_session(name)
    is_ours = get_commands().get(name) == "reviews"
    if is_ours and not _uses_external_server() and name not in NO_DATABASE | NO_MIGRATION:
        migrate()
    execute_from_command_line(sys.argv)


def run(action: Callable[[], None], *, needs_database: bool) -> None:
    """Run `action`, with the embedded PostgreSQL running if it needs a database.

    What the operator has to put right is one line on stderr and exit status 2, not a traceback,
    unless `--traceback` asks for it.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cognireview.settings")
    sys.excepthook = report_uncaught
    signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        _load_settings()
        with _postgres() if needs_database else nullcontext():
            action()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        explanation = explain(error)
        if explanation is None or "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"cognireview: {explanation}\n")
        sys.exit(2)
    finally:
        _flush_output()


def _flush_output() -> None:
    """Let Python end without a complaint of its own if standard output takes no more."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _load_settings() -> None:
    try:
        settings.DATA_DIR  # noqa: B018 the first look at any setting loads them all
    except secret_key.UnusableKey as error:
        raise ImproperlyConfigured(str(error)) from error
    except OSError as error:
        raise ImproperlyConfigured(environment.unwritable(error)) from error
    # No reason to stop: an older version may run beside a newer one, and Kubernetes sets such names too.
    for sentence in environment.unknown():
        sys.stderr.write(f"cognireview: {sentence}\n")


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    """Leave by way of every `finally`, so that the last one out stops the server."""
    sys.exit(128 + number)


def _uses_external_server() -> bool:
    return bool(settings.ENVIRONMENT.database_url)


def _postgres() -> AbstractContextManager[Any]:
    if _uses_external_server():
        return nullcontext()
    data_dir: Path = settings.DATA_DIR
    return embedded.running(data_dir)


def _needs_database(arguments: list[str]) -> bool:
    if not arguments or {"-h", "--help"} & set(arguments):
        return False
    return arguments[0] not in NO_DATABASE and not arguments[0].startswith("-")

"""Run a management command, with the embedded PostgreSQL running if the command needs a database."""

import ast
import gc
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from importlib import resources
from importlib.metadata import version
from types import FrameType
from typing import Any, NoReturn, cast

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError

from cognireview import environment
from cognireview.operations import secret_key
from cognireview.operations.operator_errors import explain
from cognireview.operations.redacted_errors import report_uncaught
from cognireview.postgres import embedded
from cognireview.postgres.migrations import migrate, require_session

# All other commands may use the database. `up` starts the server itself: it has to outlive the children.
NO_DATABASE = frozenset(
    {"check", "collectstatic", "diffsettings", "findstatic", "help", "up", "verify_export"}
)
# Commands that set session variables, which a transaction pooler would lose.
NEEDS_SESSION = frozenset({"backup", "migrate", "restore"})
# `restore` brings its own tables.
NO_MIGRATION = frozenset({"restore"})
# The text in the class of a command, on one line or in parentheses.
_HELP = re.compile(r"^    help = (\(.*?^    \)|.*?)$", re.MULTILINE | re.DOTALL)
# A command that runs without Django (`__main__.py`).
_MCP = "Serve runs and records to an assistant (docs/assistants.md)"


class CommandLine(ManagementUtility):
    """Django's command line with our commands first in the help."""

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002 (Django's signature)
        if commands_only:
            return str(super().main_help_text(commands_only=True))
        commands = get_commands()
        ours = {name for name, app in commands.items() if app == "reviews"}
        return "\n".join(_help_lines(self.prog_name, ours, commands.keys() - ours))

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command, which reports errors as one plain sentence."""
        command: Any = super().fetch_command(subcommand)
        if _is_ours(subcommand):
            # The checks import every page. `check` runs them.
            command.requires_system_checks = ()
        create_parser, execute = command.create_parser, command.execute

        def create_plain_parser(*args: Any, **options: Any) -> CommandParser:
            parser: Any = create_parser(*args, **options)
            parser.error = partial(_reject_arguments, f"{self.prog_name} {subcommand}")
            return cast("CommandParser", parser)

        def execute_plainly(*args: Any, **options: Any) -> Any:
            try:
                return execute(*args, **options)
            except SystemCheckError:
                raise
            except CommandError as error:
                if options.get("traceback"):
                    raise
                sys.stderr.write(f"{error}\n")
                sys.exit(error.returncode)

        command.create_parser, command.execute = create_plain_parser, execute_plainly
        return cast("BaseCommand", command)


def _is_ours(command: str) -> bool:
    return get_commands().get(command) == "reviews"


def _reject_arguments(command: str, message: str) -> NoReturn:
    """Report wrong arguments without the usage, which hides the reason. Exit status 2, as argparse does."""
    reason = message.removeprefix("argument ").rstrip(".")
    sys.stderr.write(f"{reason[:1].upper()}{reason[1:]}. See `{command} --help`.\n")
    sys.exit(2)


def _help_lines(program: str, ours: set[str], others: set[str]) -> Iterator[str]:
    yield from (f"CogniReview {version('cognireview')}", "", f"Usage: {program} COMMAND [OPTIONS]", "")
    width = max(map(len, ours)) + 4
    sentences = {name: _help_of(name) for name in ours} | {"mcp": _MCP}
    for name, sentence in sorted(sentences.items()):
        yield textwrap.fill(
            sentence.partition(". ")[0].rstrip("."),
            width=100,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
        )
    yield from ("", f"`{program} help COMMAND` shows the options of a command.", "", "Commands of Django:")
    yield textwrap.fill(", ".join(sorted(others)), 100, initial_indent="  ", subsequent_indent="  ")


def _help_of(command: str) -> str:
    """Return the help of one of our commands from its source. Importing all commands takes twice the time."""
    source = resources.files("reviews.management.commands").joinpath(f"{command}.py").read_text("utf-8")
    sentences = _HELP.search(source)
    assert sentences, f"{command} has no help"
    text: Any = ast.parse(sentences[1], mode="eval").body
    return cast("str", text.value)


def main() -> None:
    run(_execute, needs_database=_needs_database(sys.argv[1:]))


def _execute() -> None:
    """Run the command. Our own commands migrate a fresh embedded database first, as `up` does."""
    django.setup()
    gc.freeze()
    gc.enable()
    if _needs_database(sys.argv[1:]):
        name = sys.argv[1]
        if name in NEEDS_SESSION and "--check" not in sys.argv:
            require_session(name)
        if _is_ours(name) and not settings.ENVIRONMENT.database_url and name not in NO_MIGRATION:
            migrate()
    CommandLine(sys.argv).execute()


def run(action: Callable[[], None], *, needs_database: bool) -> None:
    """Run `action`, with the embedded PostgreSQL running if it needs a database.

    An error that the operator has to fix becomes one line on stderr and exit status 2. `--traceback` shows
    the traceback instead.
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
    except BrokenPipeError:
        # The reader of the output, such as `head`, has read enough.
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        explanation = explain(error)
        if explanation is None or "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"cognireview: {explanation}\n")
        sys.exit(2)
    finally:
        _flush_output()


def _flush_output() -> None:
    """Flush standard output. If it is closed, prevent Python's own complaint at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _load_settings() -> None:
    try:
        settings.DATA_DIR  # noqa: B018 the first access loads all settings
    except secret_key.UnusableKey as error:
        raise ImproperlyConfigured(str(error)) from error
    except OSError as error:
        raise ImproperlyConfigured(embedded.unwritable(error)) from error
    # Only warnings: an older version may run next to a newer one, and Kubernetes sets such names, too.
    for warning in environment.unknown_variables():
        sys.stderr.write(f"cognireview: {warning}\n")


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    """Exit through every `finally`, so the last process to leave stops the server."""
    sys.exit(128 + number)


def _postgres() -> AbstractContextManager[Any]:
    return nullcontext() if settings.ENVIRONMENT.database_url else embedded.running(settings.DATA_DIR)


def _needs_database(arguments: list[str]) -> bool:
    if not arguments or {"-h", "--help"} & set(arguments):
        return False
    return arguments[0] not in NO_DATABASE and not arguments[0].startswith("-")

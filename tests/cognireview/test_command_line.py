"""Behaviour of `manage.py` shared by all commands."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands, load_command_class
from django.db import OperationalError, ProgrammingError
from psycopg.errors import DeadlockDetected, InsufficientPrivilege, UndefinedColumn

from cognireview import command_line
from cognireview.__main__ import main
from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from cognireview.postgres.embedded import CannotStart
from cognireview.postgres.server_account import server_account
from reviews.management.output_files import write
from tests.support.commands import manage_py
from tests.support.data_folders import copy_data_folder
from tests.support.lines import line


@pytest.mark.slow
def test_command_runs_without_up(tmp_path: Path) -> None:
    """The first command creates the database, as for each data folder of tests (`data_folders._template`)."""
    data_dir = copy_data_folder(tmp_path / "var")
    file = tmp_path / "fresh.jsonl"
    file.write_bytes(line("eval_1"))
    imported = manage_py(data_dir, "import_run", str(file))
    assert imported.returncode == 0, imported.stderr
    exported = manage_py(data_dir, "export_run", "fresh")
    assert exported.stdout.encode() == file.read_bytes()


@pytest.mark.slow
def test_unreachable_database_is_reported_in_one_line(tmp_path: Path) -> None:
    refused = manage_py(
        tmp_path / "var", "import_run", __file__, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing"
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("cognireview: The database cannot be reached: ")
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_all_invalid_settings_are_named_at_once(tmp_path: Path) -> None:
    refused = manage_py(tmp_path, "check", COGNIREVIEW_WEB_THREADS="many", COGNIREVIEW_CLAIM_MINUTES="0")
    assert refused.returncode == 2
    assert "COGNIREVIEW_WEB_THREADS: got 'many'" in refused.stderr
    assert "COGNIREVIEW_CLAIM_MINUTES: got '0'" in refused.stderr


@pytest.mark.slow
def test_python_without_the_packages_is_sent_to_uv() -> None:
    """`-S` hides the packages of the virtual environment."""
    command = [sys.executable, "-S", "manage.py", "list_runs"]
    done = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "This Python has no package django, which the server needs. In a checkout: uv run"
    )
    assert done.stderr.count("\n") == 1


@pytest.fixture
def _sigterm_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def raising(error: Exception, cause: Exception | None = None) -> Callable[[], None]:
    def action() -> None:
        raise error from cause

    return action


@pytest.mark.usefixtures("_sigterm_as_before")
class TestOperatorError:
    @pytest.mark.parametrize(
        ("action", "line"),
        [
            (raising(ImproperlyConfigured("Wrong settings")), "Wrong settings"),
            (raising(CannotStart("PostgreSQL did not start")), "PostgreSQL did not start"),
            (
                raising(OperationalError("connection failed\n\tIs it running?"), psycopg.OperationalError()),
                "The database cannot be reached: connection failed",
            ),
            (
                raising(
                    ProgrammingError("permission denied"), InsufficientPrivilege("must be owner\nLINE 1")
                ),
                "The role in DATABASE_URL may not do this (must be owner). Use the owner of the tables.",
            ),
            (
                raising(ProgrammingError("column run.x does not exist\nLINE 1"), UndefinedColumn()),
                (
                    "The database does not fit this version (column run.x does not exist). "
                    "Run: manage.py migrate. If that changes nothing, use the version that created it."
                ),
            ),
            (
                raising(PermissionError(13, "Permission denied", "var")),
                "var cannot be accessed: Permission denied",
            ),
        ],
    )
    def test_operator_error_is_one_line(
        self, capsys: pytest.CaptureFixture[str], action: Callable[[], None], line: str
    ) -> None:
        with pytest.raises(SystemExit) as end:
            command_line.run(action, needs_database=False)
        assert end.value.code == 2
        assert capsys.readouterr().err == f"cognireview: {line}\n"

    def test_operator_error_shows_traceback_on_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", ["manage.py", "migrate", "--traceback"])
        with pytest.raises(CannotStart):
            command_line.run(raising(CannotStart("no")), needs_database=False)

    def test_closed_reader_of_the_output_ends_the_command_quietly(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            with pytest.raises(SystemExit) as end:
                command_line.run(
                    lambda: write(f"/dev/fd/{write_end}", [b"{}\n", b"{}\n"]), needs_database=False
                )
        finally:
            os.close(write_end)
        assert end.value.code == 128 + signal.SIGPIPE
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(
        "action", [raising(ValueError("ours")), raising(OperationalError("deadlock"), DeadlockDetected())]
    )
    def test_program_error_is_not_an_operator_error(self, action: Callable[[], None]) -> None:
        with pytest.raises((ValueError, OperationalError)):
            command_line.run(action, needs_database=False)


class TestEmbeddedServer:
    @pytest.mark.parametrize(
        "arguments", ["migrate", "shell", "import_run x.jsonl", "export_run x", "add_user ana"]
    )
    def test_embedded_server_runs_for_commands_that_need_it(self, arguments: str) -> None:
        assert command_line._needs_database(arguments.split())

    @pytest.mark.parametrize(
        "arguments", ["", "help", "--version", "check --deploy", "collectstatic", "migrate --help", "up"]
    )
    def test_embedded_server_does_not_run_for_other_commands(self, arguments: str) -> None:
        assert not command_line._needs_database(arguments.split())

    @pytest.mark.slow
    def test_embedded_server_stops_when_command_is_terminated(self, tmp_path: Path) -> None:
        code = """
            import sys, time
            from pathlib import Path
            from cognireview import command_line
            from cognireview.postgres import embedded
            command_line._postgres = lambda: embedded.running(Path(sys.argv[1]), disposable=True)
            command_line.run(lambda: print("running", flush=True) or time.sleep(60), needs_database=True)
        """
        data_dir = copy_data_folder(tmp_path / "data")
        command = [sys.executable, "-c", textwrap.dedent(code), str(data_dir)]
        with subprocess.Popen(command, cwd=BASE_DIR, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            process.terminate()
        assert process.returncode == 128 + signal.SIGTERM
        assert not embedded.Server(data_dir, server_account()).is_alive()


def test_version_option_prints_version_of_cognireview(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (["--version"], ["version"]):
        monkeypatch.setattr(sys, "argv", ["cognireview", *arguments])
        main()
        assert capsys.readouterr().out == f"CogniReview {version('cognireview')}\n"


def test_help_lists_own_commands_first_with_one_line_each() -> None:
    text = command_line.CommandLine(["cognireview", "help"]).main_help_text()
    ours, _, others = text.partition("Commands of Django:")
    assert re.search(r"^  import_run +Import evaluation files into a run$", ours, re.MULTILINE)
    names = [name for name, app in get_commands().items() if app == "reviews"]
    assert {name: command_line._help_of(name) for name in names} == {
        name: load_command_class("reviews", name).help for name in names
    }
    assert "runserver" in others
    assert "runserver" not in ours


@pytest.mark.parametrize("name", ["backup", "export_run", "migrate"])
def test_help_of_a_command_needs_no_database(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the `db` fixture, a query fails."""
    # It would bind the log to the captured stream, which is closed after this test.
    monkeypatch.setattr("django.setup", lambda: None)
    monkeypatch.setattr(sys, "argv", ["cognireview", name, "--help"])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: cognireview {name} ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "reports"),
    [([], True), (["--demo", "--port", "8001"], True), (["--port", "abc"], False), (["--port=0"], False)],
)
def test_up_reports_before_imports_and_children_write_bytecode(arguments: list[str], reports: bool) -> None:
    """Replace the command line module with one that prints its environment."""
    code = """
        import os, sys, types
        stub = types.ModuleType("cognireview.command_line")
        stub.main = lambda: print(sys.dont_write_bytecode, os.environ.get("PYTHONDONTWRITEBYTECODE"))
        sys.modules["cognireview.command_line"] = stub
        from cognireview import __main__
        __main__.main()
        print("django" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), "up", *arguments],
        cwd=BASE_DIR,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ("cognireview: Loading the program...\n" if reports else "")
    assert done.stdout == "False None\nFalse\n"

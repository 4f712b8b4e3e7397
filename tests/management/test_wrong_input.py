"""Commands report wrong input in one plain sentence, with exit status 1 or 2 and without a traceback."""

import socket
import sys
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import django
import pytest
from django.core.management.base import BaseCommand
from django.db import connections

from cognireview.command_line import CommandLine
from reviews.models import User
from tests.support.factories import GoldSetFactory, ImportFactory, RunFactory

pytestmark = pytest.mark.django_db

_NO_RUN = "No run 'nosuch'. Runs: algebra."
_NO_USER = "No user 'nobody'. Users: ana."
_PORT = "is not a whole number from 1 to 65535. See `manage.py"
# Arguments -> the sentence. `IMPORT` is the number of an import that exists.
WRONG = {
    "add_user ana --role owner": "--role: invalid choice: 'owner' (choose from",
    "add_user zoe --role lead": "Standard input is no terminal. In a script, use --password-stdin.",
    "add_user": "The following arguments are required: name, --role. See `manage.py add_user --help`.",
    "archive_run nosuch": _NO_RUN,
    "backup nowhere/file": "nowhere/file: No such file or directory.",
    "changepassword nobody": _NO_USER,
    "changepassword ana": "Standard input is no terminal. In a script, use --password-stdin.",
    "create_token nobody --scope read": _NO_USER,
    "create_token ana --scope everything": "Choose one or more of the scopes import, export,",
    "create_token ana --scope read --days ten": "--days: 'ten' is not a whole number from 1 to 366.",
    "delete_run nosuch": _NO_RUN,
    "delete_run algebra --confirm geometry": "Nothing was deleted.",
    "export_audit --run nosuch": _NO_RUN,
    "export_audit -o nowhere/file": "nowhere/file: No such file or directory.",
    "export_independent_reviews nosuch": _NO_RUN,
    "export_run nosuch": _NO_RUN,
    "export_run algebar": "No run 'algebar'. Runs: algebra.",
    "export_run algebra --import 0": "Run 'algebra' has no import 0. Imports: IMPORT.",
    "export_run algebra --format xml": "--format: invalid choice: 'xml' (choose from",
    "gold_sets export nosuch": "No gold set 'nosuch'. Gold sets: gold.",
    "gold_sets freeze new nosuch": _NO_RUN,
    "gold_sets import missing.jsonl": "missing.jsonl: No such file or directory.",
    "import_context missing.json": "missing.json: No such file or directory.",
    "import_run missing.jsonl": "missing.jsonl: No such file or directory.",
    "import_run missing.jsonl --map nosuch": "There is no file 'nosuch', and no shipped mapping",
    "import_run missing.jsonl --rubric nosuch": "nosuch: No such file or directory.",
    "judge_data nosuch": _NO_RUN,
    "judge_report nosuch": _NO_RUN,
    "judge_report algebra --require good": "good",
    "known_answers nosuch": _NO_RUN,
    "known_answers algebra --start 0": "--start: '0' is not a whole number from 1 to 100.",
    "known_answers algebra --start 5": "Name the lead: --lead NAME.",
    "known_answers algebra --end --lead nobody": _NO_USER,
    "list_runs --all": "Unrecognized arguments: --all. See `manage.py list_runs --help`.",
    "list_users --role owner": "--role: invalid choice: 'owner' (choose from",
    "rename_run nosuch new": _NO_RUN,
    "repair_import x missing": "IMPORT: invalid int value: 'x'.",
    "repair_import 0 missing": "missing: No such file or directory",
    "reread_run nosuch --map promptfoo": _NO_RUN,
    "restore missing": "There is no file missing.",
    "review_plan nosuch": _NO_RUN,
    "run_members nosuch": _NO_RUN,
    "run_settings nosuch": _NO_RUN,
    "run_settings algebra --claim-minutes 0": "--claim-minutes: '0' is not a whole number from 1 to 1440.",
    "run_settings algebra --due-on 30.2.2026": "--due-on: “30.2.2026” is not a date. Write it as 2026-11-21.",
    "run_settings algebra --blind-share 15": "--blind-share: Enter a share from 0 to 100%, not 1500%.",
    "run_settings algebra --sample-share some": "--sample-share: 'some' is not a number from 0 to 1.",
    "serve --port abc": f"--port: 'abc' {_PORT} serve --help`.",
    "serve --host localhost": "--host: 'localhost' is not an IP address, like 127.0.0.1, or 0.0.0.0 for all",
    "serve --host 192.0.2.1": "192.0.2.1:8000 cannot be used: ",
    "serve --finish soon": "--finish: 'soon' is not a whole number from 0 to 86400.",
    "up --port abc": f"--port: 'abc' {_PORT} up --help`.",
    "up --port 65536": f"--port: '65536' {_PORT} up --help`.",
    "verify_audit --head x": "--head:",
    "verify_audit --heads missing": "missing: No such file or directory.",
    "verify_export missing.jsonl export.jsonl": "export.jsonl: No such file or directory.",
    "verify_runs nosuch": _NO_RUN,
    "work --finish -1": "--finish: '-1' is not a whole number from 0 to 86400.",
}


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Run":
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", StringIO())
    # The settings of tests fail a check, and a command closes its connections at the end.
    monkeypatch.setattr(BaseCommand, "check", lambda *_, **__: None)
    monkeypatch.setattr(connections, "close_all", lambda: None)
    # A second set-up would bind the log to the captured stream, which is closed after this test.
    monkeypatch.setattr(django, "setup", lambda: None)
    return Run(capsys)


class Run:
    """Runs commands as `manage.py` does."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        status = 0
        try:
            CommandLine(["manage.py", *arguments]).execute()
        except SystemExit as end:
            status = int(end.code or 0)
        return Ended(status, *self._capsys.readouterr())


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_input_is_reported_in_a_sentence(arguments: str, run_command: Run, ana: User) -> None:
    number = ImportFactory.create(run__name="algebra").pk
    GoldSetFactory.create(run=RunFactory._meta.model.objects.get())
    ended = run_command(*arguments.split())
    sentence = (
        WRONG[arguments]
        if arguments.startswith("repair")
        else WRONG[arguments].replace("IMPORT", str(number))
    )
    assert ended.status in {1, 2}
    assert sentence in ended.err
    assert "Traceback" not in ended.err
    assert "usage:" not in ended.err
    assert "Error:" not in ended.err
    assert ended.err.count("\n") <= 2
    assert "\x1b" not in ended.out + ended.err


def test_server_does_not_share_the_port_of_another_program(run_command: Run) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
        port = other.getsockname()[1]
        ended = run_command("serve", f"--port={port}")
    assert ended.status == 2
    assert (
        ended.err
        == f"127.0.0.1:{port} cannot be used: Address already in use. Choose another --host or --port.\n"
    )


def test_verify_audit_without_a_head_to_compare_has_not_checked(run_command: Run) -> None:
    assert run_command("verify_audit", "--heads", "missing").status == 2
    Path("work.log").write_text("nothing")
    ended = run_command("verify_audit", "--heads", "work.log")
    assert (ended.status, ended.err.partition(" See")[0]) == (2, "--heads: work.log contains no head.")


def test_unknown_name_is_compared_with_many(run_command: Run) -> None:
    assert run_command("export_run", "x").err == "No run 'x'. There are no runs yet.\n"
    for number in range(30):
        RunFactory.create(name=f"run {number}")
    err = run_command("export_run", "runn 17").err
    assert err.startswith("No run 'runn 17'. Runs: 'run 17', ")
    assert err.endswith(" and 20 more.\n")


@pytest.mark.parametrize("name", ["a\0b", "\udcff", "", "'; DROP TABLE run; --", "x" * 10_000])
def test_strange_name_is_only_unknown(name: str, run_command: Run) -> None:
    ended = run_command("run_members", name)
    assert ended.status == 2
    assert "There are no runs yet." in ended.err


def test_every_command_with_arguments_is_tried() -> None:
    folder = Path(__file__).parents[2] / "reviews" / "management" / "commands"
    commands = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    # Without arguments of their own that can be wrong.
    plain = {"migrate", "public_key", "rotate_keys", "status"}
    assert commands - plain == {arguments.split()[0] for arguments in WRONG}

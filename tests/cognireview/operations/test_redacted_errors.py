"""Logs hold no contents of records: not ours, and not PostgreSQL's."""

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from cognireview.operations.logs import JsonFormatter, TextFormatter
from cognireview.operations.redacted_errors import describe, format_traceback, report_uncaught
from cognireview.postgres import embedded
from cognireview.postgres import server_log as server_log_settings
from tests.support.data_folders import copy_data_folder

MARKER = "MARKER-5d21e8"

# Statements that fail, each with the marker in it, and words that stay in the message.
FAULTS = {
    "a value that exists": ("INSERT INTO thing VALUES (1, %s, '{}')", "duplicate key value"),
    "a value that is too long": ("INSERT INTO thing VALUES (2, repeat(%s, 30), '{}')", "value too long"),
    "invalid JSON": ("INSERT INTO thing VALUES (2, '', %s)", "invalid input syntax for type json"),
    "an invalid number": ("SELECT %s::int", "invalid input syntax for type integer"),
    "an invalid date": ("SELECT %s::timestamptz", "invalid input syntax for type timestamp"),
    "a row that is refused": ("INSERT INTO thing VALUES (-1, %s, '{}')", "violates check constraint"),
    "a quote in the value": ("SELECT ('\"' || %s || '\" \"')::int", "invalid input syntax for type integer"),
    "a full disk": ("DO $$ BEGIN RAISE 'no space' USING ERRCODE = '53100', DETAIL = %s; END $$", "no space"),
    "a broken statement": ("SELECT 1 FROM %s", "syntax error at or near"),
}


@pytest.fixture
def error(request: pytest.FixtureRequest, db: None) -> DatabaseError:
    """The error of a statement, as Django raises it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE thing (id int PRIMARY KEY CHECK (id > 0), name varchar(200), data jsonb)"
        )
        cursor.execute("INSERT INTO thing VALUES (1, %s, '{}')", [MARKER])
        with pytest.raises(DatabaseError) as caught, transaction.atomic():
            cursor.execute(FAULTS[request.param][0], [MARKER])
    return caught.value


def said_of(error: BaseException, formatter: logging.Formatter) -> str:
    """Format an error as a log does."""
    kind = (type(error), error, error.__traceback__)
    return formatter.format(logging.LogRecord("x", logging.ERROR, "x.py", 1, "It failed", None, kind))


@pytest.mark.parametrize(
    ("error", "words"), [(name, words) for name, (_, words) in FAULTS.items()], indirect=["error"]
)
def test_application_log_has_no_values(error: DatabaseError, words: str) -> None:
    for said in (
        describe(error),
        said_of(error, TextFormatter()),
        said_of(error, JsonFormatter()),
        format_traceback(error.__cause__ or error),
    ):
        assert MARKER not in said
        assert words in said


def test_chained_error_has_no_values(db: None) -> None:
    def fail() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT %s::int", [MARKER])
        except DatabaseError as error:
            raise ExceptionGroup("both", [ValueError("a"), error]) from KeyError("b")

    with pytest.raises(ExceptionGroup) as caught:
        fail()
    text = format_traceback(caught.value)
    assert MARKER not in text
    assert text.count('invalid input syntax for type integer: "..."') >= 1
    assert "Traceback (most recent call last)" in text


@pytest.mark.skipif(bool(settings.ENVIRONMENT.database_url), reason="the log is that of another server")
@pytest.mark.parametrize("error", FAULTS, indirect=True)
def test_postgresql_log_has_no_values_of_our_connections(error: DatabaseError) -> None:
    assert MARKER not in server_log(settings.DATA_DIR / "tests")


@pytest.mark.slow
@pytest.mark.skipif(bool(settings.ENVIRONMENT.database_url), reason="the log is that of another server")
def test_postgresql_log_has_no_statements_of_other_connections(tmp_path: Path) -> None:
    """Another program may use the database too; and the server logs how a connection ended."""
    data_dir = copy_data_folder(tmp_path / "data")
    with embedded.running(data_dir, disposable=True):
        place = embedded.connection_settings(data_dir)
        address = {
            "dbname": place["NAME"],
            "user": place["USER"],
            "host": place["HOST"],
            "port": place["PORT"],
        }
        with psycopg.connect(**address, autocommit=True) as other:
            other.execute("CREATE TABLE thing (id text PRIMARY KEY)")
            for _ in range(2):
                execute(lambda: other.execute("INSERT INTO thing VALUES (%s)", [MARKER]))
            execute(lambda: psycopg.ClientCursor(other).execute("INSERT INTO thing VALUES (%s)", [MARKER]))
            execute(lambda: copy(other))
            execute(lambda: other.execute(f"SELECT pg_sleep(0) FROM nowhere -- {MARKER}".encode()))
            killed = "SELECT pg_terminate_backend(pg_backend_pid()) -- " + MARKER
            execute(lambda: other.execute(killed.encode()))
    log = server_log(data_dir)
    assert "duplicate key value" in log
    assert MARKER not in log


def execute(action: Callable[[], object]) -> None:
    with suppress(psycopg.Error):
        action()


def copy(other: "psycopg.Connection[tuple[object, ...]]") -> None:
    with other.cursor().copy("COPY thing FROM STDIN") as rows:
        rows.write(f"{MARKER}\n{MARKER}\n".encode())


def server_log(data_dir: Path) -> str:
    return (data_dir / "logs" / "postgres.log").read_text(errors="replace")


def test_uncaught_error_is_printed_without_values(
    db: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT %s::int", [MARKER])
    report_uncaught(type(caught.value), caught.value, caught.tb)
    said = capsys.readouterr().err
    assert MARKER not in said
    assert 'invalid input syntax for type integer: "..."' in said


@pytest.mark.parametrize(
    ("setting", "value", "is_safe"),
    [
        ("log_min_error_statement", "error", False),
        ("log_error_verbosity", "default", False),
        ("log_statement", "all", False),
        ("log_parameter_max_length_on_error", "-1", False),
        ("log_statement", "ddl", True),
    ],
)
def test_migrate_warns_about_server_logging_contents(
    db: None, setting: str, value: str, is_safe: bool
) -> None:
    with connection.cursor() as cursor:
        for name, (first, *_) in server_log_settings._WANTED.items():
            cursor.execute(f"SET LOCAL {name} = '{first}'")
        cursor.execute(f"SET LOCAL {setting} = '{value}'")
    sentence = server_log_settings.log_privacy_warning(connection)
    assert sentence.startswith("PostgreSQL may log record contents") != is_safe
    assert (setting in sentence) != is_safe

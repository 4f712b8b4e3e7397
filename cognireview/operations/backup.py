"""The whole database as one file, and back, by PostgreSQL's own programs.

The file is pg_dump's custom format, of one moment, without owners and rights: it goes into any
database, whoever owns that, and `migrate` gives the rights there. Other programs can read it, and do not read
the checksum behind it.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cognireview.operations.atomic_files import InvalidTarget, atomic_write
from cognireview.postgres import embedded as postgres_embedded

_PROGRAMS = ("pg_dump", "pg_restore", "psql")
_PORTABLE = ("--no-owner", "--no-privileges")
_LOCK_WAIT = "60s"
# Tables and words for what a person would miss.
_COUNTED_TABLES = {
    "run": "run",
    "evaluation": "record",
    "review": "decision",
    "person": "account",
    "audit_event": "audit event",
}
_TABLES_WITHOUT_MODEL = {"cache", "django_migrations"}
# Workers of PostgreSQL itself have no user.
_OTHER_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
"""
# The schema as PostgreSQL makes it in a new database; what was in it comes back if there is no COMMIT.
_RECREATE_SCHEMA = b"""
    BEGIN;
    SET client_min_messages = warning;
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    COMMENT ON SCHEMA public IS 'standard public schema';
    GRANT USAGE ON SCHEMA public TO PUBLIC;
"""


_BLOCK = 1024**2
_MAGIC = b"PGDMP"
_CHECKSUM = b"\nCogniReview backup, SHA-256 %s\n"
_CHECKSUM_SIZE = len(_CHECKSUM % (b"0" * 64))
_CHECKSUM_PATTERN = re.compile(rb"\nCogniReview backup, SHA-256 ([0-9a-f]{64})\n")
# A file that pg_dump wrote ends with a zero.
_CUT_OFF = re.compile(rb"\n(C|Co|Cog|Cogn|Cogni.*)?\Z", re.DOTALL)
log = logging.getLogger(__name__)


class BackupError(Exception):
    """There is no backup, or nothing was restored; the message says why."""


def back_up(target: Path | None) -> int:
    """Write the database to `target`, or to standard output, and return the bytes written.

    The file appears when it is whole, and only its owner can read it. People may work meanwhile. Raises
    `BackupError`.
    """
    try:
        if target is None:
            return _dump(sys.stdout.buffer)
        with atomic_write(target, is_private=True) as draft, draft.open("wb") as file:
            return _dump(file)
    except InvalidTarget as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"{target or 'Standard output'}: {error.strerror}.") from error


def _dump(file: IO[bytes]) -> int:
    """Write what pg_dump gives, and the checksum behind it, which pg_restore does not read."""
    options = ("--format=custom", *_PORTABLE, f"--lock-wait-timeout={_LOCK_WAIT}")
    command = [_program("pg_dump"), *options, *_connection_options()]
    digest, size = sha256(), 0
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=_environment()) as dumping,
    ):
        assert dumping.stdout
        with dumping.stdout as stdout:
            while block := stdout.read(_BLOCK):
                digest.update(block)
                size += file.write(block)
        if dumping.wait():
            raise BackupError(_error_in(errors))
    size += file.write(_CHECKSUM % digest.hexdigest().encode())
    file.flush()
    return size


def restore(source: Path, *, replace: bool) -> None:
    """Make the database what it was when `source` was written, then migrate it.

    With `replace`, all that it holds now is given up. Raises `BackupError`, and then nothing has changed.
    """
    _check(source)
    with connection.cursor() as cursor:
        cursor.execute(_OTHER_CONNECTIONS)
        (others,) = cursor.fetchone() or (0,)
    if others:
        raise BackupError(
            f"The database is in use ({_count(others, 'connection')}). Stop `up`, web servers and workers."
        )
    if not replace and (held := contents()):
        raise BackupError(f"The database holds {', '.join(held)}. To give that up for the backup: --replace")
    _load(source)
    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def contents() -> list[str]:
    """What the database holds, such as `2 runs`. A new one, migrated or not, holds nothing."""
    held = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for table in [name for name in _COUNTED_TABLES if name in tables]:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            (count,) = cursor.fetchone() or (0,)
            held += [_count(count, _COUNTED_TABLES[table])] if count else []
    ours = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    if others := tables - ours - _TABLES_WITHOUT_MODEL:
        held.append(f"{_count(len(others), 'table')} not of this program")
    return held


def _check(source: Path) -> None:
    """Refuse what is no backup of ours, or that of a version which had tables we do not know."""
    if source.is_dir():
        raise BackupError(f"{source} is a folder: name the file that backup wrote.")
    if not source.is_file():
        raise BackupError(f"There is no file {source}.")
    _verify_checksum(source)
    options = ("--format=custom", "--data-only", "--table=django_migrations", "--file=-")
    try:
        table = _run("pg_restore", *options, str(source))
    except BackupError as error:
        raise BackupError(f"{source} cannot be read as a backup: {error}") from error
    rows = re.findall(r"^\d+\t(\w+)\t(\w+)\t", table, re.MULTILINE)
    applied = {name for app, name in rows if app == "reviews"}
    if not applied:
        raise BackupError(f"{source} is a backup of another program.")
    known = {name for app, name in MigrationLoader(None).disk_migrations if app == "reviews"}
    if newer := sorted(applied - known):
        raise BackupError(f"{source} was written by a newer version, which had migrated to {newer[-1]}.")


def _verify_checksum(source: Path) -> None:
    """Refuse a file whose checksum is not that of its bytes. One that pg_dump wrote has none."""
    try:
        size = source.stat().st_size
        with source.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise BackupError(f"{source} cannot be read as a backup: it does not begin like one.")
            file.seek(max(0, size - _CHECKSUM_SIZE))
            last = file.read()
            wanted = _CHECKSUM_PATTERN.fullmatch(last)
            found = _digest(file, size - _CHECKSUM_SIZE) if wanted else None
    except OSError as error:
        raise BackupError(f"{source} cannot be read: {error.strerror}.") from error
    if wanted and wanted[1] != found:
        raise BackupError(f"{source} is damaged: its checksum does not match. Use another backup.")
    if not wanted and _CUT_OFF.search(last):
        raise BackupError(f"{source} is damaged: its end was cut off or changed. Use another backup.")
    if not wanted:
        log.warning("%s has no checksum: pg_dump wrote it, or it was cut off.", source)


def _digest(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first `size` bytes in hexadecimal."""
    file.seek(0)
    digest = sha256()
    while size and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest().encode()


def _load(source: Path) -> None:
    """Replace what is in the database in one transaction, which ends well only if all of it arrived."""
    reading = [_program("pg_restore"), *_PORTABLE, "--exit-on-error", "--file=-", str(source)]
    writing = [_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *_connection_options()]
    connection.close()  # it would idle for as long as this takes
    with (
        tempfile.TemporaryFile() as read_errors,
        tempfile.TemporaryFile() as write_errors,
        subprocess.Popen(reading, stdout=subprocess.PIPE, stderr=read_errors) as reader,
        subprocess.Popen(
            writing,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=write_errors,
            env=_environment(),
        ) as writer,
    ):
        assert reader.stdout
        assert writer.stdin
        # A psql that gave up reads no further, and says why.
        with suppress(BrokenPipeError), writer.stdin as script:
            script.write(_RECREATE_SCHEMA)
            shutil.copyfileobj(reader.stdout, script, 1024**2)
            if reader.wait() == 0:
                script.write(b"COMMIT;\n")
        if writer.wait():
            raise BackupError(f"Nothing was changed: {_error_in(write_errors)}")
        if reader.wait():
            raise BackupError(f"Nothing was changed, {source} is damaged: {_error_in(read_errors)}")


def _run(name: str, *options: str) -> str:
    """What the program printed. Raises `BackupError`."""
    done = subprocess.run([_program(name), *options], capture_output=True, check=False, env=_environment())
    if done.returncode:
        raise BackupError(_last_error(done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def _connection_options() -> list[str]:
    """The options that say which database. A password goes by the environment, which others cannot see."""
    place = connection.settings_dict
    parts = {"dbname": place["NAME"], "user": place["USER"], "host": place["HOST"], "port": place["PORT"]}
    given = {name: value for name, value in {**parts, **place["OPTIONS"]}.items() if value}
    return ["--no-password", f"--dbname={make_conninfo(**given)}"]


def _environment() -> dict[str, str]:
    password = connection.settings_dict["PASSWORD"]
    return os.environ | ({"PGPASSWORD": password} if password else {})


def _program(name: str) -> str:
    """The program in the server's own version: older ones refuse it, newer ones write what it cannot read."""
    major = connection.cursor().connection.info.server_version // 10000
    for folder in _folders(major):
        if all((folder / program).is_file() for program in _PROGRAMS) and _major(folder) == major:
            return str(folder / name)
    raise BackupError(
        f"The server is PostgreSQL {major}, and there are no pg_dump, pg_restore and psql of that version on "
        f"PATH: install its client programs."
    )


def _folders(major: int) -> Iterator[Path]:
    """Where the programs may be: those of the embedded server, on PATH, and where Debian keeps versions."""
    if embedded := postgres_embedded.bin_dir():
        yield embedded
    yield from (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    yield Path(f"/usr/lib/postgresql/{major}/bin")


def _major(folder: Path) -> int:
    said = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"\) (\d+)", said.stdout)
    return int(version[1]) if version else 0


def _error_in(errors: IO[bytes]) -> str:
    errors.seek(0)
    return _last_error(errors.read().decode(errors="replace"))


def _last_error(text: str) -> str:
    """The line that says what went wrong; details follow it."""
    lines = text.strip().splitlines() or ["PostgreSQL's program failed and said nothing"]
    return next((line for line in lines if re.search(r"error|ERROR|FATAL", line)), lines[-1])


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"

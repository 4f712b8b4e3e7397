"""Back up the whole database to one file, and restore it, with PostgreSQL's own programs.

The file is a snapshot in pg_dump's custom format, without owners and privileges, so any database can take
it. `migrate` grants the privileges there. A checksum follows the dump; pg_restore ignores it.
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
# Tables whose loss people would notice, with the word for a row.
_COUNTED_TABLES = {
    "run": "run",
    "evaluation": "record",
    "review": "decision",
    "person": "account",
    "audit_event": "audit event",
}
_TABLES_WITHOUT_MODEL = {"cache", "django_migrations"}
# Background workers of PostgreSQL have no user.
_OTHER_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
"""
# The schema as in a new database. Without a COMMIT, the previous contents stay.
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
# A dump ends with a zero byte.
_CUT_OFF = re.compile(rb"\n(C|Co|Cog|Cogn|Cogni.*)?\Z", re.DOTALL)
log = logging.getLogger(__name__)


class BackupError(Exception):
    """The backup or the restore failed, and nothing was changed. The message says why."""


def back_up(target: Path | None) -> int:
    """Write the database to `target`, or to standard output, and return the bytes written.

    The file appears once it is complete, and only its owner can read it. People can go on working. Raises
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
    """Write pg_dump's output, followed by its checksum. Return the size in bytes."""
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
    """Restore the database from `source`, then migrate it.

    `replace` allows deleting the present contents. If this raises `BackupError`, nothing has changed.
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
        raise BackupError(f"The database contains {', '.join(held)}. Use --replace to delete that.")
    _load(source)
    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def contents() -> list[str]:
    """Describe the contents, such as `2 runs`. A new database, migrated or not, is empty."""
    held = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for table in [name for name in _COUNTED_TABLES if name in tables]:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            (count,) = cursor.fetchone() or (0,)
            held += [_count(count, _COUNTED_TABLES[table])] if count else []
    ours = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    if others := tables - ours - _TABLES_WITHOUT_MODEL:
        held.append(f"{_count(len(others), 'table')} of another program")
    return held


def _check(source: Path) -> None:
    """Refuse files that are not our backups, and backups of newer versions."""
    if source.is_dir():
        raise BackupError(f"{source} is a folder: name a backup file.")
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
        raise BackupError(f"{source} was written by a newer version, which has the migration {newer[-1]}.")


def _verify_checksum(source: Path) -> None:
    """Refuse a file with a wrong checksum. A file written by pg_dump itself has none."""
    try:
        size = source.stat().st_size
        with source.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise BackupError(f"{source} is not a backup.")
            file.seek(max(0, size - _CHECKSUM_SIZE))
            last = file.read()
            wanted = _CHECKSUM_PATTERN.fullmatch(last)
            found = _digest(file, size - _CHECKSUM_SIZE) if wanted else None
    except OSError as error:
        raise BackupError(f"{source} cannot be read: {error.strerror}.") from error
    if wanted and wanted[1] != found:
        raise BackupError(f"{source} is damaged: its checksum does not match. Use another backup.")
    if not wanted and _CUT_OFF.search(last):
        raise BackupError(f"{source} is damaged: its end is missing or changed. Use another backup.")
    if not wanted:
        log.warning("%s has no checksum. It was written by pg_dump, or its end is missing.", source)


def _digest(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first `size` bytes in hexadecimal."""
    file.seek(0)
    digest = sha256()
    while size and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest().encode()


def _load(source: Path) -> None:
    """Replace the contents of the database in one transaction, which commits only if everything arrived."""
    reading = [_program("pg_restore"), *_PORTABLE, "--exit-on-error", "--file=-", str(source)]
    writing = [_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *_connection_options()]
    connection.close()  # it would be idle for the whole restore
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
        # If psql fails, it stops reading and reports the reason.
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
    """Run the program and return its output. Raises `BackupError`."""
    done = subprocess.run([_program(name), *options], capture_output=True, check=False, env=_environment())
    if done.returncode:
        raise BackupError(_last_error(done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def _connection_options() -> list[str]:
    """Return the connection options, without the password: other users can see a command's arguments."""
    place = connection.settings_dict
    parts = {"dbname": place["NAME"], "user": place["USER"], "host": place["HOST"], "port": place["PORT"]}
    given = {name: value for name, value in {**parts, **place["OPTIONS"]}.items() if value}
    return ["--no-password", f"--dbname={make_conninfo(**given)}"]


def _environment() -> dict[str, str]:
    password = connection.settings_dict["PASSWORD"]
    return os.environ | ({"PGPASSWORD": password} if password else {})


def _program(name: str) -> str:
    """Return the program in the server's major version. Others may refuse the server or the file."""
    major = connection.cursor().connection.info.server_version // 10000
    for folder in _folders(major):
        if all((folder / program).is_file() for program in _PROGRAMS) and _major(folder) == major:
            return str(folder / name)
    raise BackupError(
        f"The server is PostgreSQL {major}, and there are no pg_dump, pg_restore and psql of that version on "
        f"PATH: install its client programs."
    )


def _folders(major: int) -> Iterator[Path]:
    """Yield candidate folders: the embedded server's, those on PATH, and Debian's folder for the version."""
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
    """Return the line that reports the error. Details follow it."""
    lines = text.strip().splitlines() or ["PostgreSQL's program failed without a message"]
    return next((line for line in lines if re.search(r"error|ERROR|FATAL", line)), lines[-1])


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"

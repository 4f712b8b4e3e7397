"""`manage.py up`: real processes on one data folder, started, stopped and killed as by an operator."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import psutil
import pytest

from cognireview.environment import BASE_DIR
from cognireview.processes import supervisor
from cognireview.processes import up as up_module
from cognireview.processes.child_process import process_name
from tests.support.data_folders import copy_data_folder
from tests.support.static_files import copy_static_files
from tests.support.waiting import PATIENCE, eventually, free_port


class Up:
    """A running `manage.py up` and its output so far."""

    def __init__(self, data_dir: Path, port: int, *options: str) -> None:
        self.data_dir, self.port = data_dir, port
        self.process = start(data_dir, port, *options)
        self.lines: list[str] = []
        self.reported = ""

    def wait_until_ready(self) -> "Up":
        """Read the output up to the line with the address."""
        assert self.process.stdout is not None
        while not self.lines or "http" not in self.lines[-1]:
            line = self.process.stdout.readline()
            assert line, f"up ended with {self.process.wait()}: {self.reported}{self.process.communicate()}"
            self.lines.append(line.rstrip("\n"))
        return self

    def status(self, path: str) -> int:
        """The HTTP status of a path, or 0 without an answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code
        except (URLError, OSError):
            return 0

    def said_to(self, request: bytes) -> list[bytes]:
        """The status lines of the responses to bytes that may not be a request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with suppress(OSError):  # the server may close the connection early
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            with suppress(OSError):
                while block := connection.recv(65536):
                    answer += block
        return [one for one in answer.split(b"\r\n") if one.startswith(b"HTTP/1.1 ")]

    def children(self, name: str) -> list[psutil.Process]:
        """The processes below `up` that were started as `name`, web or worker."""
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if process.name() == process_name(name):
                    found.append(process)
        return found

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Send a signal and wait: the exit status, and the output since."""
        self.process.send_signal(how)
        rest, reported = self.process.communicate(timeout=PATIENCE)
        self.reported += reported
        return self.process.returncode, rest

    def wait_for_report(self, text: str) -> str:
        """Read the reports up to the line with this text, and return that line."""
        assert self.process.stderr is not None
        while line := self.process.stderr.readline():
            self.reported += line
            if text in line:
                return line
        raise AssertionError(self.reported)


def start(data_dir: Path, port: int, *options: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"COGNIREVIEW_DATA_DIR": str(data_dir)}
    # These tests need the embedded PostgreSQL, even if the others use an external server.
    environment.pop("DATABASE_URL", None)
    return subprocess.Popen(
        [sys.executable, "manage.py", "up", f"--port={port}", *options],
        cwd=BASE_DIR,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def postmaster(data_dir: Path) -> int:
    """The process ID of the database server, or 0 if it is not running."""
    path = data_dir / "postgres" / "postmaster.pid"
    return int((path.read_text().split() or ["0"])[0]) if path.exists() else 0


def nobody_left(data_dir: Path) -> bool:
    """Whether every process that used the data folder has ended, including those of PostgreSQL."""
    for name in ("up", "users", "server"):
        with (data_dir / "locks" / name).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
    return True


def replacement(up: Up, died: psutil.Process) -> psutil.Process:
    """Wait for the worker that replaces one that died."""
    assert eventually(lambda: up.children("worker") not in ([], [died]))
    [worker] = up.children("worker")
    return worker


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a migrated database and static files, which take seconds to create."""
    folder = copy_data_folder(tmp_path_factory.mktemp("up") / "the data")
    copy_static_files(folder)
    return folder


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def up(data_dir: Path, port: int) -> Iterator[Callable[..., Up]]:
    """Return the running `up`, started with these options if none runs."""
    started: list[Up] = []

    def running(*options: str) -> Up:
        if not started or started[-1].process.poll() is not None:
            started.append(Up(data_dir, port, *options))
            started[-1].wait_until_ready()
        return started[-1]

    yield running
    for one in started:
        with one.process:
            one.process.terminate()
    assert eventually(lambda: nobody_left(data_dir))


@pytest.mark.slow
class TestUp:
    """The tests use one site, because each start takes seconds. The last test stops it."""

    def test_up_prints_setup_link_first(self, up: Callable[..., Up]) -> None:
        first = up()
        address = rf"{up_module._public_url(first.port)}(/welcome/[0-9a-f]{{40}}/)"
        match = re.search(address, first.lines[0])
        assert match is not None
        assert [first.status(path) for path in ("/healthz", "/readyz", match[1])] == [200, 200, 200]
        assert first.status("/static/css/tokens.css") == 200
        assert len(first.lines) == 1
        first.wait_for_report("Starting the web server and the worker...")

    @pytest.mark.exhaustive
    def test_up_rejects_malformed_requests_and_continues(self, up: Callable[..., Up]) -> None:
        """Duplicate, invalid and endless headers get one error response or a closed connection."""
        first = up()
        to = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"
        health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for head, body in (
            (to + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n" + health),
            (to + b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n", health),
            (to + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n" + health),
            (to + b" folded: x\r\nbad name: y\r\n\r\n", health),
            (to + b"X: " + b"a" * 2**20 + b"\r\n\r\n", b""),
            (b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b""),
            (b"GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n", b""),
            (b"\0\xff" * 1000, b""),
        ):
            answers = first.said_to(head + body)
            assert all(b" 4" in status for status in answers[:1])
            assert len(answers) <= 1, (head[:80], answers)
        assert first.status("/readyz") == 200

    def test_running_up_keeps_a_second_one_from_its_data(self, up: Callable[..., Up], data_dir: Path) -> None:
        first = up()
        holder = re.escape(f"{up_module._public_url(first.port)} (process {first.process.pid})")
        with pytest.raises(up_module.CannotRun, match=holder), up_module._exclusive_lock(data_dir, ""):
            pass
        assert first.status("/readyz") == 200

    @pytest.mark.exhaustive
    def test_up_restarts_killed_processes(self, up: Callable[..., Up], data_dir: Path) -> None:
        first = up()
        killed = [*first.children("web"), *first.children("worker")]
        server = postmaster(data_dir)
        os.kill(server, signal.SIGKILL)
        for process in killed:
            process.kill()
        assert eventually(lambda: postmaster(data_dir) not in {0, server})
        assert eventually(lambda: bool(first.children("web")) and first.status("/readyz") == 200)
        assert eventually(lambda: bool(first.children("worker")))
        assert not set(killed) & {*first.children("web"), *first.children("worker")}

    @pytest.mark.exhaustive
    def test_up_restarts_database_once_possible(self, up: Callable[..., Up], data_dir: Path) -> None:
        first = up()
        control = data_dir / "postgres" / "global" / "pg_control"
        aside = control.rename(control.with_name("aside"))
        os.kill(postmaster(data_dir), signal.SIGKILL)
        assert eventually(lambda: first.status("/readyz") == 503)
        reported = first.wait_for_report("pg_control is missing")
        assert "The database fails: " in reported
        assert str(data_dir / "logs" / "postgres.log") in reported
        assert first.children("web")
        aside.rename(control)
        assert eventually(lambda: first.status("/readyz") == 200)

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("with_it", [[], ["web", "worker", "postgres"]], ids=["alone", "with everything"])
    def test_up_starts_at_once_after_a_kill(
        self, up: Callable[..., Up], data_dir: Path, with_it: list[str]
    ) -> None:
        first = up()
        others = [
            process.pid for name in ("web", "worker") if name in with_it for process in first.children(name)
        ]
        server = [postmaster(data_dir)] if "postgres" in with_it else []
        for pid in [first.process.pid, *others, *server]:
            os.kill(pid, signal.SIGKILL)
        first.process.wait()
        assert up().status("/readyz") == 200

    @pytest.mark.exhaustive
    def test_up_keeps_site_running_if_worker_keeps_failing_and_stops_on_ctrl_c(
        self, up: Callable[..., Up], data_dir: Path
    ) -> None:
        """The site stops while the next start of the worker is delayed."""
        first = up()
        [worker] = first.children("worker")
        for _ in range(2):
            worker.kill()
            worker = replacement(first, worker)
        worker.kill()
        assert first.status("/readyz") == 200
        assert first.end(signal.SIGINT) == (0, "")
        assert nobody_left(data_dir)
        killed = "The worker fails: it was ended by signal 9 (SIGKILL)."
        assert first.reported.count(killed) == 1
        assert str(first.data_dir / "logs" / "worker.log") in first.reported


def test_full_log_is_rotated_under_its_writing_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "_MAX_LOG_BYTES", 10)
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as file:
        for said in (b"the first ten\n", b"more than ten\n", b"short\n"):
            file.write(said)
            supervisor.rotate_log(log)
    assert log.read_bytes() == b"short\n"
    assert (tmp_path / "web.log.1").read_bytes() == b"more than ten\n"


@pytest.mark.exhaustive
def test_up_demo_creates_database_people_and_run_in_a_new_folder(tmp_path: Path) -> None:
    """Migrations and the demo take seconds. `tests/demo` checks the content of the demo."""
    first = Up(tmp_path / "new", free_port(), "--demo").wait_until_ready()
    with first.process:
        first.wait_for_report("Starting the web server and the worker...")
        first.end(signal.SIGTERM)
    assert [line.partition(" signs in with ")[0] for line in first.lines[:-1]] == [
        "ana (reviewer)",
        "bo (reviewer)",
        "lea (lead)",
        "max (admin)",
    ]
    assert "/welcome/" not in first.lines[-1]
    for step in ("Creating the database", "Applying migrations...", "Collecting static files..."):
        assert step in first.reported

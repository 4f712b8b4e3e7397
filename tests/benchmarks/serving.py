"""The work that both tools of a comparison do over HTTP, and our site as one of them."""

import html
import http.client
import json
import re
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psutil
from zstandard import ZstdDecompressor

from tests.support.processes import Process, environment, running_manage_py
from tests.support.waiting import free_port

HOST = "127.0.0.1"
REVIEWERS = 8
PAGE = 50
RUN = "benchmark"
_TIMEOUT, _START_SECONDS = 600, 600
# Between two requests for the state of a job: this share of the time waited, at least so many seconds.
_SHARE, _SHORTEST_PAUSE = 0.05, 0.1
_NDJSON = "application/x-ndjson"
_REVIEW_FORM = re.compile(r'<form id="review-form" method="post" action="([^"]+)"(.*?)</form>', re.DOTALL)
# The hidden fields, and the radio buttons that are checked.
_ENTRY = re.compile(r'<input type="(?:hidden|radio)" name="([^"]+)" value="([^"]*)"(?: id="[^"]*"| checked)')


class Unavailable(Exception):
    """The server answered with an error of its own."""


class Connection:
    """One user's connection, which is kept open."""

    def __init__(self, port: int, authorization: str) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
        self._headers = {"Authorization": authorization}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return its JSON. Raises `Unavailable`, and `AssertionError` for other errors."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not hasattr(body, "read"):
            body, given["Content-Type"] = json.dumps(body), "application/json"
        response = self._send(method, path, body, self._headers | given)
        text = response.read()
        if response.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise Unavailable(path)
        assert response.status < http.HTTPStatus.BAD_REQUEST, (path, response.status, text[:500])
        return json.loads(text) if text else None

    def read(self, path: str) -> int:
        """Download a file, compressed if the tool can, and return its length."""
        response = self._send("GET", path, None, {**self._headers, "Accept-Encoding": "zstd"})
        assert response.status == http.HTTPStatus.OK, (path, response.status)
        is_encoded = response.headers["Content-Encoding"] == "zstd"
        file = ZstdDecompressor().stream_reader(response, read_across_frames=True) if is_encoded else response
        return sum(map(len, iter(lambda: file.read(1024**2), b"")))

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> http.client.HTTPResponse:
        return _send(self._connection, method, path, body, headers)


def _send(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: dict[str, str]
) -> http.client.HTTPResponse:
    """Send a request, on a new connection if the server has closed the idle one."""
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse()
    except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
        connection.close()
        connection.request(method, path, body, headers)
        return connection.getresponse()


class Browser:
    """A logged-in person's connection with cookies, which is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
        self._cookies: SimpleCookie = SimpleCookie()

    def log_in(self, name: str, password: str) -> None:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.read("/login/"))
        assert token
        entries = {"login": name, "password": password, "csrfmiddlewaretoken": token[1]}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self._ask("POST", "/login/", urlencode(entries), form)
        assert "sessionid" in self._cookies

    def read(self, path: str) -> str:
        return self._ask("GET", path, None, {})

    def post(self, path: str, entries: dict[str, str]) -> str:
        """Post a form as a script of the page does, and return the part of the page that it replaces."""
        headers = {
            "HX-Request": "true",
            "X-CSRFToken": self._cookies["csrftoken"].value,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self._ask("POST", path, urlencode(entries), headers)

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> str:
        cookies = "; ".join(f"{name}={one.value}" for name, one in self._cookies.items())
        response = _send(self._connection, method, path, body, {"Cookie": cookies} | headers)
        text = response.read().decode()
        assert response.status < http.HTTPStatus.BAD_REQUEST, (path, response.status, text[:500])
        for given in response.headers.get_all("Set-Cookie", []):
            self._cookies.load(given)
        return text


class Tool(ABC):
    """A running tool with records to review."""

    name: str

    @abstractmethod
    def prepare_import(self, file: Path) -> Callable[[], None]:
        """Read a file of records. Return a function that imports it until lists and searches are complete."""

    @abstractmethod
    def review(self, user: int) -> None:
        """Get the next record of a user and decide it."""

    def submit(self) -> None:
        """Submit a decision in the browser, and get the next record. By default, a script uses the API."""
        self.review(0)

    @abstractmethod
    def read_list(self) -> None:
        """Read a page of the list of records."""

    def read_page(self) -> None:
        """Read the page with the list in the browser. By default, a script on the page reads the list."""
        self.read_list()

    @abstractmethod
    def export(self) -> int:
        """Read all records with their decisions. Return the number of bytes."""

    @abstractmethod
    def processes(self) -> Iterator[psutil.Process]:
        """Yield all processes of the tool, its database included."""

    def cpu_seconds(self) -> float:
        """Return the CPU time of the processes that run."""
        total = 0.0
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def memory(self) -> float:
        """Return the proportional set size of all processes in MiB."""
        return sum(process.memory_full_info().pss for process in self.processes()) / 2**20


class Site(Tool):
    """Our own site, as `manage.py up` starts it."""

    name = "CogniReview"

    def __init__(self, process: Process, folder: Path, port: int) -> None:
        self._process, self._folder = process, folder
        self._manage("add_user", "max", "--role", "admin", "--password-stdin", text="a long password of max")
        self._admin = Connection(port, self._token("max", "import,read,export"))
        names = [f"reviewer{number}" for number in range(REVIEWERS)]
        for name in names:
            self._manage(
                "add_user", name, "--role", "reviewer", "--password-stdin", text=f"a password of {name}"
            )
        self._reviewers = [Connection(port, self._token(name, "review,read")) for name in names]
        self._browser, self._reviewing = Browser(port), Browser(port)
        self._browser.log_in("max", "a long password of max")
        self._reviewing.log_in(names[-1], f"a password of {names[-1]}")

    def prepare_import(self, file: Path) -> Callable[[], None]:
        with file.open("rb") as lines:
            [line] = deque(lines, maxlen=1)
        return partial(self._import_file, file, json.loads(line)["evaluation_id"])

    def _import_file(self, file: Path, last: str) -> None:
        size = {"Content_Length": str(file.stat().st_size), "Content_Type": _NDJSON}
        with file.open("rb") as body:
            job = self._admin.ask("POST", f"/api/v1/runs/{RUN}/imports", body, **size)
        self._wait_for(f"/api/v1/imports/{job['id']}")
        found = self._admin.ask("GET", f"/api/v1/runs/{RUN}/evaluations?q={quote(last)}")
        assert [one["evaluation_id"] for one in found["evaluations"]] == [last], found

    def review(self, user: int) -> None:
        connection = self._reviewers[user]
        record = connection.ask("POST", f"/api/v1/runs/{RUN}/claims")
        path = f"/api/v1/runs/{RUN}/evaluations/{quote(record['evaluation_id'], safe='')}"
        if record["is_blind"]:
            blind = {one["criterion"]: one["scores"][0] for one in record["criteria"]}
            given = {"scores": blind, "version": record["version"]}
            record = connection.ask("PUT", f"{path}/blind-scores", given)
        scores = {one["criterion"]: {"score": one["score"]} for one in record["criteria"]}
        decision = {"corrected_scores": scores, "comments": "", "version": record["version"]}
        connection.ask("PUT", f"{path}/review", decision, Idempotency_Key=record["evaluation_id"])

    def review_blind(self, share: float) -> None:
        """Let a share of the further reviews begin blind."""
        self._manage("run_settings", RUN, "--blind-share", str(share))

    def submit(self) -> None:
        [(path, form)] = re.findall(_REVIEW_FORM, self._screen)
        entries = {html.unescape(name): html.unescape(value) for name, value in re.findall(_ENTRY, form)}
        self._screen = self._reviewing.post(path, entries | {"comments": ""})

    @cached_property
    def _screen(self) -> str:
        """The review screen that the reviewer sees."""
        return self._reviewing.post(f"{self._page}claim/", {})

    def read_list(self) -> None:
        assert self.find()

    def find(self, **filters: str) -> list[dict[str, Any]]:
        """Return the first records that match."""
        query = urlencode(filters | {"limit": PAGE})
        found: list[dict[str, Any]] = self._admin.ask("GET", f"/api/v1/runs/{RUN}/evaluations?{query}")[
            "evaluations"
        ]
        return found

    def read_page(self) -> None:
        assert self.show().count("data-row=") == PAGE

    def show(self, part: str = "", **filters: str) -> str:
        """Read a page of the run in the browser."""
        return self._browser.read(f"{self._page}{part}?{urlencode(filters)}")

    def browse(self, path: str) -> str:
        """Read a page of the site in the browser."""
        return self._browser.read(path)

    def read_report(self) -> Any:
        """Read the figures about the judge over the API."""
        return self._admin.ask("GET", f"/api/v1/runs/{RUN}/report")

    @cached_property
    def _page(self) -> str:
        """The path of the run's page."""
        [path] = set(re.findall(r'href="(/runs/\d+/)"', self._browser.read("/")))
        return str(path)

    def export(self) -> int:
        return self._admin.read(f"/api/v1/runs/{RUN}/export")

    def processes(self) -> Iterator[psutil.Process]:
        database = self._folder / "var" / "postgres" / "postmaster.pid"
        for pid in (self._process.pid, int(database.read_text().split()[0])):
            yield psutil.Process(pid)
            yield from psutil.Process(pid).children(recursive=True)

    def _wait_for(self, job: str) -> None:
        # Each request takes CPU time of the site.
        begun = time.monotonic()
        while (state := self._admin.ask("GET", job)["state"]) in {"queued", "running", "unfinished"}:
            time.sleep(max(_SHARE * (time.monotonic() - begun), _SHORTEST_PAUSE))
        assert state == "done", state

    def _token(self, name: str, scopes: str) -> str:
        return f"Bearer {self._manage('create_token', name, '--scope', scopes).split()[-1].decode()}"

    def _manage(self, *arguments: str, text: str = "") -> bytes:
        command = [sys.executable, "manage.py", *arguments]
        settings, given = _settings(self._folder), text.encode()
        done = subprocess.run(command, env=settings, input=given, capture_output=True, check=True)
        return done.stdout


def _settings(folder: Path) -> dict[str, str]:
    # A blind record takes a request more, as the other tool has no such records.
    settings = {"COGNIREVIEW_BLIND_SHARE": "0", "COGNIREVIEW_LOG_LEVEL": "WARNING"}
    return environment(COGNIREVIEW_DATA_DIR=str(folder / "var"), **settings)


@contextmanager
def our_site(folder: Path) -> Iterator[Site]:
    """Run `manage.py up` with its default settings."""
    folder.mkdir()
    port = free_port()
    with running_manage_py(["up", f"--port={port}"], folder / "up.log", _settings(folder)) as process:
        process.wait_until(lambda: "http" in process.output(), seconds=_START_SECONDS)
        yield Site(process, folder, port)


def wait_until_answers(process: Process, port: int, path: str) -> None:
    """Wait until a server answers a path with 200."""

    def answers() -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            return connection.getresponse().status == http.HTTPStatus.OK
        return False

    process.wait_until(answers, seconds=_START_SECONDS)

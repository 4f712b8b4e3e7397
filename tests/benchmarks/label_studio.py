"""Label Studio in an environment of its own, as its `start` command runs it: one process, with SQLite."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.serving import PAGE, REVIEWERS, Connection, Tool, Unavailable, wait_until_answers
from tests.support.processes import Process, running
from tests.support.waiting import free_port

VERSION = "1.23.2"
_TOKEN = "0" * 40
# One import request takes at most this many records, as its server takes requests of at most 250 MB.
_BATCH = 10_000
_ATTEMPTS = 100
_CRITERION = '<Choices name="score" toName="id"><Choice value="Yes"/><Choice value="No"/></Choices>'
_CONFIG = f'<View><Text name="id" value="$evaluation_id"/>{_CRITERION}</View>'
_RESULT = {"from_name": "score", "to_name": "id", "type": "choices", "value": {"choices": ["Yes"]}}


class LabelStudio(Tool):
    """A project of Label Studio. All connections have the token of its one user."""

    name = "Label Studio"

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self._reviewers = [Connection(port, f"Token {_TOKEN}") for _ in range(REVIEWERS)]
        project = {"title": "benchmark", "label_config": _CONFIG}
        self._project = self._ask("POST", "/api/projects", project)["id"]

    def prepare_import(self, file: Path) -> Callable[[], None]:
        lines = file.read_text(encoding="utf-8").splitlines()
        batches = [lines[begin : begin + _BATCH] for begin in range(0, len(lines), _BATCH)]
        bodies = [f"[{','.join(batch)}]".encode() for batch in batches]
        return partial(self._import_batches, bodies, len(lines))

    def _import_batches(self, bodies: list[bytes], count: int) -> None:
        path, done = f"/api/projects/{self._project}/import", 0
        for body in bodies:
            headers = {"Content_Type": "application/json", "Content_Length": str(len(body))}
            done += self._reviewers[0].ask("POST", path, BytesIO(body), **headers)["task_count"]
        assert done == count, done

    def review(self, user: int) -> None:
        path = f"/api/projects/{self._project}/next"
        task = self._ask_until_free(user, "GET", path)
        annotation = {"result": [_RESULT], "lead_time": 1}
        self._ask_until_free(user, "POST", f"/api/tasks/{task['id']}/annotations/", annotation)

    def _ask_until_free(self, user: int, method: str, path: str, body: Any = None) -> Any:
        """Repeat a request while SQLite is locked by another one, to which the server answers 500."""
        for _ in range(_ATTEMPTS):
            with suppress(Unavailable):
                return self._reviewers[user].ask(method, path, body)
        raise Unavailable(path)

    def read_list(self) -> None:
        assert self._ask("GET", f"/api/tasks?project={self._project}&page_size={PAGE}")["tasks"]

    def export(self) -> int:
        path = f"/api/projects/{self._project}/export?exportType=JSON&download_all_tasks=true"
        return self._reviewers[0].read(path)

    def processes(self) -> Iterator[psutil.Process]:
        yield psutil.Process(self._process.pid)
        yield from psutil.Process(self._process.pid).children(recursive=True)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return self._reviewers[0].ask(method, path, body)


@contextmanager
def label_studio(folder: Path) -> Iterator[LabelStudio]:
    """Install Label Studio in an environment of its own, and run it."""
    folder.mkdir()
    # Outside of the checkout, whose settings of uv are for our packages.
    python = folder / "venv" / "bin" / "python"
    subprocess.run(["uv", "venv", "--quiet", "--python", "3.11", folder / "venv"], check=True, cwd=folder)
    package = f"label-studio=={VERSION}"
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, package], check=True, cwd=folder)
    port = free_port()
    start = [str(python.with_name("label-studio")), "start", "--no-browser", "--port", str(port)]
    user = ["--username", "max@example.org", "--password", "a long password", "--user-token", _TOKEN]
    command = [
        *start,
        *user,
        "--data-dir",
        str(folder / "data"),
        "--enable-legacy-api-token",
        "--log-level",
        "ERROR",
    ]
    quiet = {
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "HOME": str(folder),
    }
    with running(command, folder / "log", env=os.environ | quiet, cwd=folder) as process:
        wait_until_answers(process, port, "/health")
        yield LabelStudio(process, port)

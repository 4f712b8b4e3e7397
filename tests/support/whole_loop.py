"""The parts of a whole loop with any client: an empty site, visitors, a large file, and verification."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from cognireview.environment import BASE_DIR
from reviews.records.status import NEEDS_REVIEW, NOT_REQUIRED
from tests.support import receiver
from tests.support.lines import file_of, line
from tests.support.processes import environment, running_manage_py
from tests.support.receiver import Receiver
from tests.support.waiting import free_port

LINE_BYTES = 100_000
#: The records in the queue; two people review each. The other lines of the file make it large.
FLAGGED = 20
REVIEWERS = [f"reviewer{number}" for number in range(8)]
DISPUTED = "r0"
PASSWORD = "a long secret of everybody"


class Visitor:
    """A person with a browser, who has accepted the invitation behind a link."""

    def __init__(self, http: httpx2.Client, link: str, username: str) -> None:
        self._http = http
        self.submit(link, username=username, password=PASSWORD, password_again=PASSWORD)

    def submit(self, address: str, **fields: object) -> str:
        """Open a page, submit its form, and return the page that follows."""
        page = self._http.get(address)
        [csrf_token] = {*re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)}
        chosen = dict(re.findall(r'<select name="(\w+)".*?<option value="(\d+)"', page.text, re.DOTALL))
        answer = self._http.post(str(page.url), data={"csrfmiddlewaretoken": csrf_token, **chosen, **fields})
        assert answer.is_success, answer.text
        return answer.text

    def token(self, site: str, *scopes: str) -> str:
        """Confirm the password, and create a token."""
        self.submit(f"{site}/tokens/new/", password=PASSWORD)
        page = self.submit(f"{site}/tokens/new/", name="Loop", scopes=[*scopes], days=1)
        [text] = {*re.findall(r"\bcr_[\w-]+", page)}
        return text


@contextmanager
def visiting(link: str, username: str) -> Iterator[Visitor]:
    """Open a browser for the length of the block."""
    with httpx2.Client(follow_redirects=True, timeout=60) as http:
        yield Visitor(http, link, username)


@contextmanager
def empty_site(folder: Path) -> Iterator[tuple[str, Receiver]]:
    """Run an empty site. Yield the link for its first admin, and a receiver of webhooks."""
    with receiver.running() as hooks:
        settings = environment(COGNIREVIEW_DATA_DIR=str(folder / "var"), COGNIREVIEW_WEBHOOK_HOSTS=hooks.host)
        command = ["up", f"--port={free_port()}"]
        with running_manage_py(command, folder / "up.log", settings) as process:
            process.wait_until(lambda: "/welcome/" in process.output(), seconds=300)
            [link] = re.findall(r"http\S+/welcome/\S+", process.output())
            yield link, hooks
            assert process.stop() == 0, process.output()


def write_large_file(path: Path, lines: int) -> None:
    """Write a file of so many lines, whose first records wait for people."""
    chance = random.Random(1)
    with path.open("wb") as file:
        for number in range(lines):
            raw = {"raw_content": chance.randbytes(LINE_BYTES // 2).hex()}
            is_flagged = number < FLAGGED
            status = NEEDS_REVIEW if is_flagged else NOT_REQUIRED
            values = {"needs_human_review": is_flagged, "human_review_status": status}
            values |= {"task_id": f"t{number}"}
            file.write(file_of(line(f"r{number}", raw_judge_output=raw, **values)))


def verify_offline(original: Path, exported: Path, receipt: Path) -> None:
    """Verify an export with its receipt, and that every record of the queue is decided in it."""
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_export", original, exported, "--receipt", receipt],
        cwd=BASE_DIR,
        env=environment(COGNIREVIEW_DATA_DIR=str(original.with_name("elsewhere"))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with exported.open("rb") as lines:
        decided = [json.loads(next(lines))["human_review_status"] for _ in range(FLAGGED)]
    assert {*decided} == {"Completed"}

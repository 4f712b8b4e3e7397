"""The whole loop with the client: from an empty site, which runs as real processes, to a verified webhook.

`LOOP_MEGABYTES=100 uv run --group dev pytest -m exhaustive tests/client/test_loop.py` imports 100 MB.
"""

import dataclasses
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from cognireview.client import Client, Retries, Run
from cognireview.client.types.people import Invitee, Role
from cognireview.client.types.records import Record, Saved
from cognireview.client.uploads import RESUMABLE_BYTES
from cognireview.environment import BASE_DIR
from reviews.accounts.api_tokens import SCOPES
from reviews.records.status import NEEDS_REVIEW, NOT_REQUIRED
from tests.support import receiver
from tests.support.cut_connection import cutting_proxy
from tests.support.lines import file_of, line
from tests.support.processes import environment, running_manage_py
from tests.support.receiver import Receiver
from tests.support.waiting import eventually, free_port
from tests.webhooks.test_deliveries import verify

pytestmark = pytest.mark.exhaustive

MEGABYTES = int(os.environ.get("LOOP_MEGABYTES", "9"))
LINE_BYTES = 100_000
LINES = MEGABYTES * 1_000_000 // LINE_BYTES
#: The records in the queue; two people review each. The other lines of the file make it large.
FLAGGED = 20
REVIEWERS = [f"reviewer{number}" for number in range(8)]
DISPUTED = "r0"
PASSWORD = "a long secret of everybody"
RUBRIC = """
[[criteria]]
name = "Clarity"
scale = { kind = "values", values = ["Yes", "Partial", "No"], pass_from = "Yes", partial_from = "Partial" }
"""


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


@pytest.fixture
def hooks() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with receiver.running() as running:
        yield running


@pytest.fixture
def site(tmp_path: Path, hooks: Receiver) -> Iterator[str]:
    """The link for the first admin of an empty site."""
    settings = environment(COGNIREVIEW_DATA_DIR=str(tmp_path / "var"), COGNIREVIEW_WEBHOOK_HOSTS=hooks.host)
    command = ["up", f"--port={free_port()}"]
    with running_manage_py(command, tmp_path / "up.log", settings) as process:
        process.wait_until(lambda: "/welcome/" in process.output(), seconds=300)
        [link] = re.findall(r"http\S+/welcome/\S+", process.output())
        yield link
        assert process.stop() == 0, process.output()


def write_large_file(path: Path) -> None:
    """Write a file whose first records wait for people."""
    chance = random.Random(1)
    with path.open("wb") as file:
        for number in range(LINES):
            raw = {"raw_content": chance.randbytes(LINE_BYTES // 2).hex()}
            is_flagged = number < FLAGGED
            status = NEEDS_REVIEW if is_flagged else NOT_REQUIRED
            values = {"needs_human_review": is_flagged, "human_review_status": status}
            values |= {"task_id": f"t{number}"}
            file.write(file_of(line(f"r{number}", raw_judge_output=raw, **values)))


def invite(admin: Client, site: str, name: str, role: Role) -> str:
    """Invite a person, who accepts in a browser, and return their token."""
    [invited] = admin.invitations.invite([Invitee(role=role, name=name)])
    with visiting(invited.url, name) as visitor:
        return visitor.token(site, "read", "review")


def decide(run: Run, record: Record, score: str) -> Saved:
    """Lock in a score before the judge's is shown, and decide."""
    assert record.is_blind
    shown = run.lock_in(record.evaluation_id, {"Clarity": score}, version=record.version)
    return run.decide(record.evaluation_id, {"Clarity": score}, version=shown.version)


def review(run: Run) -> int:
    """Review records until none is left, and return their number."""
    number = 0
    while record := run.claim():
        decide(run, record, "Yes")
        number += 1
    return number


def configure(run: Run) -> None:
    """Declare the rubric, and let two people review each record blind."""
    run.set_rubric(RUBRIC, seen=run.rubric().fingerprint)
    settings = run.settings()
    sampling = dataclasses.replace(settings.sampling, blind_share=1, overlap=2, overlap_share=1)
    run.set_sampling(sampling, seen=settings.fingerprint)


def import_over_bad_network(address: str, token: str, path: Path) -> None:
    """Import a file over a connection that is cut twice."""
    size = path.stat().st_size
    assert size > RESUMABLE_BYTES
    with (
        cutting_proxy(address, cuts=2, after=size // 3) as (bad_address, sent),
        Client(bad_address, token, retries=Retries(first_pause=0.1)) as client,
    ):
        imported = client.run("nightly").import_file(path)
        assert imported.wait().counts["new"] == LINES
    # The upload continued: all connections together carried little more than the file.
    assert len(sent) >= 3
    assert sum(sent) < 1.5 * size


def review_with_everybody(runs: list[Run]) -> None:
    """Let two reviewers differ on a record, and everybody review the others at the same time."""
    for run, score in zip(runs, ("Yes", "No"), strict=False):
        outcome = decide(run, run.claim_record(DISPUTED), score).outcome
    assert outcome == "disagreement"
    with ThreadPoolExecutor(len(runs)) as threads:
        assert sum(threads.map(review, runs)) == 2 * (FLAGGED - 1)


def adjudicate(lead: Client) -> None:
    """Decide the record on which reviewers differ."""
    [escalation] = lead.escalations.all("disagreement", run="nightly")
    assert escalation.evaluation_id == DISPUTED
    run = lead.run("nightly")
    run.claim_record(DISPUTED)
    assert {one.verdict for one in run.independent_reviews(DISPUTED)} == {"Pass", "Fail"}
    assert run.decide(DISPUTED, {"Clarity": "No"}, comments="A step is missing.").outcome == "current"


def export(run: Run, original: Path) -> None:
    """Export the run with a receipt, and verify both offline, as anybody can."""
    target, receipt = original.with_name("reviewed.jsonl"), original.with_name("receipt.json")
    exported = run.start_export()
    details = exported.wait()
    assert exported.download_to(target).sha256 == details.sha256
    exported.receipt_to(receipt)
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_export", original, target, "--receipt", receipt],
        cwd=BASE_DIR,
        env=environment(COGNIREVIEW_DATA_DIR=str(original.with_name("elsewhere"))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with target.open("rb") as lines:
        decided = [json.loads(next(lines))["human_review_status"] for _ in range(FLAGGED)]
    assert {*decided} == {"Completed"}


def test_client_does_the_whole_loop_from_an_empty_site(site: str, hooks: Receiver, tmp_path: Path) -> None:
    address = site.partition("/welcome/")[0]
    with visiting(site, "max") as visitor:
        token = visitor.token(address, *SCOPES)
    write_large_file(tmp_path / "evaluations.jsonl")
    with ExitStack() as opened:
        admin = opened.enter_context(Client(address, token))
        tokens = [invite(admin, address, "lea", "lead")]
        tokens += [invite(admin, address, name, "reviewer") for name in REVIEWERS]
        lead, *reviewers = [opened.enter_context(Client(address, token)) for token in tokens]
        assert [one.username for one in admin.people.all()] == ["lea", "max", *REVIEWERS]
        webhook = admin.webhooks.add(hooks.url, events=["run.reviewed"])

        importer = admin.tokens.create("Importer", ["import", "read"]).text
        import_over_bad_network(address, importer, tmp_path / "evaluations.jsonl")
        run = admin.run("nightly")
        configure(run)
        review_with_everybody([reviewer.run("nightly") for reviewer in reviewers])
        adjudicate(lead)

        assert run.details().done == FLAGGED
        export(run, tmp_path / "evaluations.jsonl")
        report = run.judge_report(require=["accuracy >= 0.5"])
        blind = next(one for one in report.judge_vs_human.ratings if one.basis == "blind")
        assert blind.ratings == 2 * FLAGGED
        assert report.requirements[0].estimate.n > 0
        assert admin.audit.check_chain().running is not None
        assert eventually(lambda: admin.audit.chain().last is not None)
        last = admin.audit.chain().last
        assert last
        assert (last.differences, last.error) == (0, "")
        assert eventually(lambda: hooks.received), admin.webhooks.deliveries(webhook.id)
        message = hooks.received[0]
        assert verify()(message.headers, message.body, webhook.secret)
        assert json.loads(message.body)["data"]["counts"]["done"] == FLAGGED

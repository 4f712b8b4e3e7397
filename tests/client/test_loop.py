"""The whole loop with the client: from an empty site, which runs as real processes, to a verified webhook.

`LOOP_MEGABYTES=100 uv run --group dev pytest -m exhaustive tests/client/test_loop.py` imports 100 MB.
"""

import dataclasses
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from cognireview.client import Client, Retries, Run
from cognireview.client.areas.run_files import RESUMABLE_BYTES
from cognireview.types.people import Invitee, Role
from cognireview.types.records import Record, Saved
from reviews.accounts.api_tokens import SCOPES
from tests.support.cut_connection import cutting_proxy
from tests.support.receiver import Receiver
from tests.support.waiting import eventually
from tests.support.whole_loop import (
    DISPUTED,
    FLAGGED,
    LINE_BYTES,
    REVIEWERS,
    empty_site,
    verify_offline,
    visiting,
    write_large_file,
)
from tests.webhooks.test_deliveries import verify

pytestmark = pytest.mark.exhaustive

MEGABYTES = int(os.environ.get("LOOP_MEGABYTES", "9"))
LINES = MEGABYTES * 1_000_000 // LINE_BYTES
RUBRIC = """
[[criteria]]
name = "Clarity"
scale = { kind = "values", values = ["Yes", "Partial", "No"], pass_from = "Yes", partial_from = "Partial" }
"""


@pytest.fixture
def running_site(tmp_path: Path) -> Iterator[tuple[str, Receiver]]:
    """The link for the first admin of an empty site, and its receiver of webhooks."""
    with empty_site(tmp_path) as running:
        yield running


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
    verify_offline(original, target, receipt)


def test_client_does_the_whole_loop_from_an_empty_site(
    running_site: tuple[str, Receiver], tmp_path: Path
) -> None:
    site, hooks = running_site
    address = site.partition("/welcome/")[0]
    with visiting(site, "max") as visitor:
        token = visitor.token(address, *SCOPES)
    write_large_file(tmp_path / "evaluations.jsonl", LINES)
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
        assert eventually(lambda: hooks.received), [*admin.webhooks.deliveries(webhook.id)]
        message = hooks.received[0]
        assert verify()(message.headers, message.body, webhook.secret)
        assert json.loads(message.body)["data"]["counts"]["done"] == FLAGGED

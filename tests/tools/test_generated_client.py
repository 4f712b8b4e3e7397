"""A client that openapi-python-client generates from our OpenAPI document does the whole loop.

The whole loop with our own client is in tests/client/test_loop.py.
"""

import hashlib
import importlib
import json
import sys
import uuid
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reviews.accounts.api_tokens import SCOPES
from tests.support.cut_connection import cutting_proxy
from tests.support.receiver import Receiver
from tests.support.waiting import eventually
from tests.support.whole_loop import (
    DISPUTED,
    FLAGGED,
    REVIEWERS,
    empty_site,
    verify_offline,
    visiting,
    write_large_file,
)
from tests.tools.installed import install, run
from tests.tools.versions import GENERATOR
from tests.webhooks.test_deliveries import verify

LINES = 60
PACKAGE = "cogni_review_client"
# The generator knows no other types of files.
CONFIGURATION = """
content_type_overrides:
  application/x-ndjson: application/octet-stream
  application/offset+octet-stream: application/octet-stream
  application/toml: application/octet-stream
  application/zip: application/octet-stream
  application/gzip: application/octet-stream
  application/zstd: application/octet-stream
  application/vnd.apache.parquet: application/octet-stream
"""


class Generated:
    """A generated client with a token, which is open until the end of a stack."""

    def __init__(self, address: str, token: str, opened: ExitStack) -> None:
        self._client = importlib.import_module(PACKAGE).AuthenticatedClient(base_url=address, token=token)
        opened.enter_context(self._client)
        self._opened = opened
        self._address = address
        self.models = importlib.import_module(f"{PACKAGE}.models")

    def with_token(self, token: str) -> "Generated":
        """Return a client of the same site with another token."""
        return Generated(self._address, token, self._opened)

    def send(self, operation: str, *path: object, **options: Any) -> Any:
        """Carry out an operation, such as `people.invite_people`, and return the response."""
        function = importlib.import_module(f"{PACKAGE}.api.{operation}").sync_detailed
        answer = function(*path, client=self._client, **options)
        assert answer.status_code < 400, answer.content
        return answer

    def ask(self, operation: str, *path: object, **options: Any) -> Any:
        """Carry out an operation, and return the object in its response."""
        return self.send(operation, *path, **options).parsed


@pytest.fixture(scope="module")
def running_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Receiver]]:
    """The link for the first admin of an empty site, and its receiver of webhooks."""
    with empty_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="module")
def generated(running_site: tuple[str, Receiver], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The output of the generator. Its client can be imported."""
    folder = tmp_path_factory.mktemp("generated")
    install("openapi-python-client", GENERATOR, folder / "packages")
    address = running_site[0].partition("/welcome/")[0]
    (folder / "openapi.json").write_bytes(httpx2.get(f"{address}/api/v1/openapi.json").content)
    (folder / "configuration.yml").write_text(CONFIGURATION)
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json"]
    options = ["--config", "configuration.yml", "--output-path", "client", "--meta", "none"]
    said = run([*command, *options], folder, PYTHONPATH=str(folder / "packages"))
    (folder / "client").rename(folder / PACKAGE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "path", [*sys.path, str(folder), str(folder / "packages")])
        yield said


def test_generator_understands_the_whole_document(generated: str) -> None:
    assert "WARNING" not in generated
    assert "Error" not in generated


def invite(admin: Generated, site: str, names: list[str], role: str) -> list[Generated]:
    """Invite people, who accept in a browser, and return a client for each."""
    models = admin.models
    people = [models.InviteeIn(role=models.InviteeInRole(role), name=name) for name in names]
    invited = admin.ask("people.invite_people", body=models.InvitationsIn(people=people))
    clients = []
    for name, invitation in zip(names, invited, strict=True):
        with visiting(invitation.url, name) as visitor:
            clients.append(admin.with_token(visitor.token(site, "read", "review")))
    return clients


def upload(admin: Generated, address: str, token: str, path: Path) -> Any:
    """Upload a file over a connection that is cut twice, and return its import."""
    size = path.stat().st_size
    named = {"filename": path.name, "run": "nightly"}
    metadata = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in named.items())
    version = importlib.import_module(f"{PACKAGE}.models").CreateUploadTusResumable("1.0.0")
    made = admin.send(
        "imports.create_upload", tus_resumable=version, upload_length=size, upload_metadata=metadata
    )
    place = made.headers["Location"]
    headers = {"Authorization": f"Bearer {token}", "Tus-Resumable": "1.0.0"}
    kind = "application/offset+octet-stream"
    with cutting_proxy(address, cuts=2, after=size // 3) as (bad_address, sent):
        offset = 0
        while offset < size:
            more = {"Upload-Offset": str(offset), "Content-Type": kind}
            with (
                httpx2.Client(base_url=bad_address, headers=headers) as http,
                suppress(httpx2.TransportError),
            ):
                http.patch(place, headers=more, content=path.read_bytes()[offset:])
            upload_id = place.rstrip("/").rpartition("/")[2]
            answer = admin.send("imports.check_upload", upload_id, tus_resumable=version)
            offset = int(answer.headers["Upload-Offset"])
    assert len(sent) >= 3
    import_id = admin.ask("imports.get_upload", upload_id).import_id
    assert eventually(lambda: admin.ask("imports.get_import", import_id).state == "done")
    return admin.ask("imports.get_import", import_id)


def configure(admin: Generated) -> None:
    """Declare the rubric, and let two people review each record blind."""
    models = admin.models
    scale = models.RubricScale(
        kind=models.RubricScaleKind.VALUES,
        values=["Yes", "Partial", "No"],
        pass_from="Yes",
        partial_from="Partial",
    )
    rubric = models.RubricIn(criteria=[models.RubricCriterion(name="Clarity", scale=scale)])
    assert admin.ask("runs.set_rubric", "nightly", body=rubric).is_declared
    settings = admin.ask("runs.get_run_settings", "nightly")
    values = settings.sampling.to_dict() | {"blind_share": 1, "overlap": 2, "overlap_share": 1}
    sampling = models.SamplingIn(**values, seen=settings.fingerprint)
    admin.ask("runs.set_sampling_settings", "nightly", body=sampling)


def decide(reviewer: Generated, record: Any, score: str) -> Any:
    """Lock in a score before the judge's is shown, and decide."""
    models, place = reviewer.models, ("nightly", record.evaluation_id)
    if record.is_blind:
        blind = models.BlindIn.from_dict({"scores": {"Clarity": score}, "version": record.version})
        record = reviewer.ask("review.lock_in_blind_scores", *place, body=blind)
    decision = models.DecisionIn.from_dict(
        {"corrected_scores": {"Clarity": {"score": score}}, "version": record.version}
    )
    key = str(uuid.uuid4())
    return reviewer.ask("review.submit_review", *place, body=decision, idempotency_key=key)


def review(reviewer: Generated) -> int:
    """Review records until none is left, and return their number."""
    number = 0
    while record := reviewer.ask("review.claim_next_record", "nightly", body=reviewer.models.ClaimIn()):
        decide(reviewer, record, "Yes")
        number += 1
    return number


def review_with_everybody(reviewers: list[Generated]) -> None:
    """Let two reviewers differ on a record, and everybody review the others at the same time."""
    for reviewer, score in zip(reviewers, ("Yes", "No"), strict=False):
        record = reviewer.ask(
            "review.claim_record", "nightly", DISPUTED, body=reviewer.models.ClaimRecordIn()
        )
        outcome = decide(reviewer, record, score).outcome
    assert outcome == "disagreement"
    with ThreadPoolExecutor(len(reviewers)) as threads:
        assert sum(threads.map(review, reviewers)) == 2 * (FLAGGED - 1)


def adjudicate(lead: Generated) -> None:
    """Decide the record on which reviewers differ."""
    models = lead.models
    kind = models.ListEscalationsKind.DISAGREEMENT
    [escalation] = lead.ask("escalations.list_escalations", kind=kind, run="nightly").escalations
    assert escalation.evaluation_id == DISPUTED
    record = lead.ask("review.claim_record", "nightly", DISPUTED, body=models.ClaimRecordIn())
    reviews = lead.ask("review.list_independent_reviews", "nightly", DISPUTED)
    assert {one.verdict for one in reviews} == {"Pass", "Fail"}
    assert decide(lead, record, "No").outcome == "current"


def export(admin: Generated, original: Path) -> None:
    """Export the run with a receipt, and verify both offline."""
    made = admin.ask("exports.create_export", "nightly", body=admin.models.ExportIn())
    assert eventually(lambda: admin.ask("exports.get_export", made.id).state == "done")
    content = admin.ask("exports.download_export", made.id).payload.read()
    assert hashlib.sha256(content).hexdigest() == admin.ask("exports.get_export", made.id).sha256
    answer = admin.send("exports.download_receipt", made.id)
    assert answer.parsed.output.size == len(content)
    target, receipt = original.with_name("reviewed.jsonl"), original.with_name("receipt.json")
    target.write_bytes(content)
    receipt.write_bytes(answer.content)
    verify_offline(original, target, receipt)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Closes the clients."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.usefixtures("generated")
def test_generated_client_does_the_whole_loop_from_an_empty_site(
    running_site: tuple[str, Receiver], opened: ExitStack, tmp_path: Path
) -> None:
    link, hooks = running_site
    site = link.partition("/welcome/")[0]
    with visiting(link, "max") as visitor:
        token = visitor.token(site, *SCOPES)
    admin = Generated(site, token, opened)
    [lead] = invite(admin, site, ["lea"], "lead")
    reviewers = invite(admin, site, REVIEWERS, "reviewer")
    people = admin.ask("people.list_people").people
    assert [one.username for one in people] == ["lea", "max", *REVIEWERS]
    wanted = admin.models.WebhookIn(url=hooks.url, events=[admin.models.WebhookInEventsItem("run.reviewed")])
    webhook = admin.ask("webhooks.add_webhook", body=wanted)

    path = tmp_path / "evaluations.jsonl"
    write_large_file(path, LINES)
    assert upload(admin, site, token, path).counts["new"] == LINES
    configure(admin)
    review_with_everybody(reviewers)
    adjudicate(lead)

    assert admin.ask("runs.read_run", "nightly").done == FLAGGED
    export(admin, path)
    report = admin.ask("runs.get_judge_report", "nightly", require=["accuracy >= 0.5"])
    blind = next(one for one in report.judge_vs_human.ratings if one.basis == "blind")
    assert blind.ratings == 2 * FLAGGED
    assert report.requirements[0].estimate.n > 0
    assert eventually(lambda: hooks.received)
    message = hooks.received[0]
    assert verify()(message.headers, message.body, webhook.secret)
    assert json.loads(message.body)["data"]["counts"]["done"] == FLAGGED

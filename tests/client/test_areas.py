"""The methods for leads and admins against the site, by area."""

import dataclasses
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from cognireview.client import (
    AsyncClient,
    Client,
    Conflict,
    ExportFailed,
    Forbidden,
    ImportFailed,
    NotFound,
    Retries,
)
from cognireview.client.received_file import Download
from cognireview.types.leading import BulkChange, Share
from cognireview.types.people import Invitee
from cognireview.types.records import DraftEntry
from reviews.accounts import api_tokens
from reviews.models import Export, Import, Run, StratumCount, User
from tests.support.factories import ExportFactory, RunFactory
from tests.support.gold import CLARITY, rated_records
from tests.support.lines import file_of, import_data, line
from tests.support.population import stratum
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def connect(person: User, live_server: LiveServer, *scopes: str) -> Client:
    token = api_tokens.create(person=person, scopes=scopes or [*api_tokens.SCOPES], actor=None).text
    return Client(live_server.url, token, retries=Retries(times=0))


def work() -> None:
    """Run the waiting jobs."""
    call_command("procrastinate", "worker", wait=False, listen_notify=False, concurrency=1)


@pytest.fixture
def of_max(live_server: LiveServer, max: User) -> Iterator[Client]:
    """A client of the admin, with a run of two records."""
    import_data(file_of(line("a"), line("b")), run="nightly")
    with connect(max, live_server) as client:
        yield client


@pytest.fixture
def of_ana(live_server: LiveServer, ana: User) -> Iterator[Client]:
    """A client of a reviewer."""
    with connect(ana, live_server, "read", "review") as client:
        yield client


def decide(client: Client, record: str, score: str = "No") -> None:
    run = client.run("nightly")
    run.claim_record(record)
    run.decide(record, {"Clarity": score})


def test_people_are_found_and_changed(of_max: Client, ana: User) -> None:
    assert [one.username for one in of_max.people.all()] == ["ana", "max"]
    assert [one.username for one in of_max.people.all(role="admin", state="active")] == ["max"]
    assert of_max.people.change_role("ana", "lead").role == "lead"
    assert not of_max.people.deactivate("ana").is_active
    assert of_max.people.reactivate("ana").is_active
    assert of_max.people.get("ana").role == "lead"
    assert {one.person for one in of_max.people.workloads()} >= {"ana"}
    with pytest.raises(NotFound):
        of_max.people.get("nobody")


def test_invitations_are_renewed_and_withdrawn(of_max: Client) -> None:
    invited = of_max.invitations.invite(
        [Invitee(role="reviewer", name="Eva"), Invitee(role="lead", name="Bo")]
    )
    assert [(one.role, one.name) for one in invited] == [("reviewer", "Eva"), ("lead", "Bo")]
    renewed = of_max.invitations.renew(invited[0].id)
    assert renewed.url != invited[0].url
    of_max.invitations.withdraw(invited[1].id)
    assert [one.id for one in of_max.invitations.all()] == [renewed.id]


def test_token_creates_a_token_that_allows_less(of_max: Client, live_server: LiveServer) -> None:
    made = of_max.tokens.create("Reader", ["read"], days=2)
    assert {one.name for one in of_max.tokens.all()} >= {"Reader"}
    with Client(live_server.url, made.text) as reader:
        assert reader.tokens.own().scopes == ["read"]
        with pytest.raises(Forbidden):
            reader.run("nightly").claim()
    of_max.tokens.revoke(made.id)
    assert "Reader" not in {one.name for one in of_max.tokens.all()}


def test_records_are_assigned_split_and_restored(of_max: Client, ana: User) -> None:
    bulk = of_max.run("nightly").bulk
    change = BulkChange(kind="assign", assigned_to="ana", filters={"model": ["openai/o4-mini"]})
    assert bulk.preview(change).evaluations == 2
    applied = bulk.apply(change)
    assert (applied.evaluations, applied.assigned_to) == (2, "ana")
    due = BulkChange(kind="due", due_on=dt.date(2030, 1, 31), evaluation_ids=["a"])
    assert bulk.apply(due).due_on == dt.date(2030, 1, 31)
    assert [one.kind for one in bulk.all()] == ["due", "assign"]
    assert bulk.undo(applied.id).restored == 2
    release = BulkChange(kind="release", filters={"claimed_by": "ana"})
    assert bulk.preview(release).evaluations == 0
    split = BulkChange(kind="split", shares=[Share("ana", 1)], keeps_tasks=False)
    assert bulk.preview(split).given == {"ana": 1}


def test_inbox_lists_and_dismisses_a_failed_job(of_max: Client, of_ana: Client, max: User) -> None:
    of_ana.run("nightly").escalate("a", kind="question", note="Is it 2?")
    failed = ExportFactory.create(state="failed", error="It broke.", created_by=max)
    overview = of_max.inbox.overview(run="nightly")
    assert (overview.counts["question"], overview.items[0].point) == (1, "Is it 2?")
    [item] = of_max.inbox.all("export")
    assert (item.id, item.can_retry) == (failed.pk, True)
    of_max.inbox.retry(item.place)
    Export.objects.update(state="failed")
    of_max.inbox.dismiss(item.place)
    assert [*of_max.inbox.all("export")] == []
    [question] = of_max.escalations.all(run="nightly")
    of_max.escalations.resolve(question.id, "returned", answer="Yes.")
    of_ana.escalations.mark_read(question.id)
    assert next(of_ana.escalations.own()).answer_read_at is not None


def test_spot_checks_are_drawn_and_completed(of_max: Client, of_ana: Client) -> None:
    decide(of_ana, "a")
    decide(of_ana, "b")
    first, second = of_max.spot_checks.draw("ana", 2, run="nightly", first=dt.date(2020, 1, 1))
    assert [one.id for one in of_max.spot_checks.all()] == [first.id, second.id]
    assert of_max.spot_checks.agree(first.id, note="Well done.").outcome == "agreed"
    corrected = of_max.spot_checks.correct(second.id, {"Clarity": "Yes"}, reason="It is.", comments="Clear.")
    assert corrected.outcome == "corrected"
    assert of_max.run("nightly").decisions(second.evaluation_id)[0].comments == "Clear."
    assert of_max.spot_checks.get(first.id).note == "Well done."
    import_data(file_of(line("c")), run="nightly")
    decide(of_ana, "c")
    [third] = of_max.spot_checks.select("nightly", ["a", "c"])
    assert of_max.spot_checks.reopen(third.id, reason="Look again.").outcome == "reopened"


def test_check_with_known_answers_is_started_and_ended(of_max: Client, of_ana: Client) -> None:
    Run.objects.update(overlap_share=1, overlap=2)
    checks = of_max.run("nightly").known_answers
    started = checks.start(1)
    assert (started.records, [one.id for one in checks.all()]) == (1, [started.id])
    assert checks.end(started.id).ended_at


def test_settings_views_and_plan_of_a_run(of_max: Client, of_ana: Client) -> None:
    run = of_max.run("nightly")
    before = run.settings()
    queue = dataclasses.replace(before.queue, claim_minutes=5, due_on=dt.date(2030, 1, 31))
    assert run.set_queue(queue).queue == queue
    wanted = dataclasses.replace(before.sampling, overlap=2, overlap_share=0.5)
    assert run.set_sampling(wanted, seen=before.fingerprint).sampling == wanted
    with pytest.raises(Conflict):
        run.set_sampling(wanted, seen=before.fingerprint)
    view = run.save_view("Unclear", is_shared=True, status="waiting", claimed_by="ana")
    assert view.query == "status=waiting&claimed-by=ana"
    assert [one.name for one in of_ana.run("nightly").views()] == ["Unclear"]
    run.remove_view(view.id)
    assert [*run.views()] == []
    stratum(RunFactory.create(name="planned"), {"Pass": 1_000})
    StratumCount.objects.update(answered=1_000)
    planned = of_max.run("planned")
    assert planned.plan(target=0.1, aim="parts").aim == "parts"
    served = planned.serve_plan(target=0.1, model="o1").served
    assert served
    assert (served.target, served.filters) == (0.1, {"model": "o1"})
    assert planned.stop_plan().served is None


def test_conflicts_with_a_file_are_resolved(of_max: Client, of_ana: Client) -> None:
    decide(of_ana, "a")
    theirs: dict[str, Any] = {"human_review_status": "Reviewed", "human_reviewer_id": "eva"}
    theirs |= {"human_corrected_scores": {"Clarity": {"score": "Yes"}}}
    import_data(file_of(line("a", **theirs)), run="nightly")
    run = of_max.run("nightly")
    [conflict] = run.conflicts()
    assert (conflict.ours.reviewer, conflict.theirs.reviewer) == ("ana", "eva")
    again = dataclasses.replace(conflict, id=conflict.id + 1)
    resolved = run.resolve_conflicts("theirs", [conflict, again])
    assert (resolved.resolved, [one.id for one in resolved.refused]) == (1, [again.id])
    assert [*run.conflicts()] == []


def test_draft_is_saved_read_and_discarded(of_max: Client, of_ana: Client) -> None:
    run = of_ana.run("nightly")
    run.claim_record("a")
    assert run.draft("a") is None
    saved = run.save_draft("a", [DraftEntry("Clarity", score="No")], revision=1, comments="Perhaps.")
    assert run.draft("a") == saved
    with pytest.raises(Conflict):
        run.save_draft("a", [], revision=1)
    run.discard_draft("a")
    assert run.draft("a") is None
    run.skip("a")
    action = run.last_action()
    assert action
    assert (action.action, action.evaluation_id) == ("skip", "a")


def test_gold_set_is_frozen_exported_and_imported(of_max: Client, ana: User, tmp_path: Path) -> None:
    rated_records(RunFactory.create(name="rated", rubric=rubric_data(CLARITY), blind_share=0), ana)
    run = of_max.run("rated")
    assert run.freeze_gold_set("gold").blind > 0
    assert of_max.gold_sets.export_to("gold", tmp_path / "gold.jsonl").size > 0
    assert of_max.gold_sets.import_file(tmp_path / "gold.jsonl", name="copy").is_imported
    assert of_max.gold_sets.rename("copy", "silver").name == "silver"
    assert run.measure_gold_set("silver").matched > 0
    of_max.gold_sets.delete("silver")
    assert [one.name for one in of_max.gold_sets.all()] == ["gold"]


def test_audit_log_is_read_from_a_position_and_checked(of_max: Client, tmp_path: Path) -> None:
    entries = [*of_max.audit.entries()]
    later = [*of_max.audit.entries(after=entries[0]["position"])]
    assert later == entries[1:]
    assert of_max.audit.export_to(tmp_path / "audit.jsonl", run="nightly").size > 0
    events = [*of_max.audit.events(run="nightly", since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))]
    assert {one.run_name for one in events} == {"nightly"}
    assert of_max.audit.check_chain().running is not None
    work()
    last = of_max.audit.chain().last
    assert last
    assert (last.differences, last.error) == (0, "")


def test_export_is_built_in_another_format_with_a_receipt(
    of_max: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = of_max.run("nightly")
    export = run.start_export(only="all", file_format="csv", compression="gzip")
    work()
    assert export.wait().state == "done"
    file = export.download_to(tmp_path / "nightly.csv.gz")
    assert file.sha256 == export.details.sha256
    export.receipt_to(tmp_path / "receipt.json")
    assert json.loads((tmp_path / "receipt.json").read_text())
    another = run.start_export()
    assert another.cancel().is_being_cancelled or another.details.state == "cancelled"
    Export.objects.filter(pk=another.id).update(state="cancelled")
    with pytest.raises(ExportFailed):
        of_max.get_export(another.id).wait()
    assert [one.id for one in run.exports()] == [another.id, export.id]
    assert run.independent_reviews_to(tmp_path / "reviews.jsonl").size == 0
    assert run.few_shot_to(tmp_path / "examples.jsonl").size == 0


def test_asynchronous_client_imports_reads_and_exports(
    live_server: LiveServer, max: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cognireview.client.areas.run_files.RESUMABLE_BYTES", 100)
    (tmp_path / "a.jsonl").write_bytes(file_of(line("a"), line("b"), b"{}"))
    token = api_tokens.create(person=max, scopes=[*api_tokens.SCOPES], actor=None).text

    async def send() -> int:
        async with AsyncClient(live_server.url, token) as client:
            return (await client.run("nightly").import_file(tmp_path / "a.jsonl")).id

    async def read(import_id: int) -> tuple[int, list[int], list[str], Download]:
        async with AsyncClient(live_server.url, token) as client:
            imported = await client.get_import(import_id)
            details = await imported.wait()
            rejected = [rejected.line async for rejected in imported.rejects()]
            run = client.run("nightly")
            records = [record.evaluation_id async for record in run.records(status="waiting")]
            return details.counts["new"], rejected, records, await run.export_to(tmp_path / "out.jsonl")

    import_id = anyio.run(send)
    work()
    new, rejected, records, exported = anyio.run(read, import_id)
    assert (new, rejected, sorted(records)) == (2, [3], ["a", "b"])
    assert exported.path.read_bytes() == file_of(line("a"), line("b"))


def test_import_is_cancelled_retried_and_moved_to_a_new_run(of_max: Client) -> None:
    run = of_max.run("nightly")
    sent = run.import_records([json.loads(line("c"))], file_name="c.jsonl")
    assert sent.cancel().state == "cancelled"
    Import.objects.filter(pk=sent.id).update(state="failed")
    assert sent.retry().state == "queued"
    work()
    assert sent.wait().counts["new"] == 1
    assert [*sent.rejects()] == [*sent.exceptions()] == []
    assert next(run.imports()).id == sent.id
    scores = {"Clarity": {"score": "No", "justification": "Unclear."}}
    other = run.import_file(line("a", judge_llm_model="another/judge", parsed_rubric_scores=scores))
    work()
    with pytest.raises(ImportFailed):
        other.wait()
    assert other.details.of_other_judge == 1
    moved = other.as_new_run("other judge")
    work()
    assert moved.wait().run == "other judge"

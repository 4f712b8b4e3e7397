"""Methods of the client for imports and exports, against the site."""

import json
from pathlib import Path

import anyio
import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import AsyncClient, Client, ExportFailed, ImportFailed
from cognireview.client.received_file import Download
from reviews.accounts import api_tokens
from reviews.models import Export, Import, User
from tests.support.jobs import work
from tests.support.lines import file_of, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


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

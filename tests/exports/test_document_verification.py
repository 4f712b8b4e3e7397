"""Verification of exports whose files are JSON documents."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from reviews.exports import documents
from reviews.exports.documents import InvalidExport
from reviews.exports.jsonl import Form
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.verify_receipt import verify_files
from reviews.imports import importer
from reviews.maintenance.repair import repair_import
from reviews.maintenance.verify_run import VerificationCounts, verify_run
from reviews.models import Evaluation, SourceChunk, User
from reviews.records import mapping
from reviews.records.schema import Limits
from tests.support.commands import Capture, manage
from tests.support.documents import HOW, bring, document, exported, run, without_decisions
from tests.support.lines import export_data
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestSeveralFiles:
    @pytest.mark.slow
    def test_grown_document_is_exported_as_it_is_now(self, ana: User) -> None:
        bring(document("a", "b"))
        decide(Evaluation.objects.get(evaluation_id="eval-1/a"), ana)
        grown = document("a", "b", "c", config={"judge": "gpt-4.1", "note": "more"})
        again = bring(grown, name="again.json")
        assert (again.new, again.unchanged) == (1, 2)
        assert without_decisions(exported()) == json.loads(grown)
        assert json.loads(exported())["results"]["results"][0]["human_reviewer_id"] == "ana"

    @pytest.mark.slow
    def test_same_document_and_its_export_are_unchanged(self, ana: User) -> None:
        data = document("a", "b")
        bring(data)
        assert bring(data).unchanged == 2
        decide(Evaluation.objects.get(evaluation_id="eval-1/a"), ana)
        given = exported()
        assert bring(given).unchanged == 2
        assert exported() == given

    @pytest.mark.slow
    def test_export_in_a_new_run_keeps_its_decisions(self, ana: User) -> None:
        bring(document("a", "b"))
        decide(Evaluation.objects.get(evaluation_id="eval-1/a"), ana)
        given = exported()
        with transaction.atomic():
            importer.import_stream(
                blocks=[given], run_name="other", file_name="x.json", actor=None, mapping=HOW
            )
        record = Evaluation.objects.get(run__name="other", evaluation_id="eval-1/a")
        assert (record.human_review_status, record.human_reviewer_id) == ("Completed", "ana")
        assert export_data(run="other", form=Form.DOCUMENT) == given

    @pytest.mark.slow
    def test_other_document_makes_the_export_lines(self) -> None:
        bring(document("a"))
        bring(document("a", evalId="eval-2"))
        assert documents.imported_format(run(), None) == "jsonl"
        with pytest.raises(InvalidExport, match="not a document with all of its records"):
            ExportOptions(run(), format="json").check()
        assert len(export_data(run="promptfoo").splitlines()) == 2
        first = run().files[0]
        assert documents.imported_format(run(), first) == "json"
        assert exported(only_import=first) == document("a")

    @pytest.mark.slow
    def test_changed_value_of_the_document_updates_its_records(self) -> None:
        bring(document("a"))
        again = bring(document("a", config={"judge": "gpt-5"}).replace(b"0.92", b"0.920"))
        assert (again.updated, Evaluation.objects.get().judge_llm_model) == (1, "gpt-5")

    def test_lines_with_the_same_mapping_are_read_as_members(self) -> None:
        how = mapping.mapping_from_json(
            HOW.as_json() | {"fields": dict(HOW.fields) | {"evaluation_id": "id"}}
        )
        plain = mapping.mapping_from_json(
            how.as_json()
            | {"fields": dict(how.fields) | {"judge_llm_model": "'j'", "created_at": "$received_at"}}
        )
        done = bring(b'{"id": "a", "score": 1}\n{"id": "b", "score": 2}\n', plain)
        assert (done.new, done.records_path) == (2, None)


class TestIntegrity:
    @pytest.mark.slow
    def test_document_is_verified_and_repaired(self) -> None:
        data = document("a", "b")
        done = bring(data)
        assert list(verify_run(run(), VerificationCounts())) == []
        SourceChunk.objects.filter(source=done, number=-1).delete()
        [fault, *_] = verify_run(run(), VerificationCounts())
        assert "the text around its list of records is missing" in str(fault)
        repair_import(import_id=done.pk, blocks=[data])
        assert list(verify_run(run(), VerificationCounts())) == []
        assert exported() == data

    def test_changed_text_around_the_list_is_found(self) -> None:
        done = bring(document("a"))
        chunk = SourceChunk.objects.get(source=done, number=-2)
        other = bring(document("a", evalId="eval-2"))
        changed = SourceChunk.objects.get(source=other, number=-2)
        SourceChunk.objects.filter(pk=chunk.pk).delete()
        SourceChunk.objects.create(
            source=done, number=-2, first_line=0, lines=0, size=changed.size, frame=changed.frame
        )
        assert any("SHA-256" in str(fault) for fault in verify_run(run(), VerificationCounts()))


class TestVerification:
    @pytest.fixture
    def original(self, tmp_path: Path, ana: User) -> Path:
        path = tmp_path / "original.json"
        path.write_bytes(document("a", "b", "c"))
        bring(path.read_bytes())
        decide(Evaluation.objects.get(evaluation_id="eval-1/b"), ana)
        return path

    def verified(self, original: Path, data: bytes, receipt: dict[str, Any] | None = None) -> Any:
        path = original.with_name("exported.json")
        path.write_bytes(data)
        return verify_files(receipt, [original], path, Limits(), mapping=HOW)

    def test_export_differs_in_human_values_alone(self, original: Path) -> None:
        result = self.verified(original, exported())
        assert (result.identical, result.changed, result.problems) == (2, 1, [])
        assert self.verified(original, export_data(run="promptfoo")).problems == []

    @pytest.mark.parametrize(
        ("before", "after", "problem"),
        [
            (b'"judge": "gpt-4.1"', b'"judge": "gpt-4.2"', "the text around the records differs"),
            (b"0.92", b"0.93", "in more than human_* values"),
            (b"},\n      {", b"},\n{", "the space between the records differs"),
        ],
    )
    def test_other_difference_is_found(
        self, original: Path, before: bytes, after: bytes, problem: str
    ) -> None:
        data = exported()
        assert before in data
        result = self.verified(original, data.replace(before, after, 1))
        assert any(problem in found for found in result.problems)

    @pytest.mark.parametrize("only", ["all", "reviewed"])
    def test_receipt_matches_the_document(self, original: Path, only: str) -> None:
        output = ExportOutput(ExportOptions(run(), only=only, format="json"))
        data = b"".join(output)
        receipt = json.loads(b"".join(output.receipt("exported.json")))
        assert receipt["output"]["lines"] + receipt["lines_left_out"] == 3
        result = self.verified(original, data, receipt)
        assert (result.problems, result.changed) == ([], 1)

    def test_commands_export_and_verify_a_document(self, original: Path, capsysbinary: Capture) -> None:
        toml = original.with_name("how.toml")
        toml.write_text(
            'records = "results.results"\n[fields]\nevaluation_id = "join(\'/\', [$doc.evalId, id])"\n'
            'judge_llm_model = "$doc.config.judge"\njudge_prompt_template_path = "\'prompt\'"\n'
            'created_at = "$doc.results.timestamp"\n[[criteria]]\nname = "\'Rating\'"\nscore = "score"\n'
        )
        target = original.with_name("reviewed.json")
        done = manage(capsysbinary, "export_run", "promptfoo", "-o", str(target))
        assert done.status == 0
        receipt = str(target) + ".receipt.json"
        done = manage(
            capsysbinary,
            "verify_export",
            str(original),
            str(target),
            "--receipt",
            receipt,
            "--map",
            str(toml),
        )
        assert (done.status, done.out.startswith(b"2 identical, 1 changed")) == (0, True)

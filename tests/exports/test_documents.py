"""Documents of other tools come back byte for byte, with human_* keys in the reviewed members."""

import gzip
import json

import pytest

from reviews.exports import documents, jobs
from reviews.exports.jsonl import Form
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.imports import jobs as import_jobs
from reviews.models import Evaluation, Import, User
from reviews.storage.errors import ImportRefused
from reviews.storage.line_reader import stored_line
from tests.support.documents import AROUND, HOW, bring, document, exported, run, without_decisions
from tests.support.lines import export_data, import_data, line
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestExport:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_document_without_decisions_is_exported_byte_for_byte(self, indent: int | None) -> None:
        data = b"\xef\xbb\xbf" + document("a", "b", "c", indent=indent).replace(b"\n", b"\r\n") + b"\r\n"
        done = bring(data)
        assert (done.lines, done.new, done.records_path) == (3, 3, "results.results")
        assert exported() == exported(only_import=done) == data
        record = Evaluation.objects.get(evaluation_id="eval-1/b")
        assert (record.judge_llm_model, record.created_at.year) == ("gpt-4.1", 2026)

    def test_decision_adds_human_keys_to_its_member_alone(self, ana: User) -> None:
        data = document("a", "b", "c")
        bring(data)
        decide(Evaluation.objects.get(evaluation_id="eval-1/b"), ana)
        given = exported()
        assert without_decisions(given) == json.loads(data)
        assert json.loads(given)["results"]["results"][1]["human_reviewer_id"] == "ana"
        before, after = data.split(b'"b",', 1)
        assert given.startswith(before)
        assert given.endswith(after[after.index(b'"id": "c"') :])
        # In the layout of the member.
        assert b'\n        "human_reviewer_id": "ana",\n' in given

    def test_reviewed_members_alone_are_a_document(self, ana: User) -> None:
        data = document("a", "b", "c")
        bring(data)
        for name in ("b", "c"):
            decide(Evaluation.objects.get(evaluation_id=f"eval-1/{name}"), ana)
        found = json.loads(exported(only="reviewed"))
        assert [member["id"] for member in found["results"]["results"]] == ["b", "c"]
        assert found["config"] == AROUND["config"]

    def test_rejected_members_stay_in_the_document(self) -> None:
        data = document("a", "b").replace(b'"id": "a"', b'"id": NaN') + b"\n"
        done = bring(data)
        assert (done.new, done.rejected) == (1, 1)
        assert exported() == data

    @pytest.mark.slow
    def test_repeated_keys_of_a_member_are_kept(self, ana: User) -> None:
        data = document("a", "b").replace(b'"score": 0.92', b'"score": 1e0, "score":9.20e-1', 1)
        bring(data)
        assert exported() == data
        decide(Evaluation.objects.get(evaluation_id="eval-1/a"), ana)
        assert b'"score": 1e0, "score":9.20e-1' in exported()

    @pytest.mark.slow
    def test_array_is_exported_as_array(self, ana: User) -> None:
        data = b"[\n  %b,\n  17,\n  %b\n]\n" % (line("e-1"), line("e-2"))
        import_data(data)
        assert export_data(form=Form.DOCUMENT) == data
        decide(Evaluation.objects.get(evaluation_id="e-1"), ana)
        first, seventeen, second = json.loads(export_data(form=Form.DOCUMENT))
        assert (first["human_reviewer_id"], seventeen, second) == ("ana", 17, json.loads(line("e-2")))

    def test_compressed_document_is_exported_decompressed(self) -> None:
        data = document("a")
        done = bring(gzip.compress(data))
        assert exported() == data
        assert done.sums.text_sha256

    def test_lines_of_a_document_are_its_members_on_one_line(self, ana: User) -> None:
        bring(document("a", "b"))
        decide(Evaluation.objects.get(evaluation_id="eval-1/b"), ana)
        first, second = export_data(run="promptfoo").splitlines(keepends=True)
        assert first == b'{"id": "a", "score": 0.92, "why": "A, [b]"}\n'
        assert json.loads(second)["human_review_status"] == "Completed"
        assert b"\r" not in second

    def test_stored_line_of_a_member_is_on_one_line(self) -> None:
        bring(document("a", "b"))
        record = Evaluation.objects.get(evaluation_id="eval-1/b")
        assert stored_line(record) == b'{"id": "b", "score": 0.92, "why": "A, [b]"}'

    def test_table_has_values_of_the_document(self) -> None:
        bring(document("a"))
        [_, row] = b"".join(ExportOutput(ExportOptions(run(), format="csv"))).splitlines()
        assert b'"eval-1/a"' in row
        assert b'"gpt-4.1"' in row


class TestUpload:
    def test_uploaded_document_is_read_after_its_end(self, ana: User) -> None:
        data = document("a", "b")
        upload = import_jobs.enqueue_import(
            run_name="promptfoo",
            file_name="results.json",
            blocks=[data],
            strict=False,
            actor=ana,
            mapping=HOW,
        )
        import_jobs.import_upload(import_id=upload.pk)
        assert Evaluation.objects.get(evaluation_id="eval-1/b").judge_llm_model == "gpt-4.1"
        assert exported() == data

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (
                document("a").replace(b'"results": [', b'"tests": ['),
                "without a list at `results.results`. It has",
            ),
            (document("a")[:-3], "The JSON document around its list at `results.results` is not JSON"),
            (document("a").partition(b"0.92")[0], "the list at `results.results` breaks off in element 1"),
            (document(), "The file is empty"),
        ],
    )
    def test_other_document_is_refused(self, ana: User, data: bytes, reason: str) -> None:
        with pytest.raises(ImportRefused) as caught:
            import_jobs.enqueue_import(
                run_name="promptfoo", file_name="x", blocks=[data], strict=False, actor=ana, mapping=HOW
            )
        assert reason in str(caught.value)
        assert not Import.objects.exists()


@pytest.mark.slow
def test_finished_export_is_named_like_a_document(ana: User) -> None:
    bring(document("a"))
    options = ExportOptions(run(), format=documents.imported_format(run(), None))
    assert options.file_name == "promptfoo.json"
    export = jobs.enqueue(options=options, actor=ana)
    jobs.build(export_id=export.pk)
    export.refresh_from_db()
    assert (export.state, export.format) == ("done", "json")

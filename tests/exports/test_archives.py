"""Archives of other tools come back with the same files, with human_* keys in the reviewed records."""

import io
import json
import struct
import zipfile
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import zstandard
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from reviews.exports import documents
from reviews.exports.documents import InvalidExport
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.verify_receipt import verify_files
from reviews.imports import importer
from reviews.imports.recognition import ToolRecognised
from reviews.imports.shipped_mappings import BY_NAME
from reviews.maintenance.repair import repair_import
from reviews.maintenance.verify_run import VerificationCounts, verify_run
from reviews.models import Evaluation, Import, Run, User
from reviews.records import mapping
from reviews.records.mapping import FieldMapping, MappingError
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.runs.reread import RereadRefused, reread_run
from reviews.storage.errors import ImportRefused
from reviews.storage.source_text import SourceText
from reviews.storage.zip_archive import ZipArchive
from tests.support.lines import export_data, file_of, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

HOW = mapping.mapping_from_json(
    {
        "records": "samples",
        "archive": {"records": "samples/*.json", "document": "header.json"},
        "fields": {
            "evaluation_id": "join('/', [$doc.eval.run_id, id, to_string(epoch)])",
            "judge_llm_model": "$doc.eval.judge",
            "judge_prompt_template_path": "'prompt'",
            "created_at": "$doc.eval.created",
        },
        "criteria": [{"name": "'match'", "score": "score"}],
    }
)
EVAL = {"run_id": "r1", "judge": "gpt-4.1", "created": "2026-11-20T10:00:00Z"}
HEADER = {
    "eval": EVAL,
    "stderr": float("nan"),
}
ZSTD = 93


def sample(name: str, **values: Any) -> dict[str, Any]:
    return {"id": name, "epoch": 1, "score": "C", "text": "a\nb", **values}


def files_of(*samples: dict[str, Any], indent: int | None = 2) -> dict[str, bytes]:
    """Return the files of a log in the order in which it is written."""
    records = {
        f"samples/{one['id']}_epoch_1.json": json.dumps(one, indent=indent).encode() for one in samples
    }
    return {
        "_journal/start.json": b'{"version": 2}\r\n',
        **records,
        "summaries.json": b"[]",
        "header.json": json.dumps(HEADER, indent=indent).encode(),
    }


def packed(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 11, 20, 10, 0, 2))
            info.compress_type = zipfile.ZIP_STORED if method == ZSTD else method
            archive.writestr(info, zstandard.compress(content) if method == ZSTD else content)
    return as_zstd(out.getvalue(), files) if method == ZSTD else out.getvalue()


def as_zstd(data: bytes, files: dict[str, bytes]) -> bytes:
    """Return an archive whose stored files are zstd frames, with the entries of such files."""
    found = bytearray(data)
    with ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            content = files[info.filename]
            sizes = struct.pack("<III", zlib.crc32(content), info.compress_size, len(content))
            found[info.header_offset + 8 : info.header_offset + 10] = struct.pack("<H", ZSTD)
            found[info.header_offset + 14 : info.header_offset + 26] = sizes
            at = found.index(b"PK\x01\x02", 0)
            while found[at + 46 : at + 46 + len(info.filename)] != info.filename.encode():
                at = found.index(b"PK\x01\x02", at + 1)
            found[at + 10 : at + 12] = struct.pack("<H", ZSTD)
            found[at + 16 : at + 28] = sizes
    return bytes(found)


def unpacked(data: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bring(data: bytes, how: FieldMapping | None = HOW) -> Import:
    blocks = [data[start : start + 1000] for start in range(0, len(data), 1000)]
    with transaction.atomic():
        return importer.import_stream(
            blocks=blocks, run_name="inspect", file_name="2026_math.eval", actor=None, mapping=how
        )


def run() -> Run:
    return Run.objects.get(name="inspect")


def exported(**options: Any) -> bytes:
    return b"".join(ExportOutput(ExportOptions(run(), format="zip", **options)))


class TestExport:
    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, ZSTD])
    @pytest.mark.parametrize("indent", [None, 2])
    def test_archive_without_decisions_has_the_same_files(self, method: int, indent: int | None) -> None:
        files = files_of(sample("a"), sample("x/b"), sample("c"), indent=indent)
        done = bring(packed(files, method=method))
        assert (done.lines, done.new, done.records_path) == (3, 3, "samples/*.json")
        found = exported()
        assert list(unpacked(found).items()) == list(files.items())
        with ZipFile(io.BytesIO(found)) as archive:
            assert {info.date_time for info in archive.infolist()} == {(2026, 11, 20, 10, 0, 2)}
        record = Evaluation.objects.get(evaluation_id="r1/x/b/1")
        assert (record.judge_llm_model, record.first_line) == ("gpt-4.1", 2)

    def test_decision_adds_human_keys_to_its_file_alone(self, ana: User) -> None:
        files = files_of(sample("a"), sample("b"))
        bring(packed(files))
        decide(Evaluation.objects.get(evaluation_id="r1/b/1"), ana)
        found = unpacked(exported())
        changed = json.loads(found.pop("samples/b_epoch_1.json"))
        assert changed["human_reviewer_id"] == "ana"
        assert {key: value for key, value in changed.items() if key not in HUMAN_FIELDS} == sample("b")
        assert found == {name: content for name, content in files.items() if "b_epoch" not in name}

    @pytest.mark.slow
    def test_rejected_and_large_files_stay(self) -> None:
        files = files_of(sample("a"), sample("b"), sample("big", text="x" * 3_000_000))
        files["samples/b_epoch_1.json"] = b'{"id": NaN}\n'
        done = bring(packed(files))
        assert (done.new, done.rejected, done.chunks.count()) == (2, 1, 4)
        assert unpacked(exported()) == files

    @pytest.mark.slow
    def test_export_again_is_unchanged(self, ana: User) -> None:
        bring(packed(files_of(sample("a"), sample("b"))))
        decide(Evaluation.objects.get(evaluation_id="r1/a/1"), ana)
        found = exported()
        assert bring(found).unchanged == 2
        assert unpacked(exported()) == unpacked(found)

    @pytest.mark.slow
    def test_reviewed_records_alone_are_lines(self, ana: User) -> None:
        bring(packed(files_of(sample("a"), sample("b"))))
        decide(Evaluation.objects.get(evaluation_id="r1/a/1"), ana)
        assert documents.imported_format(run(), None) == "zip"
        assert documents.imported_format(run(), None, "reviewed") == "jsonl"
        with pytest.raises(InvalidExport, match="with all of its files"):
            ExportOptions(run(), only="reviewed", format="zip").check()
        with pytest.raises(InvalidExport, match="not of the format json"):
            ExportOptions(run(), format="json").check()
        [reviewed] = export_data(run="inspect", only="reviewed").splitlines()
        assert json.loads(reviewed)["human_reviewer_id"] == "ana"

    def test_exported_file_has_the_ending_of_the_tool(self) -> None:
        bring(packed(files_of(sample("a"))))
        assert ExportOptions(run(), format="zip").file_name == "inspect.eval"

    @pytest.mark.parametrize("name", ["nightly.jsonl", "log.json", "log.csv", "log.eval.gz", "log"])
    def test_archive_that_was_sent_under_another_name_is_exported_as_zip(self, name: str) -> None:
        """The API names a file without a name after its run: `nightly.jsonl`."""
        bring(packed(files_of(sample("a"))))
        Import.objects.update(file_name=name)
        assert ExportOptions(run(), format="zip").file_name == "inspect.zip"

    def test_log_as_json_is_read_by_the_same_mapping(self) -> None:
        log = {**HEADER, "stderr": 0, "samples": [sample("a")]}
        done = bring(json.dumps(log).encode())
        assert (done.new, done.is_archive) == (1, False)
        assert Evaluation.objects.get().evaluation_id == "r1/a/1"

    @pytest.mark.slow
    def test_archive_is_verified_and_repaired(self) -> None:
        data = packed(files_of(sample("a")))
        done = bring(data)
        assert list(verify_run(run(), VerificationCounts())) == []
        done.chunks.filter(number=-2).delete()
        assert list(verify_run(run(), VerificationCounts()))
        repair_import(import_id=done.pk, blocks=[data])
        assert list(verify_run(run(), VerificationCounts())) == []


class TestVerification:
    @pytest.mark.slow
    def test_export_and_its_receipt_are_verified(self, tmp_path: Path, ana: User) -> None:
        original, target = tmp_path / "a.eval", tmp_path / "reviewed.eval"
        original.write_bytes(packed(files_of(sample("a"), sample("b")), method=ZSTD))
        bring(original.read_bytes())
        decide(Evaluation.objects.get(evaluation_id="r1/b/1"), ana)
        output = ExportOutput(ExportOptions(run(), format="zip"))
        target.write_bytes(b"".join(output))
        receipt = json.loads(b"".join(output.receipt("reviewed.eval")))
        result = verify_files(receipt, [original], target, Limits(), mapping=HOW)
        assert (result.identical, result.changed, result.problems) == (1, 1, [])
        files = unpacked(target.read_bytes())
        target.write_bytes(packed(files | {"header.json": files["header.json"].replace(b"4.1", b"4.2")}))
        result = verify_files(None, [original], target, Limits(), mapping=HOW)
        assert result.problems == ["the text around the records differs"]


class TestRefusal:
    def refusal(self, data: bytes, **options: Any) -> str:
        with pytest.raises(ImportRefused) as caught:
            list(SourceText([data], most=options.pop("most", 2**40), **options))
        return str(caught.value)

    def test_archive_of_several_files_needs_a_mapping(self) -> None:
        data = packed(files_of(sample("a")))
        assert "a ZIP archive of 4 files: '_journal/start.json', 'samples/a" in self.refusal(data)
        assert "None is named like `x*`" in self.refusal(data, archives=("x*",))

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTD])
    def test_archive_of_one_file_is_that_file(self, method: int) -> None:
        lines = file_of(line("e-1"), line("e-2"))
        text = SourceText([packed({"evaluations.jsonl": lines}, method=method)], most=2**40)
        assert (b"".join(text), text.path) == (lines, None)

    @pytest.mark.parametrize("place", [-1, 60])
    def test_damaged_archive_is_refused(self, place: int) -> None:
        data = packed({"a.jsonl": file_of(line("e-1"))})
        end = len(data) - 22 if place == -1 else place
        broken = data[:end] if place == -1 else data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert "damaged" in self.refusal(broken) or "ZIP" in self.refusal(broken)

    @pytest.mark.slow
    @given(st.lists(st.tuples(st.integers(4), st.integers(0, 255)), min_size=1, max_size=4))
    def test_archive_with_any_other_bytes_is_read_or_refused(self, changes: list[tuple[int, int]]) -> None:
        data = bytearray(packed({"samples/a": b'{"a": 1}', "samples/b": b"{}", "header.json": b"{}"}))
        for place, byte in changes:
            data[place % len(data)] = byte
        with suppress(ImportRefused):
            list(SourceText([bytes(data)], most=10**6, archives=("samples/*",), limits=Limits()))

    @pytest.mark.parametrize("change", [(42, b"\xff" * 4), (28, b"\0\0")])
    def test_impossible_directory_is_refused(self, change: tuple[int, bytes]) -> None:
        data, (place, value) = bytearray(packed({"a": b"abc"})), change
        entry = data.index(b"PK\x01\x02") + place
        data[entry : entry + len(value)] = value
        assert "damaged" in self.refusal(bytes(data))

    def test_wrong_checksum_is_refused(self) -> None:
        data = packed({"a.jsonl": b"abc"}, method=zipfile.ZIP_STORED)
        assert "The file 'a.jsonl' of the ZIP archive is damaged" in self.refusal(
            data.replace(b"abc", b"abd", 1)
        )

    def test_encrypted_archive_and_unknown_compression_are_refused(self) -> None:
        data = bytearray(packed({"a.jsonl": b"abc"}))
        entry = data.index(b"PK\x01\x02")
        data[entry + 8] |= 1
        assert "is encrypted" in self.refusal(bytes(data))
        data[entry + 8], data[entry + 10] = 0, 12
        assert "has a compression that is not known here" in self.refusal(bytes(data))

    def test_decompression_bomb_is_stopped_at_the_limit(self) -> None:
        data = packed({"a.jsonl": bytes(3_000_000)})
        assert "COGNIREVIEW_MAX_UNPACKED_BYTES" in self.refusal(data, most=2_999_999)

    def test_files_besides_the_records_have_a_limit(self) -> None:
        data = packed(files_of(sample("a")) | {"other.txt": bytes(10_000)})
        options = {"archives": ("samples/*.json",)}
        assert "more than 800 bytes besides its records" in self.refusal(
            data, limits=Limits(line_bytes=100), **options
        )

    def test_workbook_is_named(self) -> None:
        assert "an Excel workbook" in self.refusal(packed({"xl/workbook.xml": b"", "b": b""}))


def test_archive_part_of_a_mapping_is_checked_and_stored() -> None:
    assert mapping.mapping_from_json(HOW.as_json()) == HOW
    with pytest.raises(MappingError) as caught:
        mapping.mapping_from_json(HOW.as_json() | {"archive": {"document": "a", "files": "b"}})
    assert str(caught.value) == "archive.files: is not one of records, document; archive.records: is missing"


INSPECT = {
    "id": 1,
    "epoch": 1,
    "input": "What is 1 + 1?",
    "target": "2",
    "output": {"completion": "3", "model": "mockllm/model"},
    "scores": {"match": {"value": "I", "explanation": "Not 2."}},
}


class TestRecognition:
    def log(self, **values: Any) -> bytes:
        samples = {f"samples/{n}_epoch_1.json": json.dumps(INSPECT | {"id": n} | values) for n in range(4)}
        header = {
            "eval": {"eval_id": "e1", "task": "sums", "model": "mockllm/model", "created": EVAL["created"]}
        }
        files = {**samples, "header.json": json.dumps(header)}
        return packed({name: text.encode() for name, text in files.items()}, method=ZSTD)

    def test_log_without_a_mapping_is_recognised_with_its_first_records(self) -> None:
        with pytest.raises(ToolRecognised) as caught:
            bring(self.log(), None)
        assert caught.value.shipped.name == "inspect-ai"
        assert [(row.record, row.model, row.response) for row in caught.value.rows] == [
            (f"e1/{number}/1", "mockllm/model", "3") for number in range(3)
        ]

    @pytest.mark.slow
    def test_shipped_mapping_reads_the_log_and_exports_it(self) -> None:
        data = self.log()
        done = bring(data, BY_NAME["inspect-ai"].read())
        assert (done.new, done.rejected) == (4, 0)
        with closing(ZipArchive([data], most=2**40)) as archive:
            files = {name: b"".join(archive.content(info)) for name, info in archive.files.items()}
        assert unpacked(exported()) == files

    def test_archive_with_samples_of_another_tool_is_refused(self) -> None:
        data = packed({"samples/a.json": b'{"a": 1}', "b": b""})
        with pytest.raises(ImportRefused, match=r"with files of an unknown tool: 'samples/a\.json', 'b'"):
            bring(data, None)


@pytest.mark.slow
def test_run_of_documents_is_not_read_again_from_another_place() -> None:
    bring(packed(files_of(sample("a"))))
    other = mapping.mapping_from_json(HOW.as_json() | {"archive": {"records": "other/*"}})
    with pytest.raises(
        RereadRefused, match=r"are at `samples/\*.json`, and the mapping reads them at `other/\*`"
    ):
        reread_run(run_id=run().pk, mapping=other, actor=None)
    assert reread_run(run_id=run().pk, mapping=HOW, actor=None).records == 1

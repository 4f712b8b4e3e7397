"""`manage.py export_run` and `verify_export`: a run out of the program, and the proof that it is whole."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from zstandard import ZstdDecompressor

from reviews.exports import jsonl
from reviews.models import AuditEvent, Evaluation, Import, User
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

A, B = line("eval_a"), line("eval_b")
FILE = file_of(A, b"no record", B)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """The file of the run `evaluations`, which is imported."""
    import_data(FILE)
    path = tmp_path / "original.jsonl"
    path.write_bytes(FILE)
    return path


class TestExport:
    def test_export_goes_to_standard_output(self, original: Path, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "export_run", "evaluations")
        assert (finished.status, finished.out) == (0, file_of(A, B))

    def test_export_goes_to_a_file(self, original: Path, tmp_path: Path, capsysbinary: Capture) -> None:
        target = tmp_path / "exported.jsonl"
        target.write_bytes(b"from yesterday")
        finished = manage(capsysbinary, "export_run", "evaluations", "-o", str(target))
        assert (finished.status, finished.out, target.read_bytes()) == (0, b"", file_of(A, B))
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "exported.jsonl",
            "exported.jsonl.receipt.json",
            "original.jsonl",
        ]

    def test_export_to_a_pipe_does_not_replace_the_pipe(
        self, original: Path, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        assert manage(capsysbinary, "export_run", "evaluations", "-o", str(pipe)).status == 0
        assert os.read(reader, 10_000) == file_of(A, B)
        os.close(reader)
        assert pipe.is_fifo()

    def test_failed_export_keeps_the_previous_file(
        self, original: Path, tmp_path: Path, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> Iterator[tuple[bytes, int]]:
            yield A, 0
            raise ConnectionError

        monkeypatch.setattr(jsonl, "_run_blocks", broken)
        target = tmp_path / "exported.jsonl"
        target.write_bytes(b"from yesterday")
        assert manage(capsysbinary, "export_run", "evaluations", "-o", str(target)).status == 2
        assert target.read_bytes() == b"from yesterday"
        assert len(list(tmp_path.iterdir())) == 2

    def test_export_reports_its_size_and_records_an_audit_event(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "export_run", "evaluations")
        sha256 = hashlib.sha256(finished.out).hexdigest()
        assert finished.err == f"{len(finished.out):,} bytes, SHA-256 {sha256}\n"
        event = AuditEvent.objects.get(action="export")
        assert event.detail == {
            "only": "all",
            "with_rejected": False,
            "format": "jsonl",
            "compression": "",
            "size": len(finished.out),
            "sha256": sha256,
            "lines": 2,
            "lines_changed": 0,
            "lines_left_out": 1,
        }

    def test_export_of_reviewed_lines_omits_others(
        self, original: Path, ana: User, capsysbinary: Capture
    ) -> None:
        decide(Evaluation.objects.get(evaluation_id="eval_b"), ana)
        out = manage(capsysbinary, "export_run", "evaluations", "--only", "reviewed").out
        assert out.startswith(b'{"evaluation_id": "eval_b"')
        assert out.count(b"\n") == 1

    def test_export_with_rejected_lines_keeps_their_places(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        assert manage(capsysbinary, "export_run", "evaluations", "--with-rejected").out == FILE

    @pytest.mark.slow
    def test_export_of_one_import_is_exactly_its_file(
        self, original: Path, ana: User, capsysbinary: Capture
    ) -> None:
        first = Import.objects.get().pk
        import_data(file_of(line("eval_a", aggregated_score="Fail"), line("eval_c")))
        finished = manage(capsysbinary, "export_run", "evaluations", "--import", str(first))
        assert finished.out == FILE
        decide(Evaluation.objects.get(evaluation_id="eval_b"), ana)
        out = manage(capsysbinary, "export_run", "evaluations", "--import", str(first)).out
        assert out.startswith(file_of(A, b"no record"))
        assert out.count(b"Completed") == 1

    @pytest.mark.parametrize(
        ("name", "unpack"),
        [
            ("a.jsonl.gz", gzip.decompress),
            ("a.jsonl.zst", lambda data: ZstdDecompressor().decompressobj().decompress(data)),
        ],
    )
    def test_export_is_compressed_according_to_the_file_name(
        self, name: str, unpack: Callable[[bytes], bytes], original: Path, capsysbinary: Capture
    ) -> None:
        target = original.with_name(name)
        manage(capsysbinary, "export_run", "evaluations", "-o", str(target))
        assert unpack(target.read_bytes()) == file_of(A, B)

    @pytest.mark.parametrize(
        ("name", "start"), [("csv", b'"evaluation_id","task_id",'), ("parquet", b"PAR1")]
    )
    def test_export_can_be_a_table(
        self, name: str, start: bytes, original: Path, capsysbinary: Capture
    ) -> None:
        out = manage(capsysbinary, "export_run", "evaluations", "--format", name).out
        assert out.startswith(start)

    def test_export_writes_its_receipt_to_the_given_file(self, original: Path, capsysbinary: Capture) -> None:
        target = original.with_name("receipt.json")
        finished = manage(capsysbinary, "export_run", "evaluations", "--receipt", str(target))
        receipt = json.loads(target.read_bytes())
        assert receipt["output"]["sha256"] == hashlib.sha256(finished.out).hexdigest()
        assert receipt["output"]["name"] == "-"

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["elsewhere"], "No run 'elsewhere'. Runs: evaluations."),
            (
                ["evaluations", "--only", "reviewed", "--with-rejected"],
                "Rejected lines have no review: export them with all lines.",
            ),
            (["evaluations", "--import", "0"], "Run 'evaluations' has no import 0."),
            (
                ["evaluations", "--with-rejected", "--format", "csv"],
                "Rejected lines are not records: export them as JSONL.",
            ),
            (
                ["evaluations", "--format", "parquet", "-o", "a.parquet.gz"],
                "Parquet files are already compressed: choose no compression.",
            ),
            (["evaluations", "-o", "no such folder/file"], "no such folder/file: No such file or directory."),
            (["evaluations", "-o", "."], ". is a folder: name a file in it."),
        ],
    )
    def test_invalid_export_is_refused_with_the_reason(
        self, arguments: list[str], sentence: str, original: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "export_run", *arguments)
        assert (finished.status, finished.out) == (2, b"")
        assert finished.err.startswith(sentence)
        assert not AuditEvent.objects.filter(action="export").exists()

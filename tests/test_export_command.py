"""`manage.py export_run` and `verify_export`: a run out of the program, and the proof that it is whole."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviews import exporter
from reviews.models import AuditEvent, Evaluation, User
from reviews.record import HUMAN_FIELDS
from tests.commands import manage
from tests.lines import bring_in, file_of, line
from tests.work import decide

pytestmark = pytest.mark.django_db

A, B = line("eval_a"), line("eval_b")
FILE = file_of(A, b"no record", B)

Capture = pytest.CaptureFixture[bytes]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """The file of the run `evaluations`, which is imported."""
    bring_in(FILE)
    path = tmp_path / "original.jsonl"
    path.write_bytes(FILE)
    return path


class TestExport:
    def test_goes_to_standard_output(self, original: Path, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "export_run", "evaluations")
        assert (finished.status, finished.out) == (0, file_of(A, B))

    def test_goes_to_a_file(self, original: Path, tmp_path: Path, capsysbinary: Capture) -> None:
        target = tmp_path / "exported.jsonl"
        target.write_bytes(b"from yesterday")
        finished = manage(capsysbinary, "export_run", "evaluations", "-o", str(target))
        assert (finished.status, finished.out, target.read_bytes()) == (0, b"", file_of(A, B))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["exported.jsonl", "original.jsonl"]

    def test_goes_through_a_pipe_and_leaves_it_one(
        self, original: Path, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        assert manage(capsysbinary, "export_run", "evaluations", "-o", str(pipe)).status == 0
        assert os.read(reader, 10_000) == file_of(A, B)
        os.close(reader)
        assert pipe.is_fifo()

    def test_that_breaks_leaves_the_file_of_before(
        self, original: Path, tmp_path: Path, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> Iterator[bytes]:
            yield A
            raise ConnectionError

        monkeypatch.setattr(exporter, "_blocks", broken)
        target = tmp_path / "exported.jsonl"
        target.write_bytes(b"from yesterday")
        assert manage(capsysbinary, "export_run", "evaluations", "-o", str(target)).status == 2
        assert target.read_bytes() == b"from yesterday"
        assert len(list(tmp_path.iterdir())) == 2

    def test_says_what_it_wrote_and_leaves_an_audit_event(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "export_run", "evaluations")
        sha256 = hashlib.sha256(finished.out).hexdigest()
        assert finished.err == f"{len(finished.out):,} bytes, SHA-256 {sha256}\n"
        event = AuditEvent.objects.get(action="export")
        assert event.detail == {"only": "all", "size": len(finished.out), "sha256": sha256}

    def test_takes_reviewed_lines_alone(self, original: Path, ana: User, capsysbinary: Capture) -> None:
        decide(Evaluation.objects.get(evaluation_id="eval_b"), ana)
        out = manage(capsysbinary, "export_run", "evaluations", "--only", "reviewed").out
        assert out.startswith(b'{"evaluation_id": "eval_b"')
        assert out.count(b"\n") == 1

    def test_keeps_rejected_lines_in_their_places(self, original: Path, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "export_run", "evaluations", "--with-rejected").out == FILE

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["elsewhere"], "There is no run named 'elsewhere'."),
            (
                ["evaluations", "--only", "reviewed", "--with-rejected"],
                "--with-rejected goes with --only all: rejected lines have no review.",
            ),
            (["evaluations", "-o", "no such folder/file"], "no such folder/file: No such file or directory"),
            (["evaluations", "-o", "."], ".: Is a directory"),
        ],
    )
    def test_that_cannot_be_says_why(
        self, arguments: list[str], sentence: str, original: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "export_run", *arguments)
        assert (finished.status, finished.out, finished.err) == (2, b"", sentence)
        assert not AuditEvent.objects.filter(action="export").exists()


class TestVerify:
    def exported(self, capture: Capture, beside: Path) -> Path:
        target = beside.with_name("exported.jsonl")
        manage(capture, "export_run", "evaluations", "-o", str(target))
        return target

    def test_says_how_many_lines_are_identical(self, original: Path, capsysbinary: Capture) -> None:
        exported = self.exported(capsysbinary, original)
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert finished == (0, b"2 identical, 0 changed; 1 left out (no records)\n", "")

    def test_says_in_which_keys_lines_changed(self, original: Path, ana: User, capsysbinary: Capture) -> None:
        decide(Evaluation.objects.get(evaluation_id="eval_a"), ana, comments="So.")
        exported = self.exported(capsysbinary, original)
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert finished == (
            0,
            f"1 identical, 1 changed: {', '.join(HUMAN_FIELDS)}; 1 left out (no records)\n".encode(),
            "",
        )

    def test_fails_if_anything_else_differs(self, original: Path, capsysbinary: Capture) -> None:
        exported = self.exported(capsysbinary, original)
        exported.write_bytes(exported.read_bytes().replace(b'"4711"', b'"4712"', 1))
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert (finished.status, finished.out) == (1, b"1 identical, 0 changed; 1 left out (no records)\n")
        assert finished.err.splitlines() == [
            "line 1 of the export differs from line 1 of the original in more than human_* values",
            "Differences that are no human decision: 1",
        ]

    def test_names_a_file_that_is_missing(self, original: Path, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "verify_export", str(original), "missing.jsonl")
        assert finished == (2, b"", "missing.jsonl: No such file or directory")

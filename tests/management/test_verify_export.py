"""The command that verifies an export."""

import gzip
from pathlib import Path

import pytest

from reviews.exports import signing
from reviews.models import Evaluation, User
from reviews.records.schema import HUMAN_FIELDS
from tests.management.test_export_run import FILE
from tests.support.commands import Capture, manage
from tests.support.lines import import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """The file of the run `evaluations`, which is imported."""
    import_data(FILE)
    path = tmp_path / "original.jsonl"
    path.write_bytes(FILE)
    return path


class TestVerify:
    def exported(self, capture: Capture, source_file: Path) -> Path:
        target = source_file.with_name("exported.jsonl")
        manage(capture, "export_run", "evaluations", "-o", str(target))
        return target

    def test_verify_export_counts_identical_lines(self, original: Path, capsysbinary: Capture) -> None:
        exported = self.exported(capsysbinary, original)
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert finished == (0, b"2 identical, 0 changed; 1 left out (no records)\n", "")

    @pytest.mark.slow
    def test_verify_export_names_changed_keys(self, original: Path, ana: User, capsysbinary: Capture) -> None:
        decide(Evaluation.objects.get(evaluation_id="eval_a"), ana, comments="So.")
        exported = self.exported(capsysbinary, original)
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert finished == (
            0,
            f"1 identical, 1 changed: {', '.join(HUMAN_FIELDS)}; 1 left out (no records)\n".encode(),
            "",
        )

    @pytest.mark.slow
    def test_verify_export_fails_if_anything_else_differs(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        exported = self.exported(capsysbinary, original)
        exported.write_bytes(exported.read_bytes().replace(b'"4711"', b'"4712"', 1))
        finished = manage(capsysbinary, "verify_export", str(original), str(exported))
        assert (finished.status, finished.out) == (1, b"1 identical, 0 changed; 1 left out (no records)\n")
        assert finished.err.splitlines() == [
            "line 1 of the export differs from line 1 of the original in more than human_* values",
            "Unexplained differences: 1",
        ]

    @pytest.mark.slow
    def test_verify_export_checks_the_receipt_next_to_the_file(
        self, original: Path, ana: User, capsysbinary: Capture
    ) -> None:
        decide(Evaluation.objects.get(evaluation_id="eval_a"), ana, comments="So.")
        exported = self.exported(capsysbinary, original)
        receipt = ("--receipt", f"{exported}.receipt.json", "--public-key", signing.public_key())
        files = (str(original), str(exported), *receipt)
        finished = manage(capsysbinary, "verify_export", *files)
        assert finished == (
            0,
            f"1 identical, 1 changed: {', '.join(HUMAN_FIELDS)}; 1 left out; matches the receipt\n".encode(),
            "",
        )
        exported.write_bytes(exported.read_bytes().replace(b"So.", b"No."))
        finished = manage(capsysbinary, "verify_export", *files)
        assert finished.status == 1
        assert finished.err.splitlines() == [
            "the export is not the file in the receipt: size or SHA-256 differ",
            "Unexplained differences: 1",
        ]

    def test_verify_export_rejects_a_file_that_is_no_receipt(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(
            capsysbinary, "verify_export", str(original), str(original), "--receipt", str(original)
        )
        assert (finished.status, finished.out) == (2, b"")
        assert "is not a receipt" in finished.err

    @pytest.mark.slow
    def test_verify_export_checks_a_table_by_its_receipt(self, original: Path, capsysbinary: Capture) -> None:
        table = str(original.with_name("exported.csv.gz"))
        manage(capsysbinary, "export_run", "evaluations", "--format", "csv", "-o", table)
        files = (str(original), table)
        finished = manage(capsysbinary, "verify_export", *files, "--receipt", f"{table}.receipt.json")
        assert finished[:2] == (0, b"a table, whose lines are not compared; matches the receipt\n")
        finished = manage(capsysbinary, "verify_export", *files)
        sentence = f"{table} is a table, which only its receipt verifies. Pass --receipt."
        assert finished == (2, b"", sentence)

    @pytest.mark.slow
    def test_verify_export_decompresses_files(self, original: Path, capsysbinary: Capture) -> None:
        target = original.with_name("exported.jsonl.zst")
        manage(capsysbinary, "export_run", "evaluations", "-o", str(target))
        finished = manage(capsysbinary, "verify_export", str(original), str(target))
        assert (finished.status, finished.out) == (0, b"2 identical, 0 changed; 1 left out (no records)\n")
        target.write_bytes(target.read_bytes()[:-9])
        assert manage(capsysbinary, "verify_export", str(original), str(target)).status in {1, 2}

    @pytest.mark.slow
    def test_verify_export_accepts_several_originals_in_any_format(
        self, original: Path, ana: User, capsysbinary: Capture
    ) -> None:
        array = b"[%b, %b]" % (line("eval_c"), line("eval_d"))
        import_data(array)
        decide(Evaluation.objects.get(evaluation_id="eval_d"), ana)
        exported = self.exported(capsysbinary, original)
        second = original.with_name("second.json.gz")
        second.write_bytes(gzip.compress(array))
        finished = manage(capsysbinary, "verify_export", str(original), str(second), str(exported))
        assert finished.status == 0
        assert finished.out.startswith(b"3 identical, 1 changed: ")

    def test_verify_export_names_an_unsupported_format(self, original: Path, capsysbinary: Capture) -> None:
        archive = original.with_name("original.zip")
        archive.write_bytes(b"PK\x03\x04")
        finished = manage(capsysbinary, "verify_export", str(archive), str(original))
        assert (finished.status, finished.out) == (2, b"")
        assert finished.err.startswith(f"{archive}: The file is a ZIP archive that is damaged")

    def test_verify_export_names_a_missing_file(self, original: Path, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "verify_export", str(original), "missing.jsonl")
        assert finished == (2, b"", "missing.jsonl: No such file or directory.")

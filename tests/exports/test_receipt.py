"""Receipts of exports: their contents, signature and audit head."""

import hashlib
import json
import re
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from cognireview.environment import BASE_DIR
from reviews.exports import signing, verify_receipt
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.receipt import END, SIGNATURE, ExportTally, FileDigest, ReceiptFilter, ReceiptOutput
from reviews.models import Run, User
from reviews.records.line_splice import splice
from reviews.records.schema import HUMAN_FIELDS
from tests.support.commands import Capture, Finished, manage
from tests.support.lines import file_of, import_data, line
from tests.support.receipts import A, B, C, exported, review
from tests.support.shared_world import shared_world

pytestmark = pytest.mark.django_db

CHANGED = [key for key in HUMAN_FIELDS if key != "human_review_comments"]


class TestReceipt:
    def test_receipt_names_inputs_and_output(self) -> None:
        done = import_data(file_of(A, B))
        data, receipt = exported()
        assert (receipt["receipt"], receipt["run"]) == (1, "evaluations")
        assert receipt["program"].startswith("CogniReview 0.")
        assert receipt["filter"] == {"only": "all", "with_rejected": False, "import_id": None}
        assert receipt["inputs"] == [
            {
                "import_id": done.pk,
                "name": "evaluations.jsonl",
                "size": len(data),
                "sha256": done.sha256,
                "lines": 2,
            }
        ]
        assert receipt["output"] == {
            "name": "out.jsonl",
            "format": "jsonl",
            "compression": "",
            "size": len(data),
            "sha256": done.sha256,
            "unpacked": {"size": len(data), "sha256": done.sha256},
            "lines": 2,
        }
        assert (receipt["changed"], receipt["left_out"]) == ([], [])

    def test_receipt_distinguishes_file_and_uncompressed_content(self) -> None:
        done = import_data(file_of(A))
        data, receipt = exported(compression="gzip")
        output = receipt["output"]
        assert output["sha256"] == hashlib.sha256(data).hexdigest()
        assert output["unpacked"] == {"size": done.size, "sha256": done.sha256}

    @pytest.mark.slow
    def test_receipt_lists_each_changed_line_by_its_output_number(self, ana: User) -> None:
        import_data(file_of(b"no record", A, b"", B, C))
        review("eval_a", ana)
        review("eval_c", ana)
        _, receipt = exported()
        assert receipt["lines_changed"] == 2
        assert receipt["changed"] == [
            {"line": 1, "evaluation_id": "eval_a", "keys": CHANGED},
            {"line": 4, "evaluation_id": "eval_c", "keys": CHANGED},
        ]

    @pytest.mark.slow
    def test_receipt_lists_omitted_lines(self) -> None:
        first = import_data(file_of(b"no record", b"nor this", A, line("eval_a")))
        second = import_data(file_of(A, B))
        _, receipt = exported()
        assert receipt["left_out"] == [
            {"import_id": first.pk, "first_line": 1, "last_line": 2},
            {"import_id": first.pk, "first_line": 4, "last_line": 4},
            {"import_id": second.pk, "first_line": 1, "last_line": 1},
        ]
        assert receipt["lines_left_out"] == 4

    @pytest.mark.slow
    def test_receipt_accounts_for_every_line(self, ana: User) -> None:
        import_data(file_of(A, b"no record", b"", B))
        import_data(file_of(B, C, b"", A))
        review("eval_b", ana)
        for only in ("all", "reviewed"):
            _, receipt = exported(only=only)
            lines = sum(source["lines"] for source in receipt["inputs"])
            assert receipt["output"]["lines"] + receipt["lines_left_out"] == lines == 8

    @pytest.mark.slow
    def test_receipt_names_the_source_of_a_moved_line(self) -> None:
        import_data(file_of(A, B))
        later = import_data(file_of(A, line("eval_b", aggregated_score="Fail")))
        _, receipt = exported()
        assert receipt["changed"] == [
            {
                "line": 2,
                "evaluation_id": "eval_b",
                "keys": [],
                "source": {"import_id": later.pk, "line": 2},
            }
        ]

    @pytest.mark.slow
    def test_receipt_counts_lines_across_a_missing_final_line_end(self, ana: User) -> None:
        import_data(file_of(A)[:-1])
        import_data(file_of(B, C)[:-1])
        review("eval_c", ana)
        data, receipt = exported()
        assert receipt["output"]["lines"] == len(data.splitlines()) == 3
        assert [entry["line"] for entry in receipt["changed"]] == [3]

    @pytest.mark.slow
    def test_receipt_of_one_import_covers_its_lines(self, ana: User) -> None:
        import_data(file_of(A, B))
        second = import_data(file_of(C, B, A))
        review("eval_b", ana)
        _, receipt = exported(only_import=second)
        assert receipt["filter"]["import_id"] == second.pk
        assert receipt["inputs"][0]["import_id"] == second.pk
        assert [entry["line"] for entry in receipt["changed"]] == [2]


def keys_of(value: Any) -> set[str]:
    """Return the keys at every depth."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if isinstance(value, dict):
        return {*value, *(key for item in value.values() for key in keys_of(item))}
    return set()


@pytest.mark.slow
def test_receipt_keys_are_documented(ana: User) -> None:
    import_data(file_of(b"no record", A))
    import_data(file_of(line("eval_a", aggregated_score="Fail")))
    review("eval_a", ana)
    _, receipt = exported()
    section = (BASE_DIR / "docs" / "exports.md").read_text().partition("## The receipt")[2]
    documented = set(re.findall(r"`(\w+)`", section))
    assert keys_of(receipt) <= documented
    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == set(receipt)


class TestAuditHead:
    @pytest.mark.slow
    def test_tally_lists_more_entries_than_one_frame(self) -> None:
        tally = ExportTally()
        for number in range(1, 25_001):
            tally.changes(number, f"eval_{number}", ["human_review_status"], None)
        asked = ReceiptFilter("all", with_rejected=False, import_id=None)
        output = ReceiptOutput("out.jsonl", "jsonl", "", 0, "", FileDigest(0, ""), 0)
        receipt = json.loads(b"".join(tally.receipt(run="", created_at="", options=asked, output=output)))
        assert [entry["line"] for entry in receipt["changed"]] == list(range(1, 25_001))

    def test_tally_counts_a_line_in_several_blocks_once(self) -> None:
        tally = ExportTally()
        for block in (b"a\nb", b"b", b"b\nc\n", b"", b"d"):
            tally.writes(block, block.count(b"\n"))
        assert tally.lines == 4


@pytest.fixture(scope="module")
def signed(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with an original, its export and its receipt."""
    folder = tmp_path_factory.mktemp("signed")
    with shared_world(django_db_blocker):
        import_data(file_of(A, B))
        output = ExportOutput(ExportOptions(Run.objects.get()))
        (folder / "original.jsonl").write_bytes(file_of(A, B))
        (folder / "out.jsonl").write_bytes(b"".join(output))
        (folder / "out.jsonl.receipt.json").write_bytes(b"".join(output.receipt("out.jsonl")))
    return folder


class TestSignature:
    """An edited receipt is invalid. A receipt of another site is valid only without that site's key."""

    @pytest.fixture
    def receipt(self, signed: Path, tmp_path: Path) -> Path:
        """A copy of the receipt and its files, to be changed."""
        return Path(copytree(signed, tmp_path, dirs_exist_ok=True)) / "out.jsonl.receipt.json"

    def verify(self, receipt: Path, capture: Capture, *more: str) -> Finished:
        files = [str(receipt.with_name(name)) for name in ("original.jsonl", "out.jsonl")]
        return manage(capture, "verify_export", *files, "--receipt", str(receipt), *more)

    def forge(self, receipt: Path) -> dict[str, Any]:
        """Change a score in the export, and adjust the receipt."""
        exported = receipt.with_name("out.jsonl")
        forged: dict[str, Any] = json.loads(receipt.read_bytes())
        changes = {"human_review_status": "Completed", "human_reviewer_id": "ana"}
        exported.write_bytes(file_of(splice(A, changes), B))
        forged["output"]["size"] = exported.stat().st_size
        forged["output"]["sha256"] = hashlib.sha256(exported.read_bytes()).hexdigest()
        forged["changed"] = [{"line": 1, "evaluation_id": "eval_a", "keys": [*changes]}]
        del forged["signature"]
        return forged

    def test_signature_is_valid_with_the_sites_key(self, receipt: Path, capsysbinary: Capture) -> None:
        key = manage(capsysbinary, "public_key").out.decode().strip()
        finished = self.verify(receipt, capsysbinary, "--public-key", key.upper())
        assert (finished.status, finished.err) == (0, "")
        assert json.loads(receipt.read_bytes())["signature"]["public_key"] == key

    def test_signature_without_a_key_leaves_the_signer_unverified(
        self, receipt: Path, capsysbinary: Capture
    ) -> None:
        finished = self.verify(receipt, capsysbinary)
        assert (finished.status, finished.err.startswith("Signer not checked")) == (0, True)

    def test_signature_of_an_edited_receipt_is_invalid(self, receipt: Path, capsysbinary: Capture) -> None:
        signature = json.loads(receipt.read_bytes())["signature"]
        forged = self.forge(receipt)
        receipt.write_text(json.dumps(forged))
        finished = self.verify(receipt, capsysbinary)
        assert (finished.status, "the receipt has no signature" in finished.err) == (1, True)
        begin = json.dumps(forged, indent=2).removesuffix("\n}").encode()
        receipt.write_bytes(begin + SIGNATURE + json.dumps(signature).encode() + END)
        finished = self.verify(receipt, capsysbinary)
        assert (finished.status, "was changed after it was signed" in finished.err) == (1, True)

    def test_signature_of_another_site_is_invalid(self, receipt: Path, capsysbinary: Capture) -> None:
        key = signing.public_key()
        begin = json.dumps(self.forge(receipt), indent=2).removesuffix("\n}").encode()
        with override_settings(SECRET_KEY="another"):
            receipt.write_bytes(b"".join(signing.sign_receipt([begin, END])))
        assert self.verify(receipt, capsysbinary).status == 0
        finished = self.verify(receipt, capsysbinary, "--public-key", key)
        assert (finished.status, "was signed with another key" in finished.err) == (1, True)

    @pytest.mark.parametrize("key", ["", "ab", "x" * 64, "ab" * 33])
    def test_signature_needs_a_key_of_32_bytes(self, key: str, receipt: Path, capsysbinary: Capture) -> None:
        assert self.verify(receipt, capsysbinary, f"--public-key={key}").status in {1, 2}

    @pytest.mark.parametrize(
        "entry",
        [b"", b"[]", b"{}", b'{"public_key": 5, "ed25519": ""}', b'{"public_key": "ab", "ed25519": ""}'],
    )
    def test_malformed_signature_counts_as_missing(
        self, entry: bytes, receipt: Path, capsysbinary: Capture
    ) -> None:
        content, _, _ = receipt.read_bytes().rpartition(SIGNATURE)
        receipt.write_bytes(content + SIGNATURE + entry + END)
        assert verify_receipt.signature_problem(receipt) == "the receipt has no signature"

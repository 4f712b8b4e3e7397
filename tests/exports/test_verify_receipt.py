"""Verification of exports by their receipts."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import zstandard
from pytest_django.plugin import DjangoDbBlocker

from reviews.exports import verify_receipt
from reviews.models import Import, User
from reviews.records.schema import Limits
from reviews.storage.chunks import BOM
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.receipts import A, B, C, exported, review
from tests.support.shared_world import shared_world

pytestmark = pytest.mark.django_db


class Files:
    """An original, its export and its receipt as files."""

    def __init__(self, folder: Path) -> None:
        self.original, self.exported, self.receipt = folder / "a.jsonl", folder / "b.jsonl", folder / "r.json"
        self.before: list[Path] = []

    def write(self, original: bytes, **order: Any) -> None:
        self.original.write_bytes(original)
        data, receipt = exported(**order)
        self.exported.write_bytes(data)
        self.receipt.write_text(json.dumps(receipt))

    def change_receipt(self, **values: Any) -> None:
        self.receipt.write_text(json.dumps(json.loads(self.receipt.read_bytes()) | values))

    def check(self) -> list[str]:
        receipt = verify_receipt.read_receipt(self.receipt)
        return verify_receipt.verify_files(
            receipt, [*self.before, self.original], self.exported, Limits()
        ).problems


def import_and_review(reviewer: User) -> Import:
    done = import_data(file_of(A, b"no record", B, C))
    review("eval_a", reviewer)
    review("eval_c", reviewer)
    return done


@pytest.fixture(scope="module")
def written(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the files of a run that two decisions changed. Its rows are gone."""
    folder = tmp_path_factory.mktemp("written")
    with shared_world(django_db_blocker):
        import_and_review(UserFactory.create(role="reviewer"))
        Files(folder).write(file_of(A, b"no record", B, C))
    return folder


class TestCheck:
    @pytest.fixture
    def kept(self, ana: User) -> Import:
        return import_and_review(ana)

    @pytest.fixture
    def files(self, written: Path, tmp_path: Path) -> Files:
        """Copies of the files, to be changed."""
        return Files(copytree(written, tmp_path, dirs_exist_ok=True))

    @pytest.mark.slow
    def test_correct_receipt_has_no_problems(self, files: Files) -> None:
        assert files.check() == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "order",
        [
            {"only": "reviewed"},
            {"with_rejected": True},
            {"compression": "gzip"},
            {"compression": "zstd"},
            {"format": "csv"},
            {"format": "parquet"},
            {"format": "csv", "compression": "gzip"},
        ],
    )
    def test_receipt_of_every_kind_of_export_is_verified(
        self, order: dict[str, Any], kept: Import, tmp_path: Path
    ) -> None:
        files = Files(tmp_path)
        files.write(file_of(A, b"no record", B, C), **order)
        assert files.check() == []

    def test_receipt_of_one_import_is_verified(self, kept: Import, tmp_path: Path) -> None:
        files = Files(tmp_path)
        files.write(file_of(A, b"no record", B, C), only_import=kept)
        assert files.check() == []

    def test_compressed_original_is_verified(self, files: Files) -> None:
        packed = gzip.compress(files.original.read_bytes())
        files.original.write_bytes(packed)
        source = json.loads(files.receipt.read_bytes())["inputs"][0]
        files.change_receipt(inputs=[source | {"sha256": hashlib.sha256(packed).hexdigest()}])
        assert files.check() == []

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_array_original_is_verified(
        self, pack: Callable[[bytes], bytes], ana: User, tmp_path: Path
    ) -> None:
        array = pack(b"[\n  %b,\n  7,\n  %b\n]\n" % (A, B))
        import_data(array)
        review("eval_b", ana)
        files = Files(tmp_path)
        files.write(array)
        assert files.check() == []

    @pytest.mark.slow
    def test_latest_of_grown_files_is_verified(self, ana: User, tmp_path: Path) -> None:
        import_data(file_of(A, B))
        grown = file_of(A, line("eval_b", aggregated_score="Fail"), C)
        import_data(grown)
        review("eval_c", ana)
        files = Files(tmp_path)
        files.write(grown)
        assert files.check() == []

    @pytest.mark.slow
    @pytest.mark.parametrize("only", ["all", "reviewed"])
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_all_files_of_a_run_are_verified(self, end: bytes, only: str, ana: User, tmp_path: Path) -> None:
        first, second = file_of(A, b"no record", B)[:-1] + end, BOM + file_of(A, C)[:-1] + end
        for data in (first, second):
            import_data(data)
        for evaluation_id in ("eval_a", "eval_c"):
            review(evaluation_id, ana)
        files = Files(tmp_path)
        files.write(second, only=only)
        assert files.check() != []
        files.before = [tmp_path / "first.jsonl"]
        files.before[0].write_bytes(first)
        assert files.check() == []

    def test_export_changed_later_is_found(self, files: Files) -> None:
        files.exported.write_bytes(files.exported.read_bytes().replace(b'"eval_b"', b'"eval_x"'))
        assert any("size or SHA-256 differ" in problem for problem in files.check())

    def test_different_original_is_found(self, files: Files) -> None:
        files.original.write_bytes(files.original.read_bytes() + b"\n")
        assert any("is not in the receipt" in problem for problem in files.check())

    def test_unlisted_change_is_found(self, files: Files) -> None:
        changed = json.loads(files.receipt.read_bytes())["changed"]
        files.change_receipt(changed=changed[1:])
        [problem] = files.check()
        assert problem.startswith("line 1 of the export has changed in human_review_status,")
        assert "lists line 3" in problem
        files.change_receipt(changed=[])
        assert files.check()[0].endswith("but the receipt lists no more changes")

    def test_change_in_other_keys_is_found(self, files: Files) -> None:
        first, second = json.loads(files.receipt.read_bytes())["changed"]
        files.change_receipt(changed=[first, second | {"keys": ["human_reviewer_id"]}])
        [problem] = files.check()
        assert problem.endswith("but the receipt lists line 3 (human_reviewer_id)")

    def test_missing_change_is_found(self, files: Files) -> None:
        changed = json.loads(files.receipt.read_bytes())["changed"]
        files.change_receipt(changed=[*changed, changed[0] | {"line": 9}])
        assert files.check() == ["the receipt lists 1 changes that the export does not have"]

    def test_other_file_is_not_a_receipt(self, files: Files) -> None:
        for content in (b"", b"[]", b"{}", b'{"receipt": 2}', b"null", b"\xff"):
            files.receipt.write_bytes(content)
            with pytest.raises(verify_receipt.InvalidReceipt):
                files.check()

    @pytest.mark.parametrize("missing", ["output", "inputs", "filter", "changed"])
    def test_incomplete_receipt_is_refused(self, missing: str, files: Files) -> None:
        files.change_receipt(**{missing: None})
        with pytest.raises(verify_receipt.InvalidReceipt):
            files.check()

    @pytest.mark.parametrize(
        "broken", [gzip.compress(b"x" * 999, mtime=0)[:20], zstandard.compress(b"x" * 999)[:9] + b"x"]
    )
    def test_unreadable_compressed_file_is_reported(self, broken: bytes, files: Files) -> None:
        files.exported.write_bytes(broken)
        with pytest.raises(verify_receipt.UNREADABLE):
            files.check()

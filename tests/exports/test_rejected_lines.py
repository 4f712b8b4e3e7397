"""Rejected lines, and files of several imports, in an export."""

import json

import pytest
from pytest_django import Settings

from reviews.exports import jsonl
from reviews.models import Import, Run, User
from reviews.records.schema import Limits
from reviews.storage import chunks, source_files
from reviews.storage.chunks import BOM
from reviews.storage.integrity import ContentTotals
from tests.exports.test_jsonl import A, B, C, review
from tests.support.lines import export_data, file_of, import_data, line

pytestmark = pytest.mark.django_db


@pytest.fixture
def small_blocks(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a limit below the test's long lines, and chunks so small that one line needs several."""
    settings.LIMITS = Limits(line_bytes=2000)
    monkeypatch.setattr(chunks, "BLOCK_SIZE", 1500)


class TestRejected:
    BAD = (b"no record", line("eval_a", task_id=True), line("eval_b"))
    FILE = file_of(BAD[0], B, BAD[1], A, b"", BAD[2])

    def test_rejected_lines_are_omitted(self) -> None:
        import_data(self.FILE)
        assert export_data() == file_of(B, A, b"")

    def test_rejected_lines_are_kept_in_place_on_request(self) -> None:
        import_data(self.FILE)
        assert export_data(with_rejected=True) == self.FILE

    def test_rejected_lines_can_be_downloaded_and_corrected(self) -> None:
        done = import_data(self.FILE)
        assert b"".join(jsonl.rejected_lines(done)) == file_of(*self.BAD)

    def test_exceptions_are_exported_as_json_lines(self) -> None:
        done = import_data(self.FILE)
        listed = [json.loads(one) for one in jsonl.import_exceptions(done)]
        assert [one["line"] for one in listed] == [1, 3, 6]
        assert listed[2] == {
            "line": 6,
            "outcome": "rejected",
            "field": "evaluation_id",
            "reason": "is already in line 2",
        }

    def test_truncated_last_line_leaves_a_complete_file(self) -> None:
        import_data(file_of(A) + B[:100])
        assert export_data() == file_of(A)

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_blocks")
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_line_of_many_chunks_is_one_line(self, end: bytes, ana: User) -> None:
        some = [b'{"x": "%b"}' % (b"x" * length) for length in (1990, 2001, 3001, 9000)]
        data = file_of(A, b"", *some, B, *some)[:-1] + end
        done = import_data(data)
        assert (done.lines, done.new, done.rejected, done.blank) == (11, 2, 8, 1)
        assert export_data() == file_of(A, b"", B)
        assert export_data(with_rejected=True) == data
        assert b"".join(jsonl.rejected_lines(done)) == file_of(*some, *some)[:-1] + end
        decided = review(B, ana)
        assert export_data() == file_of(A, b"", decided)


class TestSeveralImports:
    @pytest.mark.slow
    def test_several_imports_are_exported_in_order(self) -> None:
        for data in (file_of(A), BOM + file_of(B)[:-1], file_of(C)):
            import_data(data)
        assert export_data() == file_of(A, B, C)

    def test_failed_and_queued_imports_are_not_exported(self) -> None:
        import_data(file_of(A))
        for state in (Import.State.FAILED, Import.State.QUEUED):
            failed = Import.objects.create(run=Run.objects.get(), file_name="b.jsonl", state=state)
            for _ in source_files.store_chunks(
                failed, chunks.cut_chunks([file_of(B)], line_bytes=10_000), ContentTotals()
            ):
                pass
        assert export_data() == file_of(A)

    @pytest.mark.slow
    def test_imports_of_other_runs_are_not_exported(self) -> None:
        import_data(file_of(A), run="first")
        import_data(file_of(B), run="second")
        assert (export_data(run="first"), export_data(run="second")) == (file_of(A), file_of(B))

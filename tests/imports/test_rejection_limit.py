"""Files with hardly any records: the import stops early and leaves almost nothing."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from reviews.imports import parser_pool, parsing, task_context, uploads
from reviews.imports.jobs import import_upload
from reviews.imports.rejection_limit import RejectionLimit, TooManyRejections
from reviews.models import ContextImport, Import, ImportLine, Run, SourceChunk, Upload, User
from reviews.storage import copy_encoding
from reviews.storage.copy_encoding import RowKeys
from reviews.storage.errors import ImportRefused
from tests.support.commands import Capture, manage
from tests.support.jobs import receive
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

LIMIT = 1_000
MANY = 5 * LIMIT
SENTENCE = "This is not a file of records: the first 1,000 lines were rejected; line 1: "
ZEROS = b"0\n" * MANY
FILES = {
    "zeros": ZEROS,
    "empty objects": b"{}\n" * MANY,
    "spaces and zeros": b" 0\r\n" * MANY,
    "an array of empty objects": b"[" + b"{}," * MANY + b"{}]",
    "words": b"no record\n" * MANY,
}


@pytest.fixture
def parsed_lines(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the numbers of the lines that are parsed in this process."""
    numbers: list[int] = []
    row_of = copy_encoding.encode_line

    def count(line: bytes, limits: Any, keys: RowKeys, **more: Any) -> Any:
        numbers.append(keys.line)
        return row_of(line, limits, keys, **more)

    monkeypatch.setattr(parsing, "encode_line", count)
    return numbers


@pytest.mark.slow
class TestNoRecords:
    @pytest.fixture(autouse=True)
    def _limit(self, settings: Any) -> None:
        settings.MAX_REJECTED_LINES = LIMIT

    @pytest.mark.parametrize(
        "data",
        [*FILES.values(), gzip.compress(ZEROS), zstandard.compress(ZEROS)],
        ids=[*FILES, "gzip", "zstd"],
    )
    def test_import_without_records_stops_at_the_limit(self, data: bytes, parsed_lines: list[int]) -> None:
        with pytest.raises(TooManyRejections, match=SENTENCE):
            import_data(data)
        assert len(parsed_lines) == LIMIT
        assert not Run.objects.exists()
        assert not ImportLine.objects.exists()

    @pytest.mark.parametrize("data", FILES.values(), ids=FILES)
    def test_upload_without_records_is_refused_and_leaves_nothing(self, data: bytes, max: User) -> None:
        packed = gzip.compress(data)
        assert len(packed) < 1_200
        with pytest.raises(TooManyRejections, match=SENTENCE):
            uploads.receive(
                file_name="a.jsonl.gz",
                run_name="a",
                strict=False,
                size=len(packed),
                parts=[packed],
                actor=max,
            )
        assert not Upload.objects.exists()
        assert not Import.objects.exists()
        assert not SourceChunk.objects.exists()

    @pytest.mark.parametrize("options", [[], ["--dry-run"], ["--strict"]])
    def test_import_command_without_records_prints_one_sentence(
        self, options: list[str], tmp_path: Path, capfdbinary: Capture
    ) -> None:
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress(FILES["zeros"]))
        finished = manage(capfdbinary, "import_run", str(path), *options)
        assert finished.status != 0
        assert SENTENCE in finished.err
        assert len(finished.out) + len(finished.err) < 1_000

    def test_job_without_records_fails_and_keeps_nothing(self, max: User) -> None:
        kept = receive(file_of(line()) + FILES["empty objects"], max)
        import_upload(import_id=kept.pk)
        kept.refresh_from_db()
        assert kept.state == Import.State.FAILED
        assert kept.error.startswith("This is not a file of records: 1,999 of the first 2,000 lines were")
        assert not kept.chunks.exists()
        assert not ImportLine.objects.exists()
        assert not Run.objects.exists()

    def test_repeated_record_stops_at_the_limit(self) -> None:
        with pytest.raises(TooManyRejections, match="line 2: evaluation_id: is already in line 1"):
            import_data(gzip.compress(file_of(line()) * MANY))

    def test_blank_lines_stop_the_import(self, max: User) -> None:
        with pytest.raises(TooManyRejections, match="100,000 of its lines are blank"):
            receive(gzip.compress(b"\n" * 150_000), max)
        with pytest.raises(TooManyRejections, match="of its lines are blank"):
            import_data(gzip.compress(file_of(line()) + b"\n" * 150_000))

    @pytest.mark.parametrize("entry", ["0", "{}"])
    @pytest.mark.parametrize("shape", ["[{{}},{}]", "{}\n"])
    def test_context_file_without_tasks_stops_at_the_limit(self, entry: str, shape: str) -> None:
        entries = [entry] * MANY
        data = shape.format((",\n" if "[" in shape else "\n").join(entries)).encode()
        with pytest.raises(ImportRefused, match="This is not a file of task context: the first 1,000 lines"):
            task_context.import_context(blocks=[data], file_name="a.json", run_name=None, actor=None)

    def test_refused_context_import_leaves_nothing(self) -> None:
        with pytest.raises(ImportRefused):
            task_context.import_context(blocks=[b"0\n" * MANY], file_name="a.json", run_name=None, actor=None)
        assert not ContextImport.objects.exists()


class TestRecordsAmongBadLines:
    @pytest.mark.slow
    def test_invalid_lines_among_records_are_all_accounted_for(self, settings: Any) -> None:
        settings.MAX_REJECTED_LINES = 100
        good = [line(f"eval_{number}") for number in range(60)]
        done = import_data(file_of(*good, *[b"0"] * 2_000, line("eval_last")))
        assert (done.new, done.rejected, done.lines) == (61, 2_000, 2_061)
        assert done.exceptions.count() == 2_000

    @pytest.mark.slow
    def test_file_with_invalid_lines_can_be_imported_again(self, settings: Any) -> None:
        settings.MAX_REJECTED_LINES = 100
        data = file_of(*(line(f"eval_{number}") for number in range(300)), *[b"0"] * 150)
        import_data(data)
        done = import_data(data)
        assert (done.unchanged, done.rejected) == (300, 150)

    def test_one_rejection_below_the_limit_is_accepted(self) -> None:
        refusals = RejectionLimit(3)
        refusals.count(rejected=[(1, "", "a"), (2, "", "b")])
        with pytest.raises(TooManyRejections, match=r"the first 3 lines were rejected; line 1: a\."):
            refusals.count(rejected=[(3, "", "c")])

    def test_refusal_sentence_stays_short(self) -> None:
        with pytest.raises(TooManyRejections) as caught:
            RejectionLimit(1).count(rejected=[(1, "field", "x" * 100_000)])
        assert len(str(caught.value)) < 500


class TestDyingProcess:
    def test_import_fails_if_parser_processes_die(self, monkeypatch: pytest.MonkeyPatch, max: User) -> None:
        def dying(*_: Any, **__: Any) -> Iterator[Any]:
            raise parser_pool.ParserDied("The process that parsed lines 1 to 2 died twice.")
            yield

        kept = receive(file_of(line()), max)
        monkeypatch.setattr(parser_pool, "parse_ahead", dying)
        import_upload(import_id=kept.pk)
        kept.refresh_from_db()
        assert (kept.state, kept.error) == ("failed", "The process that parsed lines 1 to 2 died twice.")
        assert kept.chunks.exists()

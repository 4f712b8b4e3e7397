"""Damaged storage: every export has the right bytes, or fails with place and remedy."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from reviews.database.statements import execute
from reviews.exports import jsonl
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.imports import jobs as import_jobs
from reviews.imports import uploads
from reviews.maintenance import verify_run
from reviews.maintenance.verify_run import VerificationCounts
from reviews.models import AuditEvent, Evaluation, Import, ImportLine, ImportSums, Run, SourceChunk, User
from reviews.storage import chunks, line_reader
from reviews.storage.corruption import CorruptData
from reviews.storage.line_reader import LineReader
from tests.support.commands import Capture, manage
from tests.support.damage import FIRST, SECOND, first, flip, record, remove_frames, undone
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _imported(module_world: None) -> Iterator[None]:
    """Import two files in a dozen frames, and decide four records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_SIZE", 3000)
        run = import_data(FIRST).target_run
        import_data(SECOND)
        import_data(FIRST[:4000], run="another")
        ana = UserFactory.create(username="ana", role="reviewer")
        for evaluation_id in ("eval_2", "eval_7", "eval_20", "eval_40"):
            decide(run.evaluations.get(evaluation_id=evaluation_id), ana)
        yield


@pytest.fixture
def ana() -> User:
    return User.objects.get(username="ana")


@pytest.fixture
def run() -> Run:
    return Run.objects.get(name="evaluations")


def second() -> Import:
    return Import.objects.order_by("pk")[1]


def everything_out(run: Run) -> dict[str, Callable[[], bytes]]:
    """Return a function for each output of stored bytes."""
    orders: dict[str, dict[str, Any]] = {
        "run": {},
        "with rejected": {"with_rejected": True},
        "reviewed": {"only": "reviewed"},
        "first file": {"only_import": first()},
        "second file": {"only_import": second()},
        "second file, reviewed": {"only_import": second(), "only": "reviewed"},
        "csv": {"format": "csv"},
    }
    ways = {name: partial(written, ExportOptions(run, **order)) for name, order in orders.items()}
    return ways | {
        "rejected lines": lambda: b"".join(jsonl.rejected_lines(first())),
        "rejects": lambda: b"".join(jsonl.import_exceptions(second())),
        "lines one by one": lambda: b"".join(
            line_reader.stored_line(record(number)) for number in (0, 9, 20, 21)
        ),
    }


def written(order: ExportOptions) -> bytes:
    return b"".join(ExportOutput(order))


def outcome(way: Callable[[], bytes]) -> bytes | str:
    """Return the bytes of an output, or the message of its error."""
    try:
        with transaction.atomic():
            return way()
    except CorruptData as damaged:
        return str(damaged)


def check_all(run: Run, expected: dict[str, bytes]) -> tuple[int, list[str]]:
    """Read every output of a damaged run. Return the number of failures and the faults of `verify_runs`."""
    failed = 0
    for name, way in everything_out(run).items():
        found = outcome(way)
        if isinstance(found, str):
            failed += 1
            assert found.startswith("Run '"), name
            assert "import " in found
            assert "; restore a backup (manage.py restore)" in found
        else:
            assert found == expected[name], name
    faults = [
        str(fault)
        for each in Run.objects.order_by("pk")
        for fault in verify_run.verify_run(each, VerificationCounts())
    ]
    return failed, faults


@pytest.fixture
def expected(run: Run) -> dict[str, bytes]:
    """Return the bytes of every output before the damage."""
    return {name: way() for name, way in everything_out(run).items()}


@pytest.mark.slow
def test_intact_run_has_no_faults(run: Run, expected: dict[str, bytes]) -> None:
    assert check_all(run, expected) == (0, [])


class TestOneFlippedBit:
    @pytest.mark.slow
    @pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.exhaustive)])
    def test_flipped_bit_in_any_frame_is_never_exported(
        self, every: int, run: Run, expected: dict[str, bytes]
    ) -> None:
        chunks = list(SourceChunk.objects.filter(source__run=run).order_by("pk"))
        assert len(chunks) > 10
        for number, chunk in list(enumerate(chunks))[::every]:
            seed = random.Random(number)
            with undone():
                flip(chunk, seed)
                failed, faults = check_all(run, expected)
                assert failed >= 5, number
                assert len(faults) == 1, number
                place = f"import {chunk.source_id} (evaluations.jsonl), frame {chunk.number}"
                assert faults[0] == (
                    f"Run 'evaluations', {place}: it does not match its checksum; restore a backup (manage.py"
                    f" restore), or the original file (manage.py repair_import {chunk.source_id} FILE)."
                )


@pytest.mark.parametrize("order", [{"format": "parquet"}, {"compression": "gzip"}, {"compression": "zstd"}])
def test_every_export_format_fails_on_a_flipped_bit(order: dict[str, Any], run: Run) -> None:
    flip(second().chunks.earliest("-number"), random.Random(0))
    with pytest.raises(CorruptData):
        written(ExportOptions(run, **order))


def swap_frames() -> None:
    one, other = first().chunks.order_by("number")[1:3]
    for chunk, frame in ((one, other.frame), (other, one.frame)):
        SourceChunk.objects.filter(pk=chunk.pk).update(frame=frame)


def swap_rows() -> None:
    one, other = first().chunks.order_by("number")[1:3]
    for chunk, number in ((one, -1), (other, one.number), (one, other.number)):
        SourceChunk.objects.filter(pk=chunk.pk).update(number=number)


def take_frame_of_another_file() -> None:
    other = second().chunks.get(number=0)
    first().chunks.filter(number=0).update(
        frame=other.frame, digest=other.digest, lines=other.lines, size=other.size
    )


def rewrite_frame() -> None:
    """Replace a frame by other bytes with a matching checksum."""
    chunk = first().chunks.get(number=1)
    chunk.delete()
    other = next(iter(first().chunks.filter(lines=chunk.lines)))
    values = {"number": 1, "first_line": chunk.first_line, "lines": chunk.lines, "size": other.size}
    SourceChunk.objects.create(source=first(), frame=other.frame, **values)


def double_last_frame() -> None:
    last = first().chunks.latest("number")
    last.pk, last.number, last.digest = None, last.number + 1, None
    last.first_line += last.lines
    last.save()


def change(model: Any, pick: Callable[[], Any], **values: Any) -> None:
    model.objects.filter(pk=pick().pk).update(**values)


def swap_places(*columns: str) -> None:
    """Swap the places of two records."""
    one, other = record(20), record(21)
    mine, theirs = ({name: getattr(each, name) for name in columns} for each in (one, other))
    away = {name: -1 for name in columns if name == "first_line"}
    if away:
        Evaluation.objects.filter(pk=one.pk).update(**away)
    Evaluation.objects.filter(pk=other.pk).update(**mine)
    Evaluation.objects.filter(pk=one.pk).update(**theirs)


def noted(outcome: str) -> ImportLine:
    return ImportLine.objects.filter(source=second(), outcome=outcome).latest("line")


def remove_record() -> None:
    """Remove a record that only the search index refers to."""
    one = record(25)
    for table in ("evaluation_facets", "evaluation_words"):
        execute(f"DELETE FROM {table} WHERE evaluation_id = %s", [one.pk])
    execute("DELETE FROM evaluation WHERE id = %s", [one.pk])


FRAMES: dict[str, Callable[[], object]] = {
    "the first frame is gone": partial(remove_frames, 0),
    "a frame is gone": partial(remove_frames, 2),
    "the last frame is gone": partial(remove_frames, -1),
    "all frames are gone": remove_frames,
    "two frames are swapped": swap_frames,
    "two rows are swapped": swap_rows,
    "a frame is of another file": take_frame_of_another_file,
    "a frame was rewritten": rewrite_frame,
    "the last frame is there twice": double_last_frame,
    "a checksum is gone": lambda: change(SourceChunk, first().chunks.first, digest=None),
    "a checksum is another": lambda: change(SourceChunk, first().chunks.first, digest=bytes(32)),
    "a first line is another": lambda: change(SourceChunk, first().chunks.last, first_line=3),
    "a count of lines is another": lambda: change(SourceChunk, first().chunks.first, lines=0),
    "a size is another": lambda: change(SourceChunk, first().chunks.first, size=5000),
    "a frame is of another import": lambda: change(
        SourceChunk, first().chunks.last, source=Import.objects.get(run__name="another"), number=9
    ),
}
ROWS: dict[str, Callable[[], object]] = {
    "lines of the import": lambda: change(Import, first, lines=33),
    "name of the file": lambda: change(Import, first, file_name="another.jsonl"),
    "size of the import": lambda: change(Import, first, size=5),
    "sha256 of the import": lambda: change(Import, first, sha256="0" * 64),
    "byte order mark of the import": lambda: change(Import, second, has_bom=True),
    "repeated lines of the import": lambda: change(Import, second, repeated_lines=7),
    "new records of the import": lambda: change(Import, first, new=1),
    "state of the import": lambda: change(Import, second, state=Import.State.FAILED),
    "run of the import": lambda: change(Import, second, run=Run.objects.get(name="another")),
    "recorded lines": lambda: ImportSums.objects.filter(source=first()).update(text_lines=3),
    "recorded hash": lambda: ImportSums.objects.filter(source=first()).update(frames_sha256="0" * 64),
    "a noted line is gone": lambda: noted("rejected").delete(),
    "an unchanged line is gone": lambda: noted("unchanged").delete(),
    "a noted line has another outcome": lambda: change(
        ImportLine, partial(noted, "rejected"), outcome="updated"
    ),
    "a noted line has another number": lambda: change(ImportLine, partial(noted, "rejected"), line=10),
    "a noted line is past the end": lambda: change(ImportLine, partial(noted, "rejected"), line=1000),
    "a noted line is of another record": lambda: change(
        ImportLine, partial(noted, "unchanged"), evaluation=record(20)
    ),
    "a record's line is another": lambda: change(Evaluation, partial(record, 20), source_line=5),
    "a record's line is past the end": lambda: change(Evaluation, partial(record, 20), source_line=5000),
    "a record's hash is another": lambda: change(Evaluation, partial(record, 20), content_hash=bytes(16)),
    "a record's place is line 0": lambda: change(Evaluation, partial(record, 20), first_line=0),
    "a record's place is past the end": lambda: change(Evaluation, partial(record, 20), first_line=5000),
    "a record's file is another": lambda: change(Evaluation, partial(record, 20), source_import=second()),
    "a record is of another file": lambda: change(
        Evaluation, partial(record, 20), first_import=second(), first_line=8000
    ),
    "a moved record's place is another": lambda: change(Evaluation, partial(record, 9), first_line=31),
    "two records' places are swapped": partial(swap_places, "first_line"),
    "two records' lines are swapped": partial(swap_places, "source_line"),
    "two records' lines and hashes are swapped": partial(swap_places, "source_line", "content_hash"),
    "two records are swapped": partial(swap_places, "first_line", "source_line", "content_hash"),
    "a record is gone": remove_record,
}


@pytest.mark.exhaustive
class TestChangedStorage:
    def test_changed_storage_is_found_and_never_exported(self, run: Run, expected: dict[str, bytes]) -> None:
        for name, damage in (FRAMES | ROWS).items():
            with undone():
                damage()
                failed, faults = check_all(run, expected)
            assert faults, name
            assert failed, name
            assert all("import " in fault and fault.endswith(".") for fault in faults), name

    def test_damaged_frames_are_repaired_from_the_original_file(
        self, run: Run, expected: dict[str, bytes], tmp_path: Path, capsysbinary: Capture
    ) -> None:
        source = first()
        original, other = tmp_path / "original.jsonl", tmp_path / "other.jsonl"
        original.write_bytes(FIRST)
        other.write_bytes(SECOND)
        for name, damage in FRAMES.items():
            with undone():
                damage()
                refused = manage(capsysbinary, "repair_import", str(source.pk), str(other))
                assert refused.status == 2, name
                assert "This is another file" in refused.err
                assert manage(capsysbinary, "repair_import", str(source.pk), str(original)).status == 0, name
                if name == "a frame is of another import":
                    SourceChunk.objects.filter(source__run__name="another", number=9).delete()
                assert check_all(run, expected) == (0, []), name
                assert AuditEvent.objects.filter(action="repair import", source=source).exists(), name


class TestRepair:
    def test_repair_accepts_the_compressed_original(
        self, tmp_path: Path, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packed = gzip.compress(b"[%b,\n %b]" % (line("eval_1"), line("eval_2")))
        imported = import_data(packed, run="packed")
        imported.chunks.all().delete()
        original = tmp_path / "original.json.gz"
        original.write_bytes(packed)
        assert manage(capsysbinary, "repair_import", str(imported.pk), str(original)).status == 0
        assert written(ExportOptions(imported.target_run)) == file_of(line("eval_1"), line("eval_2"))

    @pytest.mark.parametrize(
        ("number", "name", "said"),
        [("0", "nothing", "nothing: No such file"), ("0", __file__, "no import 0")],
    )
    def test_repair_reports_a_missing_file(
        self, number: str, name: str, said: str, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "repair_import", number, name)
        assert finished.status == 2
        assert said in finished.err


class TestVerifyRuns:
    def test_verify_runs_counts_its_work(self, run: Run, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "verify_runs")
        assert (finished.status, finished.err) == (0, "")
        frames = SourceChunk.objects.count()
        lines = sum(source.lines for source in Import.objects.all())
        said = f"Checked 2 runs, 3 imports, {frames} frames, {lines} lines, 0 exports. Faults: 0.\n"
        assert finished.out.decode() == said

    def test_verify_runs_reports_each_fault_and_fails(self, run: Run, capsysbinary: Capture) -> None:
        remove_frames(2)
        noted("rejected").delete()
        finished = manage(capsysbinary, "verify_runs", "evaluations")
        assert finished.status == 1
        assert [said.partition("; ")[0].partition(": ")[2] for said in finished.err.splitlines()] == [
            "it is missing",
            "0 of 1 lines noted as rejected are there",
            "line 9 is accounted for by 0 rows",
        ]
        assert b"Faults: 3." in finished.out

    def test_verify_runs_writes_json(self, run: Run, capsysbinary: Capture) -> None:
        remove_frames(2)
        found = json.loads(manage(capsysbinary, "verify_runs", "--json").out)
        assert (found["runs"], found["imports"]) == (2, 3)
        [fault] = found["faults"]
        assert (fault["run"], fault["frame"], fault["problem"]) == ("evaluations", 2, "it is missing")

    def test_verify_runs_of_an_unknown_run_verifies_nothing(self, run: Run, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "verify_runs", "nosuch")
        assert (finished.status, finished.err) == (2, "No run 'nosuch'. Runs: another, evaluations.")

    def test_verify_runs_lists_some_of_many_wrong_lines(self, run: Run, capsysbinary: Capture) -> None:
        Evaluation.objects.filter(run=run).update(content_hash=bytes(16))
        said = manage(capsysbinary, "verify_runs").err.splitlines()
        assert len(said) == 20 + 1 + 4
        assert "more lines are wrong" in said[20]

    @pytest.mark.slow
    def test_verify_runs_counts_failed_and_running_imports(self, max: User, capsysbinary: Capture) -> None:
        names: dict[str, Any] = {"file_name": "a.jsonl", "run_name": "queued", "actor": max}
        for strict in (True, False):
            data = file_of(line("eval_1"), b"no record")
            waiting = uploads.receive(**names, strict=strict, size=len(data), parts=[data])
            if strict:
                import_jobs.import_upload(import_id=waiting.pk)
        assert manage(capsysbinary, "verify_runs").status == 0
        waiting.chunks.all().delete()
        assert manage(capsysbinary, "verify_runs").status == 1


def test_line_beyond_the_file_is_not_a_fault(run: Run) -> None:
    for number in (0, 1000):
        with pytest.raises(SourceChunk.DoesNotExist):
            LineReader().line(first().pk, number)


def test_missing_end_is_found_without_recorded_totals(run: Run) -> None:
    ImportSums.objects.all().delete()
    remove_frames(-1)
    with pytest.raises(CorruptData, match="lines, and had 34"):
        written(ExportOptions(run))

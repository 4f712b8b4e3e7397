"""Imports: every line is accounted for, all or nothing, and the file is stored."""

import gzip
import hashlib
from collections.abc import Collection, Iterable
from io import BytesIO
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings

from reviews.imports import batches, importer, jobs, parser_pool
from reviews.imports.bulk_insert import insert_evaluations
from reviews.imports.importer import NothingImported
from reviews.imports.jobs import enqueue_import, fail_upload, import_upload
from reviews.models import AuditEvent, Evaluation, Import, ImportLine, Run, SourceChunk, User
from reviews.records.schema import Limits
from reviews.storage import chunks, source_files
from reviews.storage.errors import ImportRefused
from tests.support.lines import export_data, file_of, import_data, line

pytestmark = pytest.mark.django_db

A, B, C = line("eval_a"), line("eval_b"), line("eval_c")
MIXED = file_of(A, b"", b"no record", B, line("eval_d", task_id=True), C)


def upload(data: bytes, actor: User, *, run: str = "evaluations", strict: bool = False) -> Import:
    return enqueue_import(
        run_name=run,
        file_name="evaluations.jsonl",
        blocks=chunks.read_blocks(BytesIO(data)),
        strict=strict,
        actor=actor,
    )


def counts_of(data: bytes) -> dict[str, int]:
    """Import a file and return its counts, also if no line was accepted."""
    try:
        with transaction.atomic():
            return import_data(data).counts
    except NothingImported as refused:
        return refused.source.counts


def in_state(kept: Import) -> str:
    kept.refresh_from_db()
    return kept.state


class TestImport:
    def test_import_accounts_for_every_line(self) -> None:
        done = import_data(MIXED)
        assert done.counts == {
            "lines": 6,
            "new": 3,
            "unchanged": 0,
            "updated": 0,
            "conflicts": 0,
            "rejected": 2,
            "blank": 1,
        }
        assert list(done.listed_exceptions()) == [
            {
                "line": 3,
                "outcome": "rejected",
                "field": "",
                "reason": "is not JSON: Expecting value, at character 1",
            },
            {
                "line": 5,
                "outcome": "rejected",
                "field": "task_id",
                "reason": "is a boolean, but takes a string or a number",
            },
        ]

    def test_import_records_its_file(self) -> None:
        done = import_data(MIXED)
        assert (done.size, done.sha256) == (len(MIXED), hashlib.sha256(MIXED).hexdigest())
        assert (done.state, done.file_name, done.target_name) == ("done", "evaluations.jsonl", "evaluations")
        assert done.finished_at

    def test_import_stores_the_place_of_each_record(self) -> None:
        done = import_data(MIXED)
        places = Evaluation.objects.values_list("evaluation_id", "first_line", "source_line", "source_import")
        assert set(places) == {
            ("eval_a", 1, 1, done.pk),
            ("eval_b", 4, 4, done.pk),
            ("eval_c", 6, 6, done.pk),
        }

    def test_import_leaves_an_audit_event(self) -> None:
        done = import_data(MIXED)
        event = AuditEvent.objects.get(action="import")
        assert (event.source, event.run, event.actor) == (done, done.run, None)
        assert event.detail == {"sha256": done.sha256, "counts": done.counts}

    @pytest.mark.slow
    @examples(max_examples=5)
    @given(
        st.lists(
            st.sampled_from([A, B, C, b"", b"  ", b"no record", A[:100], line(task_id=True)]), max_size=9
        )
    )
    def test_import_counts_add_up_to_the_lines(self, lines: list[bytes]) -> None:
        with transaction.atomic():
            for data in filter(None, (file_of(*lines), file_of(*reversed(lines)), b"\n".join(lines))):
                counts = counts_of(data)
                assert counts["lines"] == len(BytesIO(data).readlines())
                assert sum(counts.values()) == 2 * counts["lines"]
            transaction.set_rollback(True)

    @pytest.mark.parametrize("data", [b"", b"[]", b" [ ]\n", gzip.compress(b"", mtime=0)])
    def test_import_of_an_empty_file_is_refused(self, data: bytes) -> None:
        with pytest.raises(ImportRefused, match=r"^The file is empty\.$"):
            import_data(data)
        assert not Run.objects.exists()

    def test_import_of_a_byte_order_mark_alone_is_refused(self) -> None:
        with pytest.raises(NothingImported, match="only blank lines"):
            import_data(chunks.BOM)

    @pytest.mark.slow
    def test_import_of_invalid_lines_lists_them_all(self) -> None:
        done = import_data(file_of(A) + b"no record\n" * 3_000)
        assert (done.lines, done.rejected, done.exceptions.count()) == (3_001, 3_000, 3_000)

    def test_overlong_line_is_rejected_by_its_number(self, settings: Settings) -> None:
        settings.LIMITS = Limits(line_bytes=2000)
        done = import_data(file_of(A, b'{"x": "%b"}' % (b"x" * 3 * chunks.BLOCK_SIZE), B))
        assert (done.lines, done.new, done.rejected) == (3, 2, 1)
        [listed] = done.listed_exceptions()
        assert (listed["line"], listed["reason"]) == (
            2,
            "is longer than 2,000 bytes (COGNIREVIEW_MAX_LINE_BYTES)",
        )

    def test_import_reports_its_progress(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chunks, "BLOCK_SIZE", 1)
        monkeypatch.setattr(batches, "ENOUGH_BYTES", 1)
        data = [file_of(A), file_of(b""), file_of(b"no record", B)]
        reported: list[tuple[int, int, int]] = []
        with transaction.atomic():
            importer.import_stream(
                blocks=data,
                run_name="run",
                file_name="file",
                actor=None,
                progress=lambda size, counts: reported.append((size, counts["lines"], counts["new"])),
            )
        sizes = [sum(map(len, data[:end])) for end in (1, 2, 3)]
        assert reported == [(sizes[0], 1, 1), (sizes[1], 2, 1), (sizes[2], 4, 2)]

    @pytest.mark.slow
    def test_import_in_chunks_and_processes_keeps_every_line_in_place(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(chunks, "BLOCK_SIZE", 3000)
        monkeypatch.setattr(parser_pool, "usable_cores", lambda: 2)
        data = file_of(*(part for number in range(40) for part in (line(f"eval_{number}"), b"no record")))
        done = import_data(data)
        assert (done.new, done.rejected, done.chunks.count() > parser_pool.BATCHES_WITHOUT_POOL) == (
            40,
            40,
            True,
        )
        places = Evaluation.objects.values_list("evaluation_id", "first_line", "source_line")
        assert set(places) == {(f"eval_{number}", 1 + 2 * number, 1 + 2 * number) for number in range(40)}
        assert export_data() == file_of(*(line(f"eval_{number}") for number in range(40)))
        assert import_data(data).unchanged == 40

    def test_cancelled_import_leaves_nothing(self) -> None:
        def cancel(size: int, counts: dict[str, int]) -> None:
            raise importer.Cancelled

        with pytest.raises(importer.Cancelled), transaction.atomic():
            importer.import_stream(
                blocks=[file_of(A)], run_name="run", file_name="file", actor=None, progress=cancel
            )
        assert (Evaluation.objects.exists(), Import.objects.exists(), Run.objects.exists()) == (False,) * 3

    def test_failed_import_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        breaks_at_the_second_piece(monkeypatch)
        with pytest.raises(ConnectionError):
            import_data(file_of(A, B, C))
        for model in (Run, Import, SourceChunk, Evaluation, ImportLine, AuditEvent):
            assert not model.objects.exists()


class TestStrict:
    def test_strict_import_accepts_a_valid_file(self) -> None:
        assert import_data(file_of(A, b"", B), strict=True).new == 2

    def test_strict_import_with_an_invalid_line_imports_nothing(self) -> None:
        with pytest.raises(
            NothingImported, match=r"2 of 6 lines are invalid, so nothing was imported\."
        ) as refusal:
            import_data(MIXED, strict=True)
        assert [one["line"] for one in refusal.value.listed_exceptions()] == [3, 5]
        assert not Run.objects.exists()
        assert not Evaluation.objects.exists()


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("", "Enter a name for the run."),
            (" \t", "Enter a name for the run."),
            ("x" * 201, "A run's name has at most 200 printable characters."),
            ("a\0b", "A run's name has at most 200 printable characters."),
            ("a\nb", "A run's name has at most 200 printable characters."),
            ("\ud800", "A run's name has at most 200 printable characters."),
        ],
    )
    def test_invalid_run_name_is_refused(self, name: str, reason: str) -> None:
        with pytest.raises(ImportRefused) as refusal:
            import_data(file_of(A), run=name)
        assert str(refusal.value) == reason

    def test_utf_16_file_is_refused_and_leaves_nothing(self) -> None:
        with pytest.raises(ImportRefused, match="UTF-16"):
            import_data(file_of(A).decode().encode("utf-16"))
        assert not Run.objects.exists()

    def test_run_name_with_spaces_around_it_is_refused(self) -> None:
        import_data(file_of(A), run="o4 mini")
        for name in (" o4 mini", "o4 mini "):
            with pytest.raises(ImportRefused, match="does not begin or end with a space"):
                import_data(file_of(B), run=name)


@pytest.mark.parametrize(
    ("name", "kept_as"),
    [
        ("../../etc/passwd", "passwd"),
        ("/", "file"),
        ("", "file"),
        ("a\0\n.jsonl", "a.jsonl"),
        ("x" * 300, "x" * 255),
    ],
)
def test_file_name_is_never_a_path(name: str, kept_as: str) -> None:
    with transaction.atomic():
        done = importer.import_stream(blocks=[A], run_name="run", file_name=name, actor=None)
    assert done.file_name == kept_as


def breaks_at_the_second_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose the database connection in the middle of a file with several chunks."""
    inserted: list[Collection[Any]] = []

    def copy_once(records: Collection[Any]) -> None:
        inserted.append(records)
        if len(inserted) > 1:
            raise ConnectionError
        insert_evaluations(records)

    monkeypatch.setattr(chunks, "BLOCK_SIZE", 1000)
    monkeypatch.setattr(importer, "insert_evaluations", copy_once)


class TestUpload:
    def test_upload_is_stored_and_enqueued(self, max: User) -> None:
        kept = upload(MIXED, max)
        assert (kept.state, kept.size, kept.sha256) == (
            "queued",
            len(MIXED),
            hashlib.sha256(MIXED).hexdigest(),
        )
        assert kept.created_by == max
        job = ProcrastinateJob.objects.get()
        assert (job.task_name, job.args, job.status) == (jobs.JOB, {"import_id": kept.pk}, "todo")
        assert AuditEvent.objects.get().action == "upload"
        assert not Evaluation.objects.exists()

    def test_refused_upload_leaves_no_file_and_no_job(self, max: User) -> None:
        with pytest.raises(ImportRefused):
            upload(file_of(A).decode().encode("utf-16"), max)
        assert not Import.objects.exists()
        assert not ProcrastinateJob.objects.exists()

    def test_interrupted_upload_leaves_no_file_and_no_job(self, max: User) -> None:
        def broken() -> Iterable[bytes]:
            yield file_of(A)
            raise ConnectionResetError

        with pytest.raises(ConnectionResetError):
            enqueue_import(run_name="r", file_name="f", blocks=broken(), strict=False, actor=max)
        assert not Import.objects.exists()
        assert not ProcrastinateJob.objects.exists()

    @pytest.mark.slow
    def test_upload_is_imported_like_any_file(self, max: User) -> None:
        kept = upload(MIXED, max)
        import_upload(import_id=kept.pk)
        assert in_state(kept) == "done"
        assert kept.counts == {
            **dict.fromkeys(kept.counts, 0),
            "lines": 6,
            "new": 3,
            "rejected": 2,
            "blank": 1,
        }
        assert export_data() == file_of(A, b"", B, C)
        assert AuditEvent.objects.filter(action="import", actor=max, source=kept).count() == 1

    def test_upload_is_imported_once_by_a_repeated_job(self, max: User) -> None:
        kept = upload(MIXED, max)
        import_upload(import_id=kept.pk)
        finished_at = Import.objects.get().finished_at
        import_upload(import_id=kept.pk)
        assert Import.objects.get().finished_at == finished_at
        assert AuditEvent.objects.filter(action="import").count() == 1

    def test_strict_upload_with_invalid_lines_fails_and_lists_them(self, max: User) -> None:
        kept = upload(MIXED, max, strict=True)
        import_upload(import_id=kept.pk)
        assert in_state(kept) == "failed"
        assert kept.error == "2 of 6 lines are invalid, so nothing was imported."
        assert [one["line"] for one in kept.listed_exceptions()] == [3, 5]
        assert not Evaluation.objects.exists()
        assert AuditEvent.objects.filter(action="import failed", actor=max).count() == 1

    @pytest.mark.slow
    def test_failed_job_leaves_nothing_and_can_be_repeated(
        self,
        max: User,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with monkeypatch.context() as patch:
            breaks_at_the_second_piece(patch)
            kept = upload(file_of(A, B, C), max)
            with pytest.raises(ConnectionError):
                import_upload(import_id=kept.pk)
        assert in_state(kept) == "queued"
        assert not Evaluation.objects.exists()
        fail_upload(import_id=kept.pk, error="ConnectionError: the server went away")
        assert in_state(kept) == "failed"
        assert kept.error == "ConnectionError: the server went away"
        assert b"".join(chunk.data for chunk in source_files.stored_chunks(kept)) == file_of(A, B, C)
        again = upload(file_of(A, B, C), max)
        import_upload(import_id=again.pk)
        assert (in_state(again), again.new) == ("done", 3)
        assert export_data() == file_of(A, B, C)

    def test_finished_upload_cannot_fail(self, max: User) -> None:
        kept = upload(file_of(A), max)
        import_upload(import_id=kept.pk)
        fail_upload(import_id=kept.pk, error="too late")
        assert (in_state(kept), kept.error) == ("done", "")

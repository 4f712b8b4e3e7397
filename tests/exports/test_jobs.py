"""Exports built by jobs: complete or not at all, once, and removed after a day."""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.exceptions import JobAborted

from reviews.exports import jobs, jsonl, output, stored_files
from reviews.exports.documents import InvalidExport
from reviews.exports.output import ExportOptions
from reviews.models import AuditEvent, Evaluation, Export, ExportPart, ExportProgress, Import, Run, User
from reviews.storage import progress_connection
from reviews.storage.chunks import AHEAD
from reviews.storage.frames import compress, keep_frame
from tests.support.factories import ImportFactory
from tests.support.lines import file_of, import_data, line
from tests.support.threads import together
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

A, B, C = line("eval_a"), line("eval_b"), line("eval_c")
FILE = file_of(A, b"no record", B)

Kind = ExportPart.Kind


@pytest.fixture
def run(db: None) -> Run:
    """Return the run `evaluations` with one file."""
    return import_data(FILE).target_run


def built(order: ExportOptions, actor: User) -> Export:
    export = jobs.enqueue(options=order, actor=actor)
    jobs.build(export_id=export.pk)
    export.refresh_from_db()
    return export


def content(export: Export) -> bytes:
    return b"".join(stored_files.stored_range(export, Kind.FILE, 0, export.size - 1))


class TestOrder:
    @pytest.mark.parametrize(
        ("asked", "reason"),
        [
            ({"only": "reviewed", "with_rejected": True}, "have no review"),
            ({"format": "csv", "with_rejected": True}, "are not records"),
            ({"format": "parquet", "compression": "gzip"}, "already compressed"),
        ],
    )
    def test_contradicting_export_options_are_refused(
        self, asked: dict[str, Any], reason: str, run: Run, lea: User
    ) -> None:
        with pytest.raises(InvalidExport, match=reason):
            jobs.enqueue(options=ExportOptions(run, **asked), actor=lea)
        assert not Export.objects.exists()

    def test_export_of_an_unfinished_import_is_refused(self, run: Run) -> None:
        for elsewhere in (ImportFactory.create(), ImportFactory.create(run=run, state=Import.State.FAILED)):
            with pytest.raises(InvalidExport, match="is not a finished import of run 'evaluations'"):
                ExportOptions(run, only_import=elsewhere).check()

    def test_export_options_name_the_file(self, run: Run) -> None:
        assert ExportOptions(run).file_name == "evaluations.jsonl"
        order = ExportOptions(
            run, only="reviewed", only_import=Import.objects.get(), format="csv", compression="zstd"
        )
        assert order.file_name == f"evaluations-import-{Import.objects.get().pk}-reviewed.csv.zst"

    def test_enqueued_export_leaves_the_work_to_a_job(self, run: Run, lea: User) -> None:
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        assert ProcrastinateJob.objects.get().args == {"export_id": export.pk}
        assert export.state == Export.State.UNFINISHED
        assert ExportProgress.objects.get().bytes_to_read == len(FILE)


class TestBuilding:
    def test_built_export_has_a_hash_and_a_receipt(self, run: Run, lea: User) -> None:
        export = built(ExportOptions(run), lea)
        data = file_of(A, B)
        assert (export.state, content(export)) == (Export.State.DONE, data)
        assert (export.size, export.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert (export.lines, export.lines_changed, export.lines_left_out) == (2, 0, 1)
        receipt = json.loads(b"".join(stored_files.stored_receipt(export)))
        assert receipt["output"]["sha256"] == export.sha256

    @pytest.mark.parametrize("order", [{"format": "csv"}, {"compression": "gzip"}, {"with_rejected": True}])
    def test_built_export_equals_the_command_output(self, order: dict[str, Any], run: Run, lea: User) -> None:
        assert content(built(ExportOptions(run, **order), lea)) == b"".join(
            output.ExportOutput(ExportOptions(run, **order))
        )

    @pytest.mark.slow
    def test_any_range_of_a_built_export_can_be_read(
        self, run: Run, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stored_files, "PART_SIZE", 100)
        export = built(ExportOptions(run), lea)
        data = file_of(A, B)
        export.parts.filter(kind=Kind.FILE).delete()
        kept = keep_frame(data[150:300], compress(data[150:300]))
        blocks = [data[:60], data[60:130], data[130:150], kept, data[300:]]
        assert list(stored_files.store_parts(export, Kind.FILE, blocks)) == [0, 1, 2, 3]
        assert bytes(export.parts.get(kind=Kind.FILE, number=2).frame) == kept.frame
        end = len(data) - 1
        for first, last in ((0, 0), (0, 129), (129, 130), (130, 150), (150, 299), (149, 420), (0, end)):
            assert (
                b"".join(stored_files.stored_range(export, Kind.FILE, first, last)) == data[first : last + 1]
            )

    def test_built_export_leaves_an_audit_event(self, run: Run, lea: User) -> None:
        export = built(ExportOptions(run, with_rejected=True), lea)
        event = AuditEvent.objects.get(action="export")
        assert (event.actor, event.run) == (lea, run)
        assert event.detail == {
            "only": "all",
            "with_rejected": True,
            "format": "jsonl",
            "compression": "",
            "size": len(FILE),
            "sha256": export.sha256,
            "lines": 3,
            "lines_changed": 0,
            "lines_left_out": 0,
            "export": export.pk,
        }

    def test_repeated_build_changes_nothing(self, run: Run, lea: User) -> None:
        export = built(ExportOptions(run), lea)
        jobs.build(export_id=export.pk)
        assert AuditEvent.objects.filter(action="export").count() == 1

    def test_failed_build_leaves_nothing_and_can_be_repeated(
        self, run: Run, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> Iterator[tuple[bytes, int]]:
            yield A * 10_000, 0
            raise ZeroDivisionError

        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        with monkeypatch.context() as patch:
            patch.setattr(jsonl, "_run_blocks", broken)
            with pytest.raises(ZeroDivisionError):
                jobs.build(export_id=export.pk)
        assert not ExportPart.objects.exists()
        jobs.build(export_id=export.pk)
        export.refresh_from_db()
        assert content(export) == file_of(A, B)

    def test_stopped_build_can_be_restarted(self, run: Run, lea: User) -> None:
        def stop() -> None:
            raise JobAborted

        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        with pytest.raises(JobAborted):
            jobs.build(export_id=export.pk, check_in=stop)
        assert not ExportPart.objects.exists()
        jobs.build(export_id=export.pk)
        export.refresh_from_db()
        assert export.state == Export.State.DONE

    def test_failed_export_has_a_reason_and_a_finished_one_stays(self, run: Run, lea: User) -> None:
        done, failed = built(ExportOptions(run), lea), jobs.enqueue(options=ExportOptions(run), actor=lea)
        for export in (done, failed):
            jobs.fail(export_id=export.pk, error="ZeroDivisionError: a bug")
            export.refresh_from_db()
        assert (done.state, done.error) == (Export.State.DONE, "")
        assert (failed.state, failed.error) == (Export.State.FAILED, "ZeroDivisionError: a bug")


class TestRetention:
    @pytest.mark.slow
    def test_expired_export_is_removed_and_its_audit_event_stays(self, run: Run, lea: User) -> None:
        old, young = built(ExportOptions(run), lea), built(ExportOptions(run), lea)
        waiting = jobs.enqueue(options=ExportOptions(run), actor=lea)
        yesterday = timezone.now() - dt.timedelta(hours=24, seconds=1)
        Export.objects.filter(pk=old.pk).update(finished_at=yesterday)
        Export.objects.filter(pk=waiting.pk).update(created_at=yesterday)
        jobs.remove_expired()
        assert set(Export.objects.all()) == {young, waiting}
        assert set(ExportPart.objects.values_list("export", flat=True)) == {young.pk}
        removed = AuditEvent.objects.get(action="export removed")
        assert removed.detail == {"export": old.pk, "sha256": old.sha256}


@pytest.mark.django_db(transaction=True)
class TestConcurrency:
    def work(self) -> None:
        call_command("procrastinate", "worker", wait=False, listen_notify=False)

    @pytest.mark.slow
    def test_worker_builds_an_enqueued_export(self, lea: User) -> None:
        export = jobs.enqueue(options=ExportOptions(import_data(FILE).target_run), actor=lea)
        self.work()
        export.refresh_from_db()
        assert content(export) == file_of(A, B)

    @pytest.mark.slow
    def test_worker_records_why_an_export_failed(self, lea: User, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> Iterator[bytes]:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(jsonl, "_run_blocks", broken)
        export = jobs.enqueue(options=ExportOptions(import_data(FILE).target_run), actor=lea)
        self.work()
        export.refresh_from_db()
        assert (export.state, export.error) == (Export.State.FAILED, "ZeroDivisionError: a bug")

    def test_export_progress_is_visible_before_the_file(
        self, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[int, int]] = []

        def look() -> None:
            progress = ExportProgress.objects.get()
            seen.append((progress.bytes_read, ExportPart.objects.count()))

        def blocks(*arguments: Any, **_: object) -> Iterator[tuple[bytes, int]]:
            tally = arguments[2]
            tally.bytes_read = 1000
            # The others are read while the first one is stored.
            for _block in range(1 + AHEAD):
                yield b"x" * stored_files.PART_SIZE, 0
            together(look)

        monkeypatch.setattr(jsonl, "_run_blocks", blocks)
        export = jobs.enqueue(options=ExportOptions(import_data(FILE).target_run), actor=lea)
        jobs.build(export_id=export.pk)
        assert seen == [(1000, 0)]

    @pytest.mark.slow
    def test_concurrent_workers_build_one_file(self, lea: User) -> None:
        export = jobs.enqueue(options=ExportOptions(import_data(FILE).target_run), actor=lea)
        together(*[lambda: jobs.build(export_id=export.pk)] * 2, expecting=Exception)
        export.refresh_from_db()
        assert content(export) == file_of(A, B)
        assert AuditEvent.objects.filter(action="export").count() == 1

    @pytest.mark.slow
    def test_export_is_a_snapshot_of_its_start(self, ana: User, lea: User) -> None:
        run = import_data(file_of(A)).target_run
        import_data(file_of(B))
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        inner = jsonl.export_lines

        def interrupted(*arguments: Any, **options: Any) -> Iterator[bytes]:
            blocks = inner(*arguments, **options)
            yield next(blocks)
            together(lambda: decide(Evaluation.objects.get(evaluation_id="eval_b"), ana))
            yield from blocks

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jsonl, "export_lines", interrupted)
            jobs.build(export_id=export.pk)
        export.refresh_from_db()
        assert content(export) == file_of(A, B)


class TestCancelling:
    def test_cancelled_waiting_export_is_not_built(self, run: Run, lea: User) -> None:
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        assert jobs.cancel(export_id=export.pk, actor=lea)
        assert not jobs.cancel(export_id=export.pk, actor=lea)
        jobs.build(export_id=export.pk)
        export.refresh_from_db()
        assert (export.state, export.parts.count()) == (Export.State.CANCELLED, 0)
        assert export.finished_at

    def test_finished_export_is_not_cancelled(self, run: Run, lea: User) -> None:
        export = built(ExportOptions(run), lea)
        assert not jobs.cancel(export_id=export.pk, actor=lea)
        export.refresh_from_db()
        assert export.state == Export.State.DONE

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.slow
    def test_running_export_stops_when_it_is_cancelled(
        self, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = import_data(file_of(A)).target_run
        import_data(file_of(B))
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        monkeypatch.setattr(stored_files, "PART_SIZE", 10)
        monkeypatch.setattr(progress_connection, "SECONDS_BETWEEN_REPORTS", 0)

        def cancel() -> None:
            [was_running] = together(lambda: jobs.cancel(export_id=export.pk, actor=lea))
            assert was_running

        jobs.build(export_id=export.pk, check_in=cancel)
        export.refresh_from_db()
        assert (export.state, export.parts.count()) == (Export.State.CANCELLED, 0)
        events = AuditEvent.objects.filter(action__contains="cancel").order_by("pk")
        assert list(events.values_list("action", "actor_name")) == [
            ("cancel export", "lea"),
            ("export cancelled", "lea"),
        ]

"""Imports as jobs: their progress, and cancelling them."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from reviews.imports import importer
from reviews.imports import jobs as imports_job
from reviews.models import (
    AuditEvent,
    Evaluation,
    Import,
    ImportProgress,
    User,
)
from reviews.storage import progress_connection, source_files
from tests.support.jobs import blocks, upload, work
from tests.support.lines import line
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)


class TestCancelling:
    @pytest.mark.slow
    def test_cancelled_queued_import_leaves_the_worker_nothing_to_do(self, max: User) -> None:
        waiting = upload(max, [line("eval_1")])
        imports_job.cancel_import(import_id=waiting.pk, actor=max)
        work()
        waiting.refresh_from_db()
        assert (waiting.state, Evaluation.objects.count()) == (Import.State.CANCELLED, 0)
        assert waiting.finished_at

    @pytest.mark.slow
    def test_cancelled_running_import_leaves_the_stored_file_only(
        self, max: User, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        running = upload(max, blocks(2_000))
        monkeypatch.setattr(progress_connection, "SECONDS_BETWEEN_REPORTS", 0)
        when_reported(monkeypatch, lambda: imports_job.cancel_import(import_id=running.pk, actor=lea))
        work()
        running.refresh_from_db()
        assert (running.state, running.lines) == (Import.State.CANCELLED, 0)
        assert not Evaluation.objects.exists()
        assert not running.exceptions.exists()
        assert b"".join(chunk.data for chunk in source_files.stored_chunks(running)) == b"".join(
            blocks(2_000)
        )
        events = AuditEvent.objects.order_by("pk").values_list("action", "actor_name")
        assert list(events) == [("upload", "max"), ("cancel import", "lea"), ("import cancelled", "lea")]

    @pytest.mark.slow
    def test_cancelling_a_finished_import_changes_nothing(self, max: User) -> None:
        done = upload(max, [line("eval_1")])
        work()
        before = AuditEvent.objects.count()
        imports_job.cancel_import(import_id=done.pk, actor=max)
        done.refresh_from_db()
        assert (done.state, AuditEvent.objects.count()) == (Import.State.DONE, before)


class TestProgress:
    @pytest.mark.slow
    def test_progress_is_visible_before_the_import_commits(
        self, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        running = upload(max, blocks(2_000))
        seen: list[tuple[str, int, int]] = []
        monkeypatch.setattr(progress_connection, "SECONDS_BETWEEN_REPORTS", 0)

        def look() -> None:
            now = Import.objects.select_related("progress").get(pk=running.pk)
            seen.append((now.state, now.progress.bytes_done, now.progress.counts["new"]))
            assert Evaluation.objects.count() == 0

        when_reported(monkeypatch, look)
        work()
        states, sizes, counts = zip(*seen, strict=True)
        assert set(states) == {Import.State.RUNNING}
        assert sizes == tuple(sorted(sizes))
        assert (sizes[-1], counts[-1]) == (sum(map(len, blocks(2_000))), 2_000)

    @pytest.mark.slow
    def test_progress_starts_again_with_each_attempt(self, max: User) -> None:
        waiting = upload(max, [line("eval_1")])
        ImportProgress.objects.update(bytes_done=5, started_at=timezone.now(), reported_at=timezone.now())
        with imports_job.progress_reports(waiting.pk):
            progress = ImportProgress.objects.get()
            assert (progress.bytes_done, progress.seconds, progress.lines_per_second) == (0, 0, None)
        work()

    def test_progress_shows_speed_and_remaining_time(self) -> None:
        begin = timezone.now()
        progress = ImportProgress(
            size=4_000,
            bytes_done=1_000,
            counts={"lines": 50},
            started_at=begin,
            reported_at=begin + timedelta(seconds=10),
        )
        assert (progress.lines_per_second, progress.seconds_left) == (5, 30)


def when_reported(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Call a function on another connection after each report of a job."""
    import_upload = imports_job.import_upload

    def watched(*, import_id: int, progress: importer.Progress) -> None:
        def report(bytes_done: int, counts: dict[str, int]) -> None:
            progress(bytes_done, counts)
            together(action)

        import_upload(import_id=import_id, progress=report)

    monkeypatch.setattr(imports_job, "import_upload", watched)

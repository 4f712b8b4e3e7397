"""Full disk: uploads are rejected with a message, and jobs fail with it and can be retried."""

import errno
import html
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from psycopg import errors

from cognireview.operations import disk_full
from cognireview.operations.disk_full import is_disk_full
from cognireview.postgres import embedded
from reviews.database.statements import execute
from reviews.imports import bulk_insert, importer, jobs
from reviews.models import AuditEvent, Evaluation, Import, Run, Upload, UploadPart, User
from tests.support.api_requests import program_of
from tests.support.jobs import work
from tests.support.lines import file_of, line
from tests.support.pages import HTMX, text
from tests.views.files.test_uploads import TUS, make, send

FILE = file_of(line("e-1"), line("e-2"))
MARKER = "MARKER-9f3a7c"


def wrapped(cause: Exception) -> OperationalError:
    """Wrap an error as Django does."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (wrapped(errors.DiskFull("could not extend file")), True),
        (errors.DiskFull(), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (wrapped(errors.QueryCanceled()), False),
        (wrapped(psycopg.OperationalError("connection refused")), False),
        (OSError(errno.EACCES, "Permission denied"), False),
        (None, False),
    ],
    ids=repr,
)
def test_full_disk_is_recognised(error: Exception | None, answer: bool) -> None:
    assert is_disk_full(error) == answer


def test_full_disk_is_recognised_as_cause_of_another_error() -> None:
    followed = LookupError("nothing there")
    followed.__context__ = wrapped(errors.DiskFull())
    assert is_disk_full(followed)


@pytest.fixture
def fill(db: None) -> Callable[[str], None]:
    """Fail each INSERT into a table with the disk-full error of PostgreSQL."""

    def fill(table: str) -> None:
        execute(
            "CREATE OR REPLACE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';"
            " END $$"
        )
        execute(f"CREATE TRIGGER no_space BEFORE INSERT ON {table} EXECUTE FUNCTION no_space()")

    return fill


@pytest.fixture
def _low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report less free disk space than the reserve."""
    monkeypatch.setattr(settings.ENVIRONMENT, "database_url", "")
    monkeypatch.setattr(disk_full, "RESERVE", 2**62)


class TestUpload:
    """An upload is rejected with 507 and a message, and leaves nothing behind."""

    @pytest.mark.parametrize(
        "table", ["upload", "upload_part", "import", "source_chunk", "procrastinate_jobs"]
    )
    def test_api_upload_on_full_disk_leaves_nothing(
        self, max: User, fill: Callable[[str], None], table: str
    ) -> None:
        program = program_of(max)
        program._client.raise_request_exception = False
        fill(table)
        answer = program.ask("POST", "runs/algebra/imports", FILE, kind="application/x-ndjson")
        assert answer.status_code == 507
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"] == disk_full.MESSAGE
        assert not Upload.objects.exists()
        assert not Import.objects.exists()
        assert not Run.objects.exists()

    def test_resumable_upload_on_full_disk_keeps_received_parts(
        self, as_max: Client, fill: Callable[[str], None]
    ) -> None:
        address = make(as_max)["Location"]
        assert send(as_max, address, FILE[:100], offset=0).status_code == 204
        fill("upload_part")
        answer = send(as_max, address, FILE[100:], offset=100)
        assert (answer.status_code, answer["Content-Type"]) == (507, "text/plain; charset=utf-8")
        assert "The server's disk is full." in text(answer)
        assert as_max.head(address, headers=TUS)["Upload-Offset"] == "100"
        assert UploadPart.objects.count() == 1

    @pytest.mark.usefixtures("_low")
    def test_upload_stops_before_disk_is_full(self, as_max: Client) -> None:
        assert make(as_max).status_code == 507
        assert not Upload.objects.exists()


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part of a page"])
def test_page_on_full_disk_returns_507(as_max: Client, fill: Callable[[str], None], headers: Any) -> None:
    fill("audit_event")
    as_max.raise_request_exception = False
    answer = as_max.post(
        reverse("import-file"), {"file": SimpleUploadedFile("a.jsonl", FILE)}, headers=headers
    )
    assert answer.status_code == 507
    assert "The server's disk is full." in html.unescape(text(answer))
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
class TestJob:
    @pytest.fixture
    def failed(self, max: User, monkeypatch: pytest.MonkeyPatch) -> Import:
        """Return an import whose job failed on a full disk."""

        def fail(*_: object, **__: object) -> None:
            raise errors.DiskFull("could not extend file")

        source = receive(max)
        with monkeypatch.context() as patch:
            patch.setattr(importer, "insert_evaluations", fail)
            work()
        source.refresh_from_db()
        return source

    def test_job_on_full_disk_fails_and_leaves_nothing(self, failed: Import) -> None:
        assert (failed.state, failed.error) == (Import.State.FAILED, disk_full.MESSAGE)
        assert not Evaluation.objects.exists()

    def test_failed_job_can_be_retried(self, failed: Import, as_max: Client, max: User) -> None:
        address = reverse("retry-import", args=[failed.pk])
        assert address in text(as_max.get(reverse("import", args=[failed.pk])))
        as_max.post(address)
        as_max.post(address)
        work()
        failed.refresh_from_db()
        assert (failed.state, failed.error, failed.new) == (Import.State.DONE, "", 2)
        assert AuditEvent.objects.filter(action="import retried", actor=max).count() == 1
        assert address not in text(as_max.get(reverse("import", args=[failed.pk])))

    def test_job_stops_before_disk_is_full(self, max: User, monkeypatch: pytest.MonkeyPatch) -> None:
        source = receive(max)
        with monkeypatch.context() as patch:
            patch.setattr(settings.ENVIRONMENT, "database_url", "")
            patch.setattr(disk_full, "RESERVE", 2**62)
            work()
        source.refresh_from_db()
        assert (source.state, source.error) == (Import.State.FAILED, disk_full.MESSAGE)

    def test_job_with_invalid_lines_is_not_retried(self, max: User) -> None:
        source = receive(max, b"no record", strict=True)
        work()
        source.refresh_from_db()
        assert source.state == Import.State.FAILED
        jobs.retry_import(import_id=source.pk, actor=max)
        source.refresh_from_db()
        assert source.state == Import.State.FAILED

    def test_job_restarts_if_failure_cannot_be_recorded(
        self, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = receive(max)
        times = iter([True, False])

        def fail(**_: object) -> None:
            if next(times, False):
                raise errors.DiskFull("could not extend file")

        monkeypatch.setattr(jobs, "fail_upload", fail)
        with monkeypatch.context() as patch:
            patch.setattr(importer, "insert_evaluations", fail_once(bulk_insert.insert_evaluations))
            work()
        source.refresh_from_db()
        assert (source.state, source.new) == (Import.State.DONE, 2)


def fail_once(function: Callable[..., None]) -> Callable[..., None]:
    """Fail the first call with a full disk."""
    times = iter([True])

    def call(*arguments: Any) -> None:
        if next(times, False):
            raise errors.DiskFull("could not extend file")
        function(*arguments)

    return call


def receive(admin: User, content: bytes = FILE, *, strict: bool = False) -> Import:
    return jobs.enqueue_import(
        run_name="run", file_name="f.jsonl", blocks=[content], strict=strict, actor=admin
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A database on a disk of 200 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "statement", ["INSERT INTO part VALUES (%b)", "SELECT pg_logical_emit_message(true, '', %b)"]
)
def test_full_database_disk_logs_no_record_contents(small_disk: Path, statement: LiteralString) -> None:
    """The first statement cannot extend a table. The second one fills the write-ahead log: a PANIC."""
    data_dir = small_disk / "var"
    with embedded.running(data_dir):
        with connect(data_dir) as opened, (small_disk / "filler").open("wb", buffering=0) as filler:
            opened.execute("CREATE TABLE part (data bytea)")
            free = shutil.disk_usage(small_disk).free
            filler.write(bytes(max(0, free - 24 * 1024**2)))
            with pytest.raises(errors.DiskFull):
                repeat(opened, statement)
        (small_disk / "filler").unlink()
    log = (data_dir / "logs" / "postgres.log").read_text(errors="replace")
    assert MARKER not in log
    assert MARKER.encode().hex() not in log


def repeat(opened: psycopg.Connection[Any], statement: LiteralString) -> None:
    """Execute a statement with record contents until the disk is full."""
    with psycopg.Cursor(opened) as cursor:
        for _ in range(200):
            cursor.execute(statement, [MARKER.encode() + os.urandom(500_000)])


def connect(data_dir: Path) -> psycopg.Connection[Any]:
    place = embedded.connection_settings(data_dir)
    return psycopg.connect(
        dbname=place["NAME"], user=place["USER"], host=place["HOST"], port=place["PORT"], autocommit=True
    )

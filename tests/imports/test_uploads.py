"""Uploads in parts."""

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.http import UnreadablePostError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews.imports import importer, jobs, upload_parts, uploads
from reviews.imports.uploads import FileTooLarge, UploadQuotaExceeded, WrongOffset
from reviews.models import AuditEvent, Import, Run, Upload, UploadPart, User
from reviews.storage import source_files
from reviews.storage.chunks import BLOCK_SIZE, BOM
from reviews.storage.errors import ImportRefused
from tests.support.factories import UserFactory
from tests.support.lines import file_of, line

pytestmark = pytest.mark.django_db

FILE = gzip.compress(file_of(line("e-1"), line("e-2")))

_LINES = file_of(*(line(f"e-{number}") for number in range(4)))
TEXTS = (_LINES, BOM + _LINES[:-1], b"\n \n" + _LINES.replace(b"\n", b"\r\n"), line("e-1"))


def begin(actor: User, *, size: int = len(FILE), run_name: str = "algebra") -> Upload:
    return uploads.begin(file_name="algebra.jsonl.gz", run_name=run_name, strict=True, size=size, actor=actor)


class TestUpload:
    @pytest.mark.slow
    def test_upload_becomes_an_import_with_its_last_part(self, max: User) -> None:
        upload = begin(max)
        for start in range(0, len(FILE), 100):
            assert not Import.objects.exists()
            upload = uploads.append(upload, offset=start, data=FILE[start : start + 100])
        done = Import.objects.get()
        assert upload.source == done
        assert (done.target_name, done.file_name, done.strict, done.created_by, done.size) == (
            "algebra", "algebra.jsonl.gz", True, max, len(FILE),
        )  # fmt: skip
        assert b"".join(chunk.data for chunk in source_files.stored_chunks(done)) == gzip.decompress(FILE)
        assert not UploadPart.objects.exists()
        jobs.import_upload(import_id=done.pk)
        done.refresh_from_db()
        assert done.new == 2

    @pytest.mark.parametrize("offset", [0, 99, 101])
    def test_upload_accepts_the_next_part_only(self, offset: int, max: User) -> None:
        upload = uploads.append(begin(max), offset=0, data=FILE[:100])
        with pytest.raises(WrongOffset):
            uploads.append(upload, offset=offset, data=b"x")
        upload.refresh_from_db()
        assert (upload.offset, UploadPart.objects.count()) == (100, 1)

    @pytest.mark.slow
    def test_stored_parts_are_compressed(self, max: User) -> None:
        data = file_of(*(line(f"e-{number}") for number in range(3_000)))
        half = len(data) // 2
        upload = uploads.append(begin(max, size=len(data)), offset=0, data=data[:half])
        assert sum(len(part.data) for part in UploadPart.objects.all()) < half / 5
        done = uploads.append(upload, offset=half, data=data[half:]).source
        assert done
        stored = [chunk.data for chunk in source_files.stored_chunks(done)]
        assert b"".join(stored) == data
        assert all(len(text) < 2 * BLOCK_SIZE for text in stored)

    @pytest.mark.parametrize(("size", "with_digest"), [(300, False), (1_000, True), (100_000, True)])
    @pytest.mark.parametrize("data", TEXTS)
    def test_parts_of_lines_become_the_chunks(
        self, data: bytes, size: int, with_digest: bool, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(upload_parts, "BLOCK_SIZE", 1_000)
        upload, digest = begin(max, size=len(data)), hashlib.sha256() if with_digest else None
        for start in range(0, len(data), size):
            upload = uploads.append(upload, offset=start, data=data[start : start + size], digest=digest)
        done = upload.source
        assert done
        stored = [*source_files.stored_chunks(done)]
        assert b"".join(chunk.data for chunk in stored) == data
        assert (done.size, done.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert [chunk.first_line for chunk in stored] == [
            1 + sum(chunk.lines for chunk in stored[:number]) for number in range(len(stored))
        ]
        assert sum(chunk.lines for chunk in stored) == len(data.splitlines())
        assert not UploadPart.objects.exists()

    def test_parts_of_lines_are_not_cut_again(self, max: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importer, "cut_chunks", None)
        uploads.append(begin(max, size=len(TEXTS[0])), offset=0, data=TEXTS[0])

    @pytest.mark.slow
    def test_long_line_in_several_parts_is_rejected(self, max: User, settings: LazySettings) -> None:
        settings.LIMITS = replace(settings.LIMITS, line_bytes=BLOCK_SIZE)
        data = file_of(line("long", parsing_error="x" * BLOCK_SIZE), line("e-1"))
        upload = begin(max, size=len(data))
        Upload.objects.update(strict=False)
        for start in range(0, len(data), BLOCK_SIZE // 2):
            upload = uploads.append(upload, offset=start, data=data[start : start + BLOCK_SIZE // 2])
        assert upload.source
        jobs.import_upload(import_id=upload.source.pk)
        done = Import.objects.get()
        assert (done.new, done.rejected, done.lines) == (1, 1, 2)
        assert "is longer than" in done.exceptions.get().reason

    def test_upload_accepts_no_more_than_announced(self, max: User) -> None:
        with pytest.raises(FileTooLarge, match="longer than the announced"):
            uploads.append(begin(max), offset=0, data=FILE + b"x")

    def test_refused_upload_stays_without_its_last_part(self, max: User) -> None:
        upload = uploads.append(begin(max), offset=0, data=FILE[:100])
        with pytest.raises(ImportRefused, match="its gzip data has no end"):
            uploads.append(upload, offset=100, data=bytes(len(FILE) - 100))
        upload.refresh_from_db()
        assert (upload.offset, upload.source, Import.objects.count(), Run.objects.count()) == (
            100,
            None,
            0,
            0,
        )

    def test_upload_over_the_size_limit_is_refused_at_once(self, max: User, settings: LazySettings) -> None:
        settings.MAX_UPLOAD_BYTES = 1000
        with pytest.raises(FileTooLarge, match=r"larger than 1,000 bytes \(COGNIREVIEW_MAX_UPLOAD_BYTES\)"):
            begin(max, size=1001)

    @pytest.mark.parametrize(("size", "run_name"), [(0, "algebra"), (1, ""), (1, "x" * 201), (1, "a\u202eb")])
    def test_upload_without_content_or_run_is_refused_at_once(
        self, size: int, run_name: str, max: User
    ) -> None:
        with pytest.raises(ImportRefused):
            begin(max, size=size, run_name=run_name)
        assert not Upload.objects.exists()

    def test_discarded_upload_leaves_nothing(self, max: User) -> None:
        uploads.discard(upload=uploads.append(begin(max), offset=0, data=FILE[:100]), actor=max)
        assert not Upload.objects.exists()
        assert not UploadPart.objects.exists()


class TestSingleRequest:
    def take(self, actor: User, parts: Iterable[bytes]) -> Import:
        names: dict[str, Any] = {"file_name": "algebra.jsonl.gz", "run_name": "algebra", "strict": False}
        return uploads.receive(**names, size=len(FILE), parts=parts, actor=actor)

    def test_single_request_becomes_an_import(self, max: User) -> None:
        done = self.take(max, [FILE[:100], FILE[100:]])
        assert (done.target_name, done.size, done.created_by) == ("algebra", len(FILE), max)
        assert b"".join(chunk.data for chunk in source_files.stored_chunks(done)) == gzip.decompress(FILE)
        assert not UploadPart.objects.exists()

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    def test_single_request_waits_without_a_transaction(self, max: User) -> None:
        open_transactions = []

        def parts() -> Iterator[bytes]:
            for start in range(0, len(FILE), 100):
                open_transactions.append(connection.in_atomic_block)
                yield FILE[start : start + 100]

        self.take(max, parts())
        assert len(open_transactions) > 2
        assert not any(open_transactions)

    def test_parts_of_a_single_request_reach_the_disk_with_the_last_one(self, max: User) -> None:
        relaxed = "SET LOCAL synchronous_commit = off"
        with CaptureQueriesContext(connection) as queries:
            self.take(max, [FILE[:100], FILE[100:200], FILE[200:]])
        assert [query["sql"] for query in queries].count(relaxed) == 2
        with CaptureQueriesContext(connection) as queries:
            uploads.append(begin(max), offset=0, data=FILE[:100])
        assert relaxed not in {query["sql"] for query in queries}

    @pytest.mark.django_db(transaction=True)
    def test_interrupted_request_leaves_nothing(self, max: User) -> None:
        seen = []

        def parts() -> Iterator[bytes]:
            yield FILE[:100]
            seen.append(UploadPart.objects.count())
            raise UnreadablePostError

        with pytest.raises(UnreadablePostError):
            self.take(max, parts())
        assert seen == [1]
        assert not Upload.objects.exists()
        assert not UploadPart.objects.exists()
        assert not Import.objects.exists()

    @pytest.mark.parametrize("parts", [[FILE[:100]], [FILE[:100], bytes(len(FILE) - 100)]])
    def test_damaged_request_leaves_nothing(self, parts: list[bytes], max: User) -> None:
        with pytest.raises(ImportRefused):
            self.take(max, parts)
        assert not Upload.objects.exists()
        assert not Run.objects.exists()


class TestQuota:
    def test_one_person_cannot_begin_too_many_uploads(self, max: User, settings: LazySettings) -> None:
        settings.MAX_OPEN_UPLOADS = 2
        begin(max)
        uploads.append(begin(max), offset=0, data=FILE)
        begin(max)
        with pytest.raises(
            UploadQuotaExceeded, match=r"the limit is 2 \(COGNIREVIEW_MAX_OPEN_UPLOADS\)"
        ) as caught:
            begin(max)
        assert caught.value.too_many
        assert Upload.objects.filter(source=None).count() == 2

    def test_all_people_together_cannot_begin_too_many_uploads(
        self, max: User, settings: LazySettings
    ) -> None:
        settings.MAX_OPEN_UPLOADS_OVERALL = 2
        begin(max)
        begin(UserFactory.create(role="admin"))
        with pytest.raises(UploadQuotaExceeded, match="COGNIREVIEW_MAX_OPEN_UPLOADS_OVERALL"):
            begin(UserFactory.create(role="admin"))

    def test_expired_uploads_free_the_quota(self, max: User, settings: LazySettings) -> None:
        settings.MAX_OPEN_UPLOADS = 1
        Upload.objects.filter(pk=begin(max).pk).update(changed_at=timezone.now() - timedelta(hours=25))
        uploads.remove_expired()
        begin(max)

    def test_announced_size_reserves_nothing(self, max: User, settings: LazySettings) -> None:
        settings.MAX_OPEN_UPLOAD_BYTES = len(FILE)
        begin(max, size=settings.MAX_UPLOAD_BYTES)
        assert uploads.append(begin(max), offset=0, data=FILE).source

    @pytest.mark.parametrize("setting", ["MAX_OPEN_UPLOAD_BYTES", "MAX_OPEN_UPLOAD_BYTES_OVERALL"])
    def test_received_bytes_are_limited(self, setting: str, max: User, settings: LazySettings) -> None:
        setattr(settings, setting, 150)
        uploads.append(begin(max), offset=0, data=FILE[:100])
        second = begin(max)
        with pytest.raises(
            UploadQuotaExceeded, match=rf"have 100 bytes in total; the limit is 150 \(COGNIREVIEW_{setting}\)"
        ):
            uploads.append(second, offset=0, data=FILE[:51])
        assert uploads.append(second, offset=0, data=FILE[:50]).offset == 50


class TestAfterADay:
    def age(self, upload: Upload, hours: int) -> None:
        Upload.objects.filter(pk=upload.pk).update(changed_at=timezone.now() - timedelta(hours=hours))

    def test_unfinished_upload_expires_after_a_day(self, max: User) -> None:
        old, young = begin(max), begin(max)
        uploads.append(old, offset=0, data=FILE[:100])
        self.age(old, 25)
        self.age(young, 23)
        uploads.remove_expired()
        assert [upload.pk for upload in Upload.objects.all()] == [young.pk]
        assert not UploadPart.objects.exists()
        assert AuditEvent.objects.filter(action="upload expired").count() == 1

    def test_import_of_an_expired_upload_stays(self, max: User) -> None:
        upload = uploads.append(begin(max), offset=0, data=FILE)
        self.age(upload, 25)
        uploads.remove_expired()
        assert not Upload.objects.exists()
        assert Import.objects.get().chunks.exists()
        assert not AuditEvent.objects.filter(action="upload expired").exists()

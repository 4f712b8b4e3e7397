"""Downloads of exports: the file, ranges of it, its name and its receipt."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.exports import jobs, output
from reviews.models import Export, Run, User
from tests.support.factories import ExportFactory, RunFactory
from tests.views.files.conftest import EXPORTED

pytestmark = pytest.mark.django_db


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


class TestExportFile:
    @pytest.mark.slow
    def test_export_file_is_sent_with_length_and_hash(self, as_max: Client, export: Export) -> None:
        response = as_max.get(reverse("export-file", args=[export.pk]))
        assert (response.status_code, body(response)) == (200, EXPORTED)
        digest = hashlib.sha256(EXPORTED)
        assert response["Content-Length"] == str(len(EXPORTED))
        assert response["ETag"] == f'"{digest.hexdigest()}"'
        assert response["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        assert response["Accept-Ranges"] == "bytes"
        assert response["Content-Type"] == "application/x-ndjson"
        assert response["Content-Disposition"] == 'attachment; filename="algebra.jsonl"'

    @pytest.mark.slow
    def test_export_file_is_sent_from_any_byte(self, as_max: Client, export: Export) -> None:
        address = reverse("export-file", args=[export.pk])
        response = as_max.get(address, headers={"Range": "bytes=10-"})
        assert (response.status_code, body(response)) == (206, EXPORTED[10:])
        assert response["Content-Length"] == str(len(EXPORTED) - 10)
        assert response["Content-Range"] == f"bytes 10-{len(EXPORTED) - 1}/{len(EXPORTED)}"

    @pytest.mark.slow
    def test_export_file_is_sent_whole_if_it_has_changed(self, as_max: Client, export: Export) -> None:
        address = reverse("export-file", args=[export.pk])
        begun = {"Range": "bytes=10-", "If-Range": '"another"'}
        assert as_max.get(address, headers=begun).status_code == 200
        same = begun | {"If-Range": f'"{export.sha256}"'}
        assert as_max.get(address, headers=same).status_code == 206

    @pytest.mark.slow
    def test_export_file_has_no_bytes_after_its_end(self, as_max: Client, export: Export) -> None:
        response = as_max.get(
            reverse("export-file", args=[export.pk]), headers={"Range": f"bytes={len(EXPORTED)}-"}
        )
        assert response.status_code == 416
        assert response["Content-Range"] == f"bytes */{len(EXPORTED)}"

    @pytest.mark.slow
    def test_export_file_answers_head(self, as_max: Client, export: Export) -> None:
        response = as_max.head(reverse("export-file", args=[export.pk]))
        assert (response.status_code, body(response)) == (200, b"")
        assert response["Content-Length"] == str(len(EXPORTED))

    def test_empty_export_file_is_sent(self, as_max: Client, algebra: Run, max: User) -> None:
        export = jobs.enqueue(options=output.ExportOptions(algebra, only="reviewed"), actor=max)
        jobs.build(export_id=export.pk)
        response = as_max.get(reverse("export-file", args=[export.pk]))
        assert (response.status_code, body(response), response["Content-Length"]) == (200, b"", "0")

    @pytest.mark.parametrize("name", ["export-file", "export-receipt"])
    def test_unfinished_export_file_does_not_exist(self, name: str, as_max: Client) -> None:
        assert as_max.get(reverse(name, args=[ExportFactory.create().pk])).status_code == 404

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("chosen", "name", "content_type"),
        [
            ({"only": "reviewed"}, "algebra-reviewed.jsonl", "application/x-ndjson"),
            ({"format": "csv"}, "algebra.csv", "text/csv; charset=utf-8"),
            ({"format": "parquet"}, "algebra.parquet", "application/vnd.apache.parquet"),
            ({"compression": "gzip"}, "algebra.jsonl.gz", "application/gzip"),
            ({"format": "csv", "compression": "zstd"}, "algebra.csv.zst", "application/zstd"),
        ],
    )
    def test_export_file_has_a_name_and_a_content_type(
        self, chosen: dict[str, str], name: str, content_type: str, as_max: Client, algebra: Run
    ) -> None:
        as_max.post(reverse("export", args=[algebra.pk]), chosen)
        export = Export.objects.get()
        jobs.build(export_id=export.pk)
        response = as_max.get(reverse("export-file", args=[export.pk]))
        assert response["Content-Disposition"] == f'attachment; filename="{name}"'
        assert response["Content-Type"] == content_type

    @pytest.mark.parametrize(
        ("name", "file_name"),
        [
            ('a "b"; \\c/../d', 'attachment; filename="a_b_c_.._d.jsonl"'),
            ("../.hidden", 'attachment; filename="_.hidden.jsonl"'),
            ("Größe", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.jsonl"),
        ],
    )
    def test_export_file_has_a_safe_name(self, name: str, file_name: str, as_max: Client) -> None:
        export = ExportFactory.create(run=RunFactory.create(name=name))
        jobs.build(export_id=export.pk)
        assert as_max.get(reverse("export-file", args=[export.pk]))["Content-Disposition"] == file_name


class TestExportReceipt:
    @pytest.mark.slow
    def test_export_receipt_describes_the_file(self, as_max: Client, export: Export) -> None:
        response = as_max.get(reverse("export-receipt", args=[export.pk]))
        assert response["Content-Disposition"] == 'attachment; filename="algebra.jsonl.receipt.json"'
        receipt = json.loads(body(response))
        assert receipt["output"]["sha256"] == export.sha256
        assert receipt["output"]["name"] == "algebra.jsonl"

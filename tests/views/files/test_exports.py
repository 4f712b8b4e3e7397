"""Export pages: request, progress, and download of files and ranges."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.exports import jobs, output
from reviews.exports.downloads import asked_range
from reviews.models import Evaluation, Export, ExportProgress, Import, Run, User
from tests.support.factories import ExportFactory, ImportFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db

FILE = file_of(line("e-1"), b"no record", line("e-2"))
OUT = file_of(line("e-1"), line("e-2"))


@pytest.fixture
def run(db: None) -> Run:
    """Return the run "algebra" with two imported records."""
    return import_data(FILE, run="algebra").target_run


@pytest.fixture
def export(run: Run, max: User) -> Export:
    """Return a finished export of all its lines."""
    export = jobs.enqueue(options=output.ExportOptions(run), actor=max)
    jobs.build(export_id=export.pk)
    export.refresh_from_db()
    return export


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


class TestExportRequest:
    def test_export_request_redirects_to_its_page(self, as_max: Client, run: Run, max: User) -> None:
        response = as_max.post(reverse("export", args=[run.pk]))
        export = Export.objects.get()
        assert response.status_code == 302
        assert response["Location"] == reverse("export-page", args=[export.pk])
        assert (export.run, export.created_by) == (run, max)
        assert output.export_options(export) == output.ExportOptions(run)

    def test_export_request_uses_the_chosen_options(self, as_max: Client, run: Run) -> None:
        source = Import.objects.get()
        chosen = {"only": "reviewed", "only_import": source.pk, "format": "csv", "compression": "gzip"}
        as_max.post(reverse("export", args=[run.pk]), chosen)
        order = output.export_options(Export.objects.get())
        assert order == output.ExportOptions(
            run, only="reviewed", only_import=source, format="csv", compression="gzip"
        )

    @pytest.mark.parametrize(
        ("chosen", "sentence"),
        [
            ({"only": "some"}, "some is not one of the available choices"),
            ({"only": "reviewed", "with_rejected": "on"}, "have no review"),
            ({"format": "parquet", "compression": "zstd"}, "Parquet files are already compressed"),
            ({"only_import": "10000000000000000000"}, "That choice is not one of the available choices"),
        ],
    )
    def test_invalid_export_request_shows_the_reason(
        self, chosen: dict[str, str], sentence: str, as_max: Client, run: Run
    ) -> None:
        response = as_max.post(reverse("export", args=[run.pk]), chosen)
        assert response.status_code == 422
        assert sentence in text(response)
        assert not Export.objects.exists()

    @pytest.mark.slow
    def test_export_form_offers_finished_imports_of_the_run(self, as_max: Client, run: Run) -> None:
        ImportFactory.create(file_name="elsewhere.jsonl")
        ImportFactory.create(run=run, file_name="failed.jsonl", state=Import.State.FAILED)
        page = text(as_max.get(reverse("export", args=[run.pk])))
        assert f"algebra.jsonl (import {Import.objects.earliest('pk').pk})" in page
        assert "elsewhere.jsonl" not in page
        assert "failed.jsonl" not in page

    @pytest.mark.slow
    def test_export_list_shows_the_exports_of_the_run(self, as_max: Client, export: Export) -> None:
        other = ExportFactory.create()
        page = text(as_max.get(reverse("export", args=[export.run.pk])))
        assert reverse("export-page", args=[export.pk]) in page
        assert "all lines, jsonl · by max" in page
        assert reverse("export-page", args=[other.pk]) not in page


class TestExportPage:
    @pytest.mark.slow
    def test_export_page_polls_until_the_file_is_ready(self, as_max: Client, run: Run) -> None:
        export = ExportFactory.create(run=run)
        address = reverse("export-page", args=[export.pk])
        page = text(as_max.get(address))
        assert f'hx-get="{address}" hx-trigger="every 0.5s"' in page
        assert "Waiting to start." in page
        jobs.build(export_id=export.pk)
        state = as_max.get(address, headers={"HX-Request": "true"})
        assert "<html" not in text(state)
        assert "hx-trigger" not in text(state)

    def test_export_page_shows_progress(self, as_max: Client) -> None:
        export = ExportFactory.create()
        ExportProgress.objects.update(bytes_read=2048, bytes_to_read=4096)
        page = text(as_max.get(reverse("export-page", args=[export.pk])))
        assert 'max="4096" value="2048"' in page
        assert "2.0 KB of 4.0 KB read." in page

    @pytest.mark.slow
    def test_export_page_shows_hash_and_links(self, as_max: Client, export: Export) -> None:
        page = text(as_max.get(reverse("export-page", args=[export.pk])))
        assert hashlib.sha256(OUT).hexdigest() in page
        assert "2 exported (0 modified), 1 omitted" in page
        assert reverse("export-file", args=[export.pk]) in page
        assert reverse("export-receipt", args=[export.pk]) in page

    def test_export_page_shows_why_it_failed(self, as_max: Client) -> None:
        export = ExportFactory.create()
        jobs.fail(export_id=export.pk, error="ZeroDivisionError: <a bug>")
        page = text(as_max.get(reverse("export-page", args=[export.pk])))
        assert "ZeroDivisionError: &lt;a bug&gt;" in page


class TestExportFile:
    @pytest.mark.slow
    def test_export_file_is_sent_with_length_and_hash(self, as_max: Client, export: Export) -> None:
        response = as_max.get(reverse("export-file", args=[export.pk]))
        assert (response.status_code, body(response)) == (200, OUT)
        digest = hashlib.sha256(OUT)
        assert response["Content-Length"] == str(len(OUT))
        assert response["ETag"] == f'"{digest.hexdigest()}"'
        assert response["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        assert response["Accept-Ranges"] == "bytes"
        assert response["Content-Type"] == "application/x-ndjson"
        assert response["Content-Disposition"] == 'attachment; filename="algebra.jsonl"'

    @pytest.mark.slow
    def test_export_file_is_sent_from_any_byte(self, as_max: Client, export: Export) -> None:
        address = reverse("export-file", args=[export.pk])
        response = as_max.get(address, headers={"Range": "bytes=10-"})
        assert (response.status_code, body(response)) == (206, OUT[10:])
        assert response["Content-Length"] == str(len(OUT) - 10)
        assert response["Content-Range"] == f"bytes 10-{len(OUT) - 1}/{len(OUT)}"

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
            reverse("export-file", args=[export.pk]), headers={"Range": f"bytes={len(OUT)}-"}
        )
        assert response.status_code == 416
        assert response["Content-Range"] == f"bytes */{len(OUT)}"

    @pytest.mark.slow
    def test_export_file_answers_head(self, as_max: Client, export: Export) -> None:
        response = as_max.head(reverse("export-file", args=[export.pk]))
        assert (response.status_code, body(response)) == (200, b"")
        assert response["Content-Length"] == str(len(OUT))

    def test_empty_export_file_is_sent(self, as_max: Client, run: Run, max: User) -> None:
        export = jobs.enqueue(options=output.ExportOptions(run, only="reviewed"), actor=max)
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
        self, chosen: dict[str, str], name: str, content_type: str, as_max: Client, run: Run
    ) -> None:
        as_max.post(reverse("export", args=[run.pk]), chosen)
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


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("", None),
        ("bytes=0-0", range(1)),
        ("bytes=0-9", range(10)),
        ("bytes=3-", range(3, 10)),
        ("bytes=3-99", range(3, 10)),
        ("bytes=-4", range(6, 10)),
        ("bytes=-99", range(10)),
        ("bytes=-0", range(10, 10)),
        ("bytes=10-", range(10, 10)),
        ("bytes=11-12", range(11, 10)),
        ("bytes=-", None),
        ("bytes=5-4", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=x-", None),
    ],
)
def test_range_header_is_parsed_as_in_http(header: str, asked: range | None) -> None:
    assert asked_range(header, 10) == asked
    assert bool(asked_range(header, 10)) == bool(asked)


def test_run_page_links_to_its_export(as_max: Client, run: Run) -> None:
    assert Evaluation.objects.filter(run=run).exists()
    page = text(as_max.get(reverse("run", args=[run.pk])))
    assert f'href="{reverse("export", args=[run.pk])}"' in page

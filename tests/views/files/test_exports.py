"""Export pages: the request, its progress and the list of exports."""

import hashlib

import pytest
from django.test import Client
from django.urls import reverse

from reviews.exports import jobs, output
from reviews.models import Evaluation, Export, ExportProgress, Import, Run, User
from tests.support.factories import ExportFactory, ImportFactory
from tests.support.pages import text
from tests.views.files.conftest import EXPORTED

pytestmark = pytest.mark.django_db


class TestExportRequest:
    def test_export_request_redirects_to_its_page(self, as_max: Client, algebra: Run, max: User) -> None:
        response = as_max.post(reverse("export", args=[algebra.pk]))
        export = Export.objects.get()
        assert response.status_code == 302
        assert response["Location"] == reverse("export-page", args=[export.pk])
        assert (export.run, export.created_by) == (algebra, max)
        assert output.export_options(export) == output.ExportOptions(algebra)

    def test_export_request_uses_the_chosen_options(self, as_max: Client, algebra: Run) -> None:
        source = Import.objects.get()
        chosen = {"only": "reviewed", "only_import": source.pk, "format": "csv", "compression": "gzip"}
        as_max.post(reverse("export", args=[algebra.pk]), chosen)
        order = output.export_options(Export.objects.get())
        assert order == output.ExportOptions(
            algebra, only="reviewed", only_import=source, format="csv", compression="gzip"
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
        self, chosen: dict[str, str], sentence: str, as_max: Client, algebra: Run
    ) -> None:
        response = as_max.post(reverse("export", args=[algebra.pk]), chosen)
        assert response.status_code == 422
        assert sentence in text(response)
        assert not Export.objects.exists()

    @pytest.mark.slow
    def test_export_form_offers_finished_imports_of_the_run(self, as_max: Client, algebra: Run) -> None:
        ImportFactory.create(file_name="elsewhere.jsonl")
        ImportFactory.create(run=algebra, file_name="failed.jsonl", state=Import.State.FAILED)
        page = text(as_max.get(reverse("export", args=[algebra.pk])))
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
    def test_export_page_polls_until_the_file_is_ready(self, as_max: Client, algebra: Run) -> None:
        export = ExportFactory.create(run=algebra)
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
        assert hashlib.sha256(EXPORTED).hexdigest() in page
        assert "2 exported (0 modified), 1 omitted" in page
        assert reverse("export-file", args=[export.pk]) in page
        assert reverse("export-receipt", args=[export.pk]) in page

    def test_export_page_shows_why_it_failed(self, as_max: Client) -> None:
        export = ExportFactory.create()
        jobs.fail(export_id=export.pk, error="ZeroDivisionError: <a bug>")
        page = text(as_max.get(reverse("export-page", args=[export.pk])))
        assert "ZeroDivisionError: &lt;a bug&gt;" in page


def test_run_page_links_to_its_export(as_max: Client, algebra: Run) -> None:
    assert Evaluation.objects.filter(run=algebra).exists()
    page = text(as_max.get(reverse("run", args=[algebra.pk])))
    assert f'href="{reverse("export", args=[algebra.pk])}"' in page

"""The page that confirms the mapping for an uploaded file of a known tool."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from reviews.imports.jobs import import_upload
from reviews.models import AuditEvent, Import, Run, Upload, UploadPart, User
from tests.exports.test_archives import packed
from tests.imports.test_recognition import MT_BENCH_FILE
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.views.files.test_uploads import TUS, make, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(as_max: Client) -> str:
    """Upload a file of MT-Bench as max, and return the address of the page it leads to."""
    address = make(as_max, length=len(MT_BENCH_FILE), filename="judgments.jsonl")["Location"]
    assert send(as_max, address, MT_BENCH_FILE, offset=0).status_code == 204
    led = as_max.get(address)
    assert led.status_code == 302
    return str(led["Location"])


def post(client: Client, address: str, **values: str) -> Any:
    return client.post(address, {"run_name": "judgments"} | values)


class TestPreview:
    def test_upload_of_a_known_tool_shows_its_first_records(self, as_max: Client, address: str) -> None:
        shown = text(as_max.get(address))
        assert "The file contains MT-Bench judgments of single answers. Nothing is imported yet." in shown
        assert shown.count("Rating: 2") == 3
        assert "mt-bench/81/alpaca-13b/2" in shown
        assert not Run.objects.exists()
        assert not Import.objects.exists()

    @pytest.mark.slow
    def test_upload_of_a_known_archive_shows_its_first_records(self, as_max: Client) -> None:
        sample = {"id": 1, "uuid": "u-1", "epoch": 1, "input": "Why?", "target": "So.", "scores": None}
        files = {"samples/1.json": json.dumps(sample).encode(), "header.json": b"{}"}
        sent = {"file": SimpleUploadedFile("log.eval", packed(files))}
        page = as_max.post(reverse("import-file"), sent)["Location"]
        assert '<th scope="row">u-1</th>' in text(as_max.get(page))
        source = as_max.post(page, {"run_name": "log"})["Location"]
        import_upload(import_id=Import.objects.get().pk)
        assert source == reverse("import", args=[Import.objects.get(new=1).pk])

    def test_form_without_script_leads_to_the_same_page(self, as_max: Client) -> None:
        sent = {"file": SimpleUploadedFile("judgments.jsonl", MT_BENCH_FILE), "run_name": "bench"}
        answer = as_max.post(reverse("import-file"), sent)
        upload = Upload.objects.get()
        assert answer["Location"] == reverse("upload-mapping", args=[upload.pk])
        assert 'value="bench"' in text(as_max.get(answer["Location"]))
        assert not Run.objects.exists()

    def test_form_without_script_names_the_limit_of_uploads(self, as_max: Client, settings: Any) -> None:
        settings.MAX_OPEN_UPLOADS = 0
        sent = {"file": SimpleUploadedFile("judgments.jsonl", MT_BENCH_FILE)}
        answer = as_max.post(reverse("import-file"), sent)
        assert answer.status_code == 422
        assert "COGNIREVIEW_MAX_OPEN_UPLOADS" in text(answer)

    def test_page_does_not_exist_for_an_incomplete_upload(self, as_max: Client) -> None:
        make(as_max)
        address = reverse("upload-mapping", args=[Upload.objects.get().pk])
        assert as_max.get(address).status_code == 404

    @pytest.mark.slow
    def test_page_belongs_to_the_author_of_the_upload(self, as_max: Client, address: str, lea: User) -> None:
        lea.groups.set(User.objects.get(username="max").groups.all())
        other = Client()
        other.force_login(lea)
        assert other.get(address).status_code == 404
        assert post(other, address).status_code == 404


@pytest.mark.slow
class TestConfirmation:
    def test_confirmed_upload_is_imported_with_the_mapping(self, as_max: Client, address: str) -> None:
        answer = post(as_max, address, run_name="bench")
        source = Import.objects.get()
        assert answer["Location"] == reverse("import", args=[source.pk])
        import_upload(import_id=source.pk)
        source.refresh_from_db()
        assert (source.target_name, source.new, source.rejected) == ("bench", 5, 0)
        assert export_data(run="bench") == MT_BENCH_FILE
        assert not UploadPart.objects.exists()
        assert AuditEvent.objects.filter(action="map run", run=source.run).exists()

    def test_second_confirmation_leads_to_the_same_import(self, as_max: Client, address: str) -> None:
        first = post(as_max, address)["Location"]
        assert post(as_max, address)["Location"] == first
        assert as_max.get(address)["Location"] == first
        assert Import.objects.count() == 1

    def test_run_with_other_records_is_refused_and_the_upload_stays(
        self, as_max: Client, address: str
    ) -> None:
        import_data(file_of(line()), run="judgments")
        answer = post(as_max, address)
        assert answer.status_code == 422
        assert "has records that were read with another mapping" in text(answer)
        assert post(as_max, address, run_name="another").status_code == 302

    @pytest.mark.parametrize("name", ["", "x" * 201, "a\0b"])
    def test_invalid_run_name_is_refused(self, name: str, as_max: Client, address: str) -> None:
        assert post(as_max, address, run_name=name).status_code == 422
        assert not Run.objects.exists()

    def test_upload_can_be_cancelled(self, as_max: Client, address: str) -> None:
        assert post(as_max, address, cancel="yes")["Location"] == reverse("runs")
        assert not Upload.objects.exists()
        assert not Run.objects.exists()

    def test_confirmed_upload_of_a_known_tool_goes_into_its_run_without_confirmation(
        self, as_max: Client, address: str
    ) -> None:
        post(as_max, address, run_name="bench")
        import_upload(import_id=Import.objects.get().pk)
        second = make(as_max, length=len(MT_BENCH_FILE), run="bench")["Location"]
        send(as_max, second, MT_BENCH_FILE, offset=0)
        assert as_max.get(second)["Location"] == reverse("import", args=[Import.objects.latest("pk").pk])
        assert as_max.head(second, headers=TUS).status_code == 200

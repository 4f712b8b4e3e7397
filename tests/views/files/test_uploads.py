"""Resumable uploads by the tus protocol."""

import base64
from typing import Any

import pytest
import zstandard
from django.conf import LazySettings
from django.http import UnreadablePostError
from django.test import Client, RequestFactory
from django.urls import reverse

from reviews.models import Import, Run, Upload, UploadPart, User
from reviews.storage.chunks import BLOCK_SIZE
from reviews.views.files import uploads as views
from tests.support.lines import file_of, line

pytestmark = pytest.mark.django_db

FILE = file_of(line("e-1"), line("e-2"))
TUS = {"Tus-Resumable": "1.0.0"}


def metadata(**values: str) -> str:
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def make(client: Client, *, length: object = len(FILE), **values: str) -> Any:
    described = metadata(**({"filename": "algebra.jsonl"} | values))
    headers = TUS | {"Upload-Length": str(length), "Upload-Metadata": described}
    return client.post(reverse("uploads"), headers=headers)


def send(client: Client, address: str, data: bytes, *, offset: object, **other: str) -> Any:
    content_type = other.pop("content_type", "application/offset+octet-stream")
    return client.patch(
        address, data, content_type=content_type, headers=TUS | {"Upload-Offset": str(offset)} | other
    )


@pytest.fixture
def address(as_max: Client) -> str:
    """Begin an upload of `FILE` as max, and return its URL."""
    return str(make(as_max)["Location"])


class TestUpload:
    @pytest.mark.slow
    def test_tus_upload_redirects_to_its_import(self, as_max: Client, max: User) -> None:
        made = make(as_max, run="Algebra", strict="true")
        assert made.status_code == 201
        address = made["Location"]
        assert send(as_max, address, FILE[:100], offset=0)["Upload-Offset"] == "100"
        asked = as_max.head(address, headers=TUS)
        assert (asked["Upload-Offset"], asked["Upload-Length"]) == ("100", str(len(FILE)))
        assert asked["Cache-Control"] == "no-store"
        last = send(as_max, address, FILE[100:], offset=100)
        assert (last.status_code, last["Upload-Offset"]) == (204, str(len(FILE)))
        upload = Import.objects.get()
        assert (upload.target_name, upload.strict, upload.created_by) == ("Algebra", True, max)
        led = as_max.get(address)
        assert (led.status_code, led["Location"]) == (302, reverse("import", args=[upload.pk]))

    def test_tus_upload_names_the_run_after_the_file(self, as_max: Client) -> None:
        make(as_max, filename="../Set 2.jsonl.gz", run="")
        assert Upload.objects.get().run_name == "Set 2"

    def test_tus_options_list_the_capabilities(self, as_max: Client, settings: LazySettings) -> None:
        response = as_max.options(reverse("uploads"))
        assert response.status_code == 204
        assert response["Tus-Version"] == "1.0.0"
        assert response["Tus-Extension"] == "creation,termination"
        assert response["Tus-Max-Size"] == str(settings.MAX_UPLOAD_BYTES)

    def test_tus_upload_can_be_cancelled(self, as_max: Client, address: str) -> None:
        assert as_max.delete(address, headers=TUS).status_code == 204
        assert as_max.head(address, headers=TUS).status_code == 404
        assert not Upload.objects.exists()

    def test_tus_upload_is_stored_in_parts(self, as_max: Client) -> None:
        data = bytes(2 * BLOCK_SIZE + 5)
        address = make(as_max, length=len(data) + 1)["Location"]
        send(as_max, address, data, offset=0)
        sizes = [len(zstandard.decompress(part.data)) for part in UploadPart.objects.order_by("offset")]
        assert sizes == [BLOCK_SIZE, BLOCK_SIZE, 5]


class TestRejectedUpload:
    def answer(self, response: Any, status: int, sentence: str) -> None:
        assert response.status_code == status
        assert response["Content-Type"].startswith("text/plain")
        assert response["Tus-Resumable"] == "1.0.0"
        assert sentence in response.content.decode()

    def test_tus_refuses_too_many_uploads_or_bytes(self, as_max: Client, address: str, settings: Any) -> None:
        settings.MAX_OPEN_UPLOAD_BYTES = len(FILE) - 1
        self.answer(send(as_max, address, FILE, offset=0), 413, "COGNIREVIEW_MAX_OPEN_UPLOAD_BYTES")
        settings.MAX_OPEN_UPLOADS = 1
        self.answer(make(as_max), 429, "COGNIREVIEW_MAX_OPEN_UPLOADS")

    def test_tus_refuses_another_version(self, as_max: Client, address: str) -> None:
        response = as_max.head(address, headers={"Tus-Resumable": "0.2.2"})
        assert (response.status_code, response["Tus-Version"]) == (412, "1.0.0")

    @pytest.mark.parametrize("offset", [1, 10**17])
    def test_tus_refuses_another_offset(self, offset: int, as_max: Client, address: str) -> None:
        self.answer(send(as_max, address, FILE, offset=offset), 409, "has another offset")

    @pytest.mark.parametrize("number", ["", "-1", "x", "1" * 30])
    def test_tus_refuses_an_invalid_number(self, number: str, as_max: Client, address: str) -> None:
        self.answer(send(as_max, address, FILE, offset=number), 400, "Upload-Offset must be a number")
        self.answer(make(as_max, length=number), 400, "Upload-Length must be a number")

    def test_tus_refuses_another_content_type(self, as_max: Client, address: str) -> None:
        self.answer(send(as_max, address, FILE, offset=0, content_type="text/plain"), 415, "offset+octet")

    def test_tus_refuses_more_bytes_than_announced(self, as_max: Client, address: str) -> None:
        self.answer(send(as_max, address, FILE + b"x", offset=0), 413, "longer than the announced")

    def test_tus_refuses_a_file_over_the_limit(self, as_max: Client, settings: LazySettings) -> None:
        self.answer(make(as_max, length=settings.MAX_UPLOAD_BYTES + 1), 413, "COGNIREVIEW_MAX_UPLOAD_BYTES")

    @pytest.mark.parametrize("described", ["filename !", "filename /w==", "filename AA==", "strict MQ=="])
    def test_tus_refuses_unreadable_metadata(self, described: str, as_max: Client) -> None:
        headers = TUS | {"Upload-Length": "1", "Upload-Metadata": described}
        self.answer(as_max.post(reverse("uploads"), headers=headers), 400, "Upload-Metadata must")

    def test_tus_refuses_an_invalid_run_name(self, as_max: Client) -> None:
        self.answer(make(as_max, run="x" * 201), 422, "at most 200 printable characters")

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (b"\xff\xfe{\0}\0", "The file is UTF-16."),
            (b"id,score\n1,Yes\n", "it is a CSV file with the columns id, score."),
        ],
    )
    def test_tus_refuses_a_file_that_cannot_be_imported(
        self, data: bytes, sentence: str, as_max: Client
    ) -> None:
        address = make(as_max, length=len(data))["Location"]
        self.answer(send(as_max, address, data, offset=0), 422, sentence)
        assert not Upload.objects.exists()
        assert not Import.objects.exists()
        assert not Run.objects.exists()

    def test_tus_upload_without_import_has_no_redirect(self, as_max: Client, address: str) -> None:
        assert as_max.get(address).status_code == 404


class TestPermission:
    def test_tus_upload_belongs_to_its_author(self, as_max: Client, address: str, lea: User) -> None:
        other = Client()
        lea.groups.set(User.objects.get(username="max").groups.all())
        other.force_login(lea)
        assert other.head(address, headers=TUS).status_code == 404
        assert send(other, address, FILE, offset=0).status_code == 404
        assert other.delete(address, headers=TUS).status_code == 404
        assert Upload.objects.get().offset == 0

    def test_tus_upload_requires_an_admin(self, as_ana: Client) -> None:
        assert make(as_ana).status_code == 403
        assert not Upload.objects.exists()

    @pytest.mark.parametrize("method", ["patch", "delete"])
    def test_tus_upload_requires_a_csrf_token(self, method: str, address: str, max: User) -> None:
        careful = Client(enforce_csrf_checks=True)
        careful.force_login(max)
        assert getattr(careful, method)(address, headers=TUS).status_code == 403


class TestInterruptedUpload:
    class Cut:
        """A request body that is interrupted."""

        def __init__(self, *blocks: bytes) -> None:
            self._blocks = list(blocks)

        def read(self, size: int) -> bytes:
            if not self._blocks:
                raise UnreadablePostError
            return self._blocks.pop(0)

    def test_interrupted_tus_upload_keeps_the_received_part(
        self, as_max: Client, address: str, max: User
    ) -> None:
        request: Any = RequestFactory().patch(
            address,
            FILE,
            content_type="application/offset+octet-stream",
            headers=TUS | {"Upload-Offset": "0"},
        )
        request.user = max
        request.read = self.Cut(FILE[:60], FILE[60:100]).read
        response = views.upload(request, pk=Upload.objects.get().pk)
        assert (response.status_code, response["Upload-Offset"]) == (204, "100")
        send(as_max, address, FILE[100:], offset=100)
        assert Import.objects.get().size == len(FILE)

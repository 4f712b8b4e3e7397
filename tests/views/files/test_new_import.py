"""The page on which an admin imports a file."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews.models import Import, Run, User
from tests.support.lines import file_of, line
from tests.support.pages import jsonl, text

pytestmark = pytest.mark.django_db
IMPORT = "/import/"


def test_form_has_the_name_of_a_run(as_max: Client) -> None:
    assert 'value="Algebra"' in text(as_max.get(IMPORT, {"run": "Algebra"}))


def test_upload_redirects_to_its_import(as_max: Client, max: User) -> None:
    response = as_max.post(IMPORT, {"file": jsonl(line("e-1")), "run_name": "Algebra"})
    upload = Import.objects.get()
    assert response.status_code == 302
    assert response["Location"] == reverse("import", args=[upload.pk])
    assert (upload.target_name, upload.file_name, upload.created_by) == ("Algebra", "algebra.jsonl", max)


def test_upload_enqueues_a_job(as_max: Client) -> None:
    as_max.post(IMPORT, {"file": jsonl(line("e-1"))})
    upload = Import.objects.get()
    assert upload.state == Import.State.QUEUED
    assert ProcrastinateJob.objects.get().args == {"import_id": upload.pk}


def test_upload_without_name_names_the_run_after_the_file(as_max: Client) -> None:
    as_max.post(IMPORT, {"file": jsonl(line("e-1"), name="Set 2.final.jsonl")})
    assert Import.objects.get().run_name == "Set 2.final"


def test_upload_sanitizes_the_file_name(as_max: Client) -> None:
    as_max.post(IMPORT, {"file": jsonl(line("e-1"), name="../../etc/passwd")})
    assert Import.objects.get().file_name == "passwd"


@pytest.mark.parametrize(
    ("file", "run_name", "sentence"),
    [
        (None, "Algebra", "Choose a file."),
        (jsonl(), "Algebra", "The submitted file is empty."),
        (jsonl(b"\xff\xfe{\0}\0"), "Algebra", "The file is UTF-16."),
        (jsonl(b"\x89PNG\r\n\x1a\n\0"), "Algebra", "it is a PNG image."),
        (jsonl(line("e-1")), "x" * 201, "at most 200 characters"),
        (jsonl(line("e-1")), "a\0b", "Null characters are not allowed."),
        (jsonl(line("e-1")), "a\u202eb", "printable characters"),
    ],
)
def test_rejected_upload_shows_the_reason_and_stores_nothing(
    file: SimpleUploadedFile | None, run_name: str, sentence: str, as_max: Client
) -> None:
    posted = {"run_name": run_name} | ({"file": file} if file else {})
    if file:
        file.seek(0)
    response = as_max.post(IMPORT, posted)
    assert response.status_code == 422
    assert sentence in text(response)
    assert not Import.objects.exists()
    assert not Run.objects.exists()


def test_interrupted_upload_is_rejected(as_max: Client) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    response = as_max.generic(
        "POST", IMPORT, head + file_of(line("e-1")), content_type="multipart/form-data; boundary=x"
    )
    assert response.status_code == 422
    assert "the upload was interrupted" in text(response)
    assert not Import.objects.exists()


def test_upload_is_denied_for_reviewers(as_ana: Client) -> None:
    response = as_ana.post(IMPORT, {"file": jsonl(line("e-1"))})
    assert response.status_code == 403
    assert "Only an admin can import files." in text(response)
    assert not Import.objects.exists()

"""Resumable uploads by token."""

import base64
from typing import Any

import pytest

from reviews.accounts import api_tokens
from reviews.models import Import, Upload, User
from tests.support.api_requests import Program, program_of
from tests.support.lines import file_of, line

pytestmark = pytest.mark.django_db

FILE = file_of(line("a"), line("b"))
KIND = "application/offset+octet-stream"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def begin(program: Program, size: int = len(FILE), *, metadata: str = "") -> Any:
    metadata = metadata or f"filename {encoded('a.jsonl')},run {encoded('nightly')},strict {encoded('true')}"
    sent = {"Tus_Resumable": "1.0.0", "Upload_Length": str(size), "Upload_Metadata": metadata}
    return program.ask("POST", "uploads", **sent)


def send(program: Program, method: str, path: str, data: bytes = b"", **headers: str) -> Any:
    return program.ask(method, path, data, kind=KIND, **({"Tus_Resumable": "1.0.0"} | headers))


@pytest.fixture
def path(of_max: Program) -> str:
    """Begin an upload of `FILE` as max, and return its path."""
    return str(begin(of_max)["Location"]).removeprefix("/api/v1/")


@pytest.mark.slow
def test_interrupted_upload_continues_at_its_offset(of_max: Program, max: User, path: str) -> None:
    first = send(of_max, "PATCH", path, FILE[:50], Upload_Offset="0")
    assert (first.status_code, first["Upload-Offset"], first["Tus-Resumable"]) == (204, "50", "1.0.0")
    asked = send(of_max, "HEAD", path)
    assert (asked.status_code, asked["Upload-Offset"], asked["Upload-Length"]) == (200, "50", str(len(FILE)))
    assert send(of_max, "PATCH", path, FILE[:50], Upload_Offset="0").status_code == 409
    assert of_max.get(path).json() == {"offset": 50, "size": len(FILE), "import_id": None}
    assert send(of_max, "PATCH", path, FILE[50:], Upload_Offset="50").status_code == 204
    made = Import.objects.get()
    assert (made.target_name, made.file_name, made.strict, made.created_by) == (
        "nightly",
        "a.jsonl",
        True,
        max,
    )
    assert of_max.get(path).json()["import_id"] == made.pk


def test_upload_belongs_to_the_owner_of_the_token(of_max: Program, lea: User, path: str) -> None:
    lea.groups.set(User.objects.get(username="max").groups.all())
    other = program_of(lea, *api_tokens.SCOPES)
    for method in ("HEAD", "GET", "PATCH", "DELETE"):
        assert send(other, method, path, b"x", Upload_Offset="0").status_code == 404
    assert send(of_max, "DELETE", path).status_code == 204
    assert not Upload.objects.exists()


@pytest.mark.slow
def test_invalid_upload_is_a_problem(of_max: Program, path: str) -> None:
    longer = FILE + b"\n"
    mapped = b'{"results": {"results": []}, "version": 4}'
    answers = {
        "precondition": of_max.ask("POST", "uploads", Upload_Length="1"),
        "length": begin(of_max, -1),
        "metadata": begin(of_max, metadata="filename !"),
        "offset": send(of_max, "PATCH", path, FILE, Upload_Offset="x"),
        "kind": of_max.ask("PATCH", path, FILE, Tus_Resumable="1.0.0", Upload_Offset="0"),
        "long": send(of_max, "PATCH", path, longer, Upload_Offset="0"),
        "empty": send(of_max, "PATCH", begin(of_max, len(mapped))["Location"][8:], mapped, Upload_Offset="0"),
    }
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "precondition": 412,
        "length": 400,
        "metadata": 400,
        "offset": 400,
        "kind": 415,
        "long": 413,
        "empty": 422,
    }
    assert {answer["Content-Type"] for answer in answers.values()} == {"application/problem+json"}
    assert not Import.objects.exists()

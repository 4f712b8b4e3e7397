"""What tests of pages send and read: an uploaded file, and the text of an answer."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.lines import file_of


def jsonl(*lines: bytes, name: str = "algebra.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, file_of(*lines), content_type="application/x-ndjson")


def text(response: Any) -> str:
    """What stands on a page, with its spaces evened out."""
    return " ".join(response.content.decode().split())

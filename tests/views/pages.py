"""What tests of pages send and read: an uploaded file, and the text of an answer."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.lines import file_of


def jsonl(*lines: bytes, name: str = "algebra.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, file_of(*lines), content_type="application/x-ndjson")


def text(response: Any) -> str:
    """What stands on a page, with its spaces evened out."""
    return " ".join(response.content.decode().split())


def filled_in(response: Any) -> dict[str, str]:
    """What a browser posts for the review form of a page as it stands there."""
    form = response.context["form"]
    posted = {name: str(form[name].value()) for name in ("version", "submission")}
    posted["comments"] = form.comment
    for row in form.rows:
        for name in ("name", "score", "justification"):
            posted[f"{row.prefix}-{name}"] = str(row[name].value() or "")
    return posted

"""Helpers for page tests: addresses, form data, uploads and response text."""

import csv
import io
import re
from typing import Any
from uuid import uuid4

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.urls import reverse

from reviews.models import Evaluation
from tests.support.lines import file_of

HTMX = {"HX-Request": "true"}


def url(name: str, row: Model) -> str:
    return reverse(name, args=[row.pk])


def form_of(record: Evaluation, **changes: Any) -> dict[str, Any]:
    """Return the posted review form of a reviewer who agrees with every criterion."""
    data = {"version": record.version, "submission": uuid4(), "comments": ""}
    for number, (name, judged) in enumerate(record.parsed_rubric_scores.items()):
        data |= {f"criteria-{number}-{key}": judged.get(key, "") for key in ("score", "justification")}
        data[f"criteria-{number}-name"] = name
    return data | {key.replace("__", "-"): value for key, value in changes.items()}


def jsonl(*lines: bytes, name: str = "algebra.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, file_of(*lines), content_type="application/x-ndjson")


def csv_rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode(), newline="")))


def text(response: Any) -> str:
    """Return the markup of a page with single spaces and without the tags of times."""
    return " ".join(re.sub(r"</?time\b[^>]*>", "", response.content.decode()).split())


def filled_in(response: Any) -> dict[str, str]:
    """Return the values that a browser would post for the review form of a page."""
    form = response.context["form"]
    posted = {name: str(form[name].value()) for name in ("version", "submission")}
    posted["comments"] = form.comment
    for row in form.rows:
        for name in ("name", "score", "justification"):
            posted[f"{row.prefix}-{name}"] = str(row[name].value() or "")
    return posted


def seen_on(response: Any) -> dict[str, str]:
    """Return the form fields that identify the judge's values shown on the page."""
    return {f"{row.prefix}-seen": row.fingerprint for row in response.context["form"].rows}

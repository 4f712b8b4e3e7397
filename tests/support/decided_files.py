"""Records with a human decision from the file."""

import json
from typing import Any

from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, User
from reviews.queue import claims
from tests.support.lines import export_data, file_of, import_data, line

JUDGED = {
    "Clarity": {"score": "Yes", "justification": "Each step follows."},
    "Rigour": {"score": "Yes", "justification": "Proved."},
}
CORRECTED = {
    "Clarity": {"score": "No", "justification": "Step 3 is missing.", "confidence": 0.50},
    "Rigour": {"score": "Yes", "justification": "Proved."},
    "Style": {"score": "Partial", "justification": "Terse."},
}
BY_CARLA = {
    "human_reviewer_id": "carla",
    "human_review_timestamp": "2025-05-12T10:00:00Z",
    "human_corrected_scores": CORRECTED,
    "human_review_comments": "Checked twice.\nSee step 3.",
}


def record_of(**changes: Any) -> Evaluation:
    import_data(file_of(line(parsed_rubric_scores=JUDGED, **changes)))
    return Evaluation.objects.get()


def open_record(client: Client, record: Evaluation, reviewer: User) -> Any:
    claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    return client.get(reverse("evaluation", args=[record.pk]))


def submit(client: Client, record: Evaluation, posted: dict[str, Any]) -> Any:
    return client.post(reverse("submit", args=[record.pk]), posted)


def exported() -> dict[str, Any]:
    return dict(json.loads(export_data()))


def entered(page: Any) -> list[tuple[str, str, str]]:
    return [(row.typed_name, row.value, row.reason) for row in page.context["form"].rows]

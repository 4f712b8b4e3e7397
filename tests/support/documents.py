"""Files that are one JSON document."""

import json
from typing import Any

from django.db import transaction

from reviews.exports.jsonl import Form
from reviews.imports import importer
from reviews.models import Import, Run
from reviews.records import mapping
from reviews.records.mapping import FieldMapping
from reviews.records.schema import HUMAN_FIELDS
from tests.support.lines import export_data

HOW = mapping.mapping_from_json(
    {
        "records": "results.results",
        "fields": {
            "evaluation_id": "join('/', [$doc.evalId, id])",
            "judge_llm_model": "$doc.config.judge",
            "judge_prompt_template_path": "'prompt'",
            "created_at": "$doc.results.timestamp",
        },
        "criteria": [{"name": "'Rating'", "score": "score"}],
    }
)
AROUND: dict[str, Any] = {
    "evalId": "eval-1",
    "results": {"version": 3, "timestamp": "2026-11-20T10:00:00.000Z", "results": []},
    "config": {"judge": "gpt-4.1"},
}


def document(*ids: str, indent: int | None = 2, **around: Any) -> bytes:
    members = [{"id": name, "score": 0.92, "why": "A, [b]"} for name in ids]
    whole = AROUND | around
    return json.dumps(
        whole | {"results": {**whole["results"], "results": members, "stats": {}}}, indent=indent
    ).encode()


def bring(data: bytes, how: FieldMapping | None = HOW, *, name: str = "results.json") -> Import:
    blocks = (data[start : start + 100] for start in range(0, len(data), 100))
    with transaction.atomic():
        return importer.import_stream(
            blocks=blocks, run_name="promptfoo", file_name=name, actor=None, mapping=how
        )


def run() -> Run:
    return Run.objects.get(name="promptfoo")


def exported(**options: Any) -> bytes:
    return export_data(run="promptfoo", form=Form.DOCUMENT, **options)


def without_decisions(data: bytes) -> Any:
    whole = json.loads(data)
    for member in whole["results"]["results"]:
        for key in HUMAN_FIELDS:
            member.pop(key, None)
    return whole

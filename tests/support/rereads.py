"""Runs to read again with another mapping."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.http import QueryDict

from cognireview.types.files import Reread
from reviews.imports import importer
from reviews.maintenance.verify_run import VerificationCounts, verify_run
from reviews.models import Evaluation, Import, ImportLine, Run, RunFacet
from reviews.records.mapping import FieldMapping, mapping_from_json
from reviews.runs.reread import RereadRefused, reread_run
from reviews.search import listing
from reviews.search.filters import Filters
from tests.support.lines import export_data

FIELDS = {
    "evaluation_id": "key",
    "judge_llm_model": "judge",
    "judge_prompt_template_path": "'prompts/one.txt'",
    "created_at": "'2025-04-12T03:55:23Z'",
}


def how(*, score: str = "first", reviewed: str = "flag", **fields: str) -> FieldMapping:
    """Return a mapping of `source` lines."""
    parts: dict[str, Any] = {"criteria": [{"name": "'Clarity'", "score": score}]}
    parts["review"] = [{"when": reviewed, "reason": "Flagged"}]
    return mapping_from_json({"fields": FIELDS | fields, **parts})


def source(key: str, **changes: Any) -> bytes:
    values = {"key": key, "alt": f"other/{key}", "judge": "j", "first": 1, "second": "Yes", "flag": True}
    return json.dumps(values | changes).encode()


FIRST = b"".join(one + b"\n" for one in (source("a"), source("b"), b"no record", source("c", flag=False)))
# Changes a, repeats b, and adds d.
SECOND = b"".join(one + b"\n" for one in (source("a", second="No"), source("b"), source("d")))


def bring(data: bytes, name: str, wanted: FieldMapping | None = None) -> Import:
    with transaction.atomic():
        return importer.import_stream(
            blocks=[data], run_name="tool", file_name=name, actor=None, mapping=wanted
        )


def record(key: str) -> Evaluation:
    return Evaluation.objects.select_related("run").get(evaluation_id=key)


def reread(run: Run, wanted: FieldMapping, **options: Any) -> Reread:
    return reread_run(run_id=run.pk, mapping=wanted, actor=None, **options)


def stored() -> list[Any]:
    """Return everything that a refused or tried reading must leave as it was."""
    run = Run.objects.get()
    return [
        list(Evaluation.objects.order_by("pk").values()),
        list(ImportLine.objects.order_by("source", "line").values()),
        list(Import.objects.order_by("pk").values()),
        list(RunFacet.objects.order_by("name", "value").values("name", "value")),
        (run.mapping, run.rubric),
        found("Clarity=1"),
        export_data(run="tool"),
    ]


def found(score: str, run: str = "tool") -> list[str]:
    filters = Filters.parse(query(score))
    page = listing.load_page(Run.objects.get(name=run), filters)
    return sorted(row.evaluation_id for row in page.rows)


def query(score: str) -> Any:
    return QueryDict(f"score={score}")


def faults(run: Run) -> list[Any]:
    return list(verify_run(run, VerificationCounts()))


def refused(run: Run, wanted: FieldMapping) -> RereadRefused:
    before = stored()
    with pytest.raises(RereadRefused) as caught:
        reread(run, wanted)
    assert stored() == before
    assert faults(run) == []
    return caught.value

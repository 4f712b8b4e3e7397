"""Exports with their receipts."""

import json
from typing import Any

from reviews.exports.output import ExportOptions, ExportOutput
from reviews.models import Evaluation, Run, User
from tests.support.lines import line
from tests.support.work import decide

A, B, C = line("eval_a"), line("eval_b"), line("eval_c")


def exported(**order: Any) -> tuple[bytes, dict[str, Any]]:
    """An export of the run `evaluations` and its receipt."""
    output = ExportOutput(ExportOptions(Run.objects.get(name="evaluations"), **order))
    data = b"".join(output)
    return data, json.loads(b"".join(output.receipt("out.jsonl")))


def review(evaluation_id: str, reviewer: User) -> None:
    decide(Evaluation.objects.get(evaluation_id=evaluation_id), reviewer)

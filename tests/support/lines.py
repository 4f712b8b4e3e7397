"""Build the lines of test files, and import and export them."""

import json
from io import BytesIO
from typing import Any

from django.db import transaction

from reviews.exports import jsonl
from reviews.imports import importer
from reviews.models import Import, Run
from reviews.storage import chunks

RECORD: dict[str, Any] = {
    "task_id": "4711",
    "model_id": "openai/o4-mini",
    "response_id": "response-1",
    "ideal_response_id": "ideal-1",
    "judge_llm_model": "judge-1",
    "judge_prompt_template_path": "prompts/judge.txt",
    "raw_judge_output": {"raw_content": '{"evaluation": {"Clarity": {"score": "Yes"}}}'},
    "parsed_rubric_scores": {"Clarity": {"score": "Yes", "justification": r"States \(\frac{1}{2}\)."}},
    "aggregated_score": "Pass",
    "final_answer_verified": False,
    "verification_message": "Mismatch (Extracted: '1/2', Correct: '2')",
    "needs_human_review": True,
    "review_reasons": ["Final answer does not match."],
    "structured_model_response": {"final_answer": "1/2"},
    "structured_ideal_response": {"final_answer": "2"},
    "parsing_error": None,
    "human_review_status": "Needs Review",
    "human_reviewer_id": None,
    "human_review_timestamp": None,
    "human_corrected_scores": None,
    "human_review_comments": None,
    "created_at": "2025-04-12T01:55:23.111185Z",
}


def line(evaluation_id: Any = "eval_1", **changes: Any) -> bytes:
    """Return a record as one line without line end.

    A change to bytes is written as JSON verbatim, a change to `...` removes the key, and new keys come last.
    """
    fields = {"evaluation_id": evaluation_id, **RECORD, **changes}
    members = (
        b"%b: %b" % (_spelled(key), _spelled(value)) for key, value in fields.items() if value is not ...
    )
    return b"{%b}" % b", ".join(members)


def _spelled(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def file_of(*lines: bytes) -> bytes:
    """Join lines into a file that ends with a line end."""
    return b"".join(one + b"\n" for one in lines)


def import_data(data: bytes, *, run: str = "evaluations", strict: bool = False) -> Import:
    """Import a local file as the command does."""
    blocks = chunks.read_blocks(BytesIO(data))
    with transaction.atomic():
        return importer.import_stream(
            blocks=blocks, run_name=run, file_name=f"{run}.jsonl", actor=None, strict=strict
        )


def export_data(*, run: str = "evaluations", **options: Any) -> bytes:
    """Export a run; `options` go to `jsonl.export_lines`."""
    return b"".join(jsonl.export_lines(Run.objects.get(name=run), **options))

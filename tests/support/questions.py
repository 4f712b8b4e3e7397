"""Import records that have their own question and responses, by a mapping."""

import json
from typing import Any

from django.db import transaction

from reviews.imports import importer
from reviews.models import Evaluation, Import, Run
from reviews.records import mapping
from reviews.records.task_context import CONTEXT_FIELDS

# Each field of the task context is the key of the same name.
MAPPING = mapping.mapping_from_json(
    {
        "fields": {
            "evaluation_id": "id",
            "task_id": "task",
            "judge_llm_model": "'judge-1'",
            "judge_prompt_template_path": "'prompts/judge.txt'",
            "created_at": "`0`",
            "raw_judge_output": "why",
            **{name: name for name in CONTEXT_FIELDS},
        },
        "criteria": [{"name": "'Quality'", "score": "score", "justification": "why"}],
    }
)
PAIR = [{"name": "gpt-4", "response": "It is **54**."}, {"name": "claude-3", "response": "It is 60."}]
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": [{"type": "text", "text": r"What is $6 \cdot 9$?"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "calculator"}]},
    {"role": "tool", "content": "54", "name": "calculator"},
]
PASSAGES: list[Any] = [
    "Six times nine is fifty-four.",
    {
        "text": "The answer is 42. " * 60,
        "title": "The Guide",
        "source": "https://guide.example",
        "score": 0.9,
    },
]


def source_line(key: str = "a", **values: Any) -> bytes:
    """Return a line of the tool, with a judge's score."""
    return json.dumps({"id": key, "score": "No", "why": "The judge saw 60.", **values}).encode()


def import_questions(*lines: bytes, run: str = "questions", blind_share: float = 0) -> Import:
    """Import lines of the tool into a run."""
    with transaction.atomic():
        done = importer.import_stream(
            blocks=[b"\n".join(lines)], run_name=run, file_name="tool.jsonl", actor=None, mapping=MAPPING
        )
        Run.objects.filter(name=run).update(blind_share=blind_share)
        return done


def import_question(**values: Any) -> Evaluation:
    """Import one line of the tool into a run of its own, and return its record."""
    done = import_questions(source_line(**values))
    return Evaluation.objects.select_related("run").get(run=done.run)

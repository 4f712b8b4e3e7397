"""Build and import task context files."""

import json
from typing import Any

from reviews.imports.task_context import import_context
from reviews.models import ContextImport, User

TASK: dict[str, Any] = {
    "task_id": 7,
    "prompt": r"What is $6 \cdot 10$?",
    "ideal_response": "It is 60.",
    "final_answer": "60",
    "model_responses": [],
    "metadata": {"subject": "Algebra", "system_prompt": None},
}


def task(**changes: Any) -> dict[str, Any]:
    """Return one task; a change to `...` removes the key."""
    return {key: value for key, value in {**TASK, **changes}.items() if value is not ...}


def bring(*tasks: Any, run: str | None = None, actor: User | None = None) -> ContextImport:
    """Import these entries as JSONL. Entries of bytes are written verbatim."""
    lines = [entry if isinstance(entry, bytes) else json.dumps(entry).encode() for entry in tasks]
    return bring_file(b"\n".join(lines), run=run, actor=actor)


def bring_file(data: bytes, *, run: str | None = None, actor: User | None = None) -> ContextImport:
    return import_context(blocks=[data], file_name="tasks.jsonl", run_name=run, actor=actor)

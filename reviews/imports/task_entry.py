"""Parse and validate one entry of a file of task context."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reviews.records.line_splice import members
from reviews.records.schema import Limits, LineError, missing, read_object, type_name


class Answer(NamedTuple):
    """The answer of a model: a string or an object."""

    model_id: str
    response_id: str | None
    response: Any


class Task(NamedTuple):
    """A task. Its JSON values can be stored by PostgreSQL."""

    task_id: str
    prompt: str
    ideal_response: Any
    final_answer: Any
    metadata: dict[str, Any]
    answers: list[Answer]


def read_task(entry: bytes, limits: Limits) -> Task:
    """Parse one entry. Unknown keys are ignored. Raises `LineError`."""
    data = read_object(entry, limits)
    if absent := dict(_absent(data)):
        raise missing(absent)
    return Task(
        task_id=_task_id(data, entry, limits),
        prompt=_prompt(data),
        ideal_response=_text_or_object("ideal_response", data.get("ideal_response")),
        final_answer=data.get("final_answer"),
        metadata=_metadata(data),
        answers=_answers(data, limits),
    )


def _absent(data: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the required fields without a value, also those of answers, and whether each is null."""
    for name in ("task_id", "prompt"):
        if data.get(name) is None:
            yield name, name in data
    listed = data.get("model_responses")
    for number, answer in enumerate(listed if isinstance(listed, list) else ()):
        for name in ("model_id", "response_text") if isinstance(answer, dict) else ():
            if answer.get(name) is None:
                yield f"model_responses[{number}].{name}", name in answer


def _task_id(data: dict[str, Any], entry: bytes, limits: Limits) -> str:
    """Return the id as in an evaluation: a number keeps its spelling."""
    value = data["task_id"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        spelled = [entry[member.start : member.end] for member in members(entry) if member.key == "task_id"]
        value = spelled[-1].decode()
    return _id("task_id", value, limits)


def _id(name: str, value: Any, limits: Limits) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise LineError(name, f"is {type_name(value)}, but takes a string or a number")
    if not value.strip():
        raise LineError(name, "is empty")
    if len(value.encode()) > limits.id_bytes:
        raise LineError(name, f"is longer than {limits.id_bytes} bytes (COGNIREVIEW_MAX_ID_BYTES)")
    return value


def _prompt(data: dict[str, Any]) -> str:
    value = data["prompt"]
    if not isinstance(value, str):
        raise LineError("prompt", f"is {type_name(value)}, but takes a string")
    return value


def _text_or_object(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str | dict):
        raise LineError(name, f"is {type_name(value)}, but takes a string or an object")
    return value


def _metadata(data: dict[str, Any]) -> dict[str, Any]:
    value = data.get("metadata")
    if value is not None and not isinstance(value, dict):
        raise LineError("metadata", f"is {type_name(value)}, but takes an object")
    return value or {}


def _answers(data: dict[str, Any], limits: Limits) -> list[Answer]:
    """Return the answers, one per model and response. Exact repeats are ignored."""
    listed = data.get("model_responses")
    if listed is not None and not isinstance(listed, list):
        raise LineError("model_responses", f"is {type_name(listed)}, but takes an array")
    found: dict[tuple[str, str | None], Answer] = {}
    for number, entry in enumerate(listed or []):
        answer = _answer(f"model_responses[{number}]", entry, limits)
        if found.setdefault(answer[:2], answer) != answer:
            name = f"model_responses[{number}].model_id"
            raise LineError(name, f"is {answer.model_id[:40]!r} again, with another response")
    return list(found.values())


def _answer(name: str, entry: Any, limits: Limits) -> Answer:
    if not isinstance(entry, dict):
        raise LineError(name, f"is {type_name(entry)}, but takes an object")
    response_id, response = entry.get("response_id"), entry["response_text"]
    return Answer(
        model_id=_id(f"{name}.model_id", entry["model_id"], limits),
        response_id=None if response_id is None else _id(f"{name}.response_id", response_id, limits),
        response=_text_or_object(f"{name}.response_text", response),
    )

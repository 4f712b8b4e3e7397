"""Parse and validate one entry of a file of task context."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reviews.records.line_splice import members
from reviews.records.schema import Limits, LineError, bounded, missing, read_object, typed


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
        prompt=typed("prompt", data["prompt"], str, "a string"),
        ideal_response=_text_or_object("ideal_response", data.get("ideal_response")),
        final_answer=data.get("final_answer"),
        metadata=typed("metadata", data.get("metadata"), dict | None, "an object") or {},
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
    if not typed(name, value, str, "a string or a number").strip():
        raise LineError(name, "is empty")
    return bounded(name, value, limits)


def _text_or_object(name: str, value: Any) -> Any:
    return typed(name, value, str | dict | None, "a string or an object")


def _answers(data: dict[str, Any], limits: Limits) -> list[Answer]:
    """Return the answers, one per model and response. Exact repeats are ignored."""
    listed = typed("model_responses", data.get("model_responses"), list | None, "an array")
    found: dict[tuple[str, str | None], Answer] = {}
    for number, entry in enumerate(listed or []):
        answer = _answer(f"model_responses[{number}]", entry, limits)
        if found.setdefault(answer[:2], answer) != answer:
            name = f"model_responses[{number}].model_id"
            raise LineError(name, f"is {answer.model_id[:40]!r} again, with another response")
    return list(found.values())


def _answer(name: str, entry: Any, limits: Limits) -> Answer:
    typed(name, entry, dict, "an object")
    response_id, response = entry.get("response_id"), entry["response_text"]
    return Answer(
        model_id=_id(f"{name}.model_id", entry["model_id"], limits),
        response_id=None if response_id is None else _id(f"{name}.response_id", response_id, limits),
        response=_text_or_object(f"{name}.response_text", response),
    )

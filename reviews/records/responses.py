"""Split a model's response or the reference answer into parts that a page can lay out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reviews.records.json_text import indented
from reviews.records.scores import criterion_title

FINAL_ANSWER = "Final answer"
WHOLE = "Response"
# The parts that may be formulas without delimiters.
_RESULTS = {FINAL_ANSWER, "Intermediate results"}
# The order of known parts. Other parts follow in their own order.
_ORDER = ("final_answer", "assumptions", "steps", "intermediate_results", "format_notes")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
# Larger responses are shown as JSON, because formatting them would delay the page.
_MAX_CHARS = 200_000
_MAX_ITEMS = 300


@dataclass(frozen=True, slots=True)
class ResponsePart:
    """One part of a response: a text, a list of texts, or any other JSON value (`data`)."""

    label: str
    text: str = ""
    items: list[str] = field(default_factory=list)
    data: Any = None
    #: Whether the part is outside `response`, such as the model that structured it.
    is_around: bool = False
    #: The source of the part, if it is not the response.
    note: str = ""

    @property
    def is_result(self) -> bool:
        """Whether the texts are results, which may be formulas without delimiters."""
        return self.label in _RESULTS

    @property
    def source(self) -> str:
        """The part as text."""
        if self.data is not None:
            return indented(self.data, 1)
        return self.text or "\n".join(self.items)


def read_parts(response: Any) -> list[ResponsePart]:
    """Split a structured response: `{"model": ..., "response": {...}}`, the inner object, or plain text."""
    if not response:
        return []
    if not isinstance(response, str) and len(json.dumps(response)) > _MAX_CHARS:
        return [ResponsePart(WHOLE, data=response)]
    if not isinstance(response, Mapping):
        return [make_part(WHOLE, response)]
    if "response" not in response or len(response) > _MAX_ITEMS:
        return _parts(response)
    inner = response["response"]
    found = _parts(inner) if isinstance(inner, Mapping) else _parts({"response": inner})
    # Keys around the response keep their names: "model" there is not the evaluated model.
    around = [name for name in response if name != "response"]
    return [*found, *(make_part(name, response[name], is_around=True) for name in around)]


def _parts(response: Mapping[str, Any]) -> list[ResponsePart]:
    if len(response) > _MAX_ITEMS:
        return [ResponsePart(WHOLE, data=response)]
    order = {name: place for place, name in enumerate(_ORDER)}
    names = sorted(response, key=lambda name: order.get(name, len(order)))
    return [
        make_part(criterion_title(name), response[name]) for name in names if response[name] not in _NOTHING
    ]


def pair_titles(names: Sequence[str]) -> list[str]:
    """Return the titles of two responses with these names, which may be empty: `A: gpt-4`, `B: claude-3`."""
    return [
        f"{letter}: {name.strip()}" if name.strip() else f"Response {letter}"
        for letter, name in zip("AB", names, strict=True)
    ]


def has_answer(response: Any) -> bool:
    """Return whether a response holds an answer. `has_answer` in SQL follows the same rules."""
    if not isinstance(response, dict):
        return bool(response)
    inner = response.get("response", response)
    if not isinstance(inner, dict):
        return inner not in _NOTHING
    return any(value not in _NOTHING for value in inner.values())


def make_part(label: str, value: Any, *, is_around: bool = False, note: str = "") -> ResponsePart:
    text, items, data = "", [], None
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and len(value) <= _MAX_ITEMS and all(isinstance(one, str) for one in value):
        items = value
    elif isinstance(value, dict | list):
        data = value
    else:
        text = json.dumps(value)
    return ResponsePart(label, text, items, data, is_around, note)


# Other spellings of the roles. Messages of further roles are shown under their own.
_KINDS = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
_CALLS = ("tool_calls", "function_call")
# Longer instructions and results of tools are folded.
_LONG = 1_500


@dataclass(frozen=True, slots=True)
class Message:
    #: The role, with the name of the speaker if there is one.
    title: str
    #: user, assistant, system, tool, or the message's own role.
    kind: str
    #: The content and the tool calls.
    parts: list[ResponsePart]
    #: The other keys, such as ids.
    details: dict[str, Any]

    @property
    def size(self) -> int:
        return sum(len(part.source) for part in self.parts)

    @property
    def is_folded(self) -> bool:
        """Whether it is long and neither a question nor an answer."""
        return self.kind not in {"user", "assistant"} and self.size > _LONG


def read_message(message: Mapping[str, Any]) -> Message:
    """Read a message that `records.task_context` accepts."""
    role, name, content = message["role"].strip(), message.get("name"), message.get("content")
    parts = [_part(one) for one in (content if isinstance(content, list) else [content])]
    parts += [make_part("Tool calls", message[key]) for key in _CALLS if message.get(key)]
    shown = {"role", "name", "content", *_CALLS}
    return Message(
        title=f"{role.capitalize()}: {name}" if isinstance(name, str) and name else role.capitalize(),
        kind=_KINDS.get(role.lower(), role.lower()),
        parts=[part for part in parts if part.source],
        details={key: value for key, value in message.items() if key not in shown and value not in _NOTHING},
    )


def _part(content: Any) -> ResponsePart:
    """Return a part of the content. Parts other than texts, such as images, are shown as JSON."""
    if isinstance(content, Mapping):
        kind, text = content.get("type", "text"), content.get("text")
        is_text = isinstance(kind, str) and kind.endswith("text") and isinstance(text, str)
        return make_part("", text if is_text else dict(content))
    return make_part("", content or "")


def parts_of_messages(messages: list[dict[str, Any]]) -> list[ResponsePart]:
    """Return a response that consists of messages as parts, one for each message."""
    read = map(read_message, messages)
    return [
        ResponsePart(f"{place}. {message.title}", "\n\n".join(part.source for part in message.parts))
        for place, message in enumerate(read, start=1)
    ]

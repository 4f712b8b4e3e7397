"""Validate the task context that a mapping takes from a line: the question, and the responses to it.

The result is stored with the record, in one form for all accepted spellings:

- `prompt`: a string;
- `context`: passages, objects with `text` and perhaps `title`, `source` and other keys;
- `conversation`: messages, objects with `role` and perhaps `content` (a string, or strings and objects) and
  other keys;
- `reference`: a string, an object or an array;
- `responses`: one or two objects with `name`, perhaps empty, and `response`, a string, an object or an array;
- `metadata`: an object.

Missing and empty members are left out.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reviews.records.schema import Limits, LineError, read_object, type_name, typed

MOST_RESPONSES = 2
_MESSAGES = "a list of messages with role and content"
_RESPONSES = (
    "one or two responses: texts, objects with name and response, or an object from names to responses"
)
_PASSAGES = "a text, or a list of texts and of objects with text, title and source"


def build_task_context(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the task context with these members; None if all are empty. Raises `LineError`.

    A prompt that is a list of messages becomes the conversation.
    """
    found = {name: _READ[name](name, value) for name, value in values.items() if name in _READ}
    if isinstance(found.get("prompt"), list):
        if found.get("conversation"):
            raise LineError("prompt", "is a conversation, but `conversation` gives one, too")
        found["conversation"] = found.pop("prompt")
    return {name: found[name] for name in CONTEXT_FIELDS if found.get(name)} or None


def _prompt(name: str, value: Any) -> Any:
    """Return a text, or the messages that a list or a text with JSON contains."""
    if isinstance(value, list):
        return _conversation(name, value)
    text = typed(name, value, str, f"a text, or {_MESSAGES}")
    return _messages_in(text) or (text if text.strip() else "")


def _messages_in(text: str) -> Any:
    """Return the messages in a text that is a JSON array of them, as some tools write prompts; else None."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = read_object(b'{"messages": %b}' % text.encode(), Limits())["messages"]
    except LineError:
        return None
    return messages if is_conversation(messages) else None


def _conversation(name: str, value: Any) -> list[dict[str, Any]]:
    messages: list[Any] = typed(name, value, list, _MESSAGES)
    for place, message in enumerate(messages, start=1):
        if not isinstance(message, dict):
            raise LineError(name, f"has {type_name(message)} in place {place}, but takes {_MESSAGES}")
        role = message.get("role")
        if not isinstance(role, str) or not role.strip():
            raise LineError(name, f"has a message without a role in place {place}")
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        odd = [part for part in parts if not isinstance(part, str | dict)]
        if (content is not None and odd) or isinstance(content, dict):
            kind = type_name(odd[0] if odd else content)
            takes = "takes a text or a list of parts"
            raise LineError(name, f"has {kind} as the content of the message in place {place}, but {takes}")
    return messages


def is_conversation(value: Any) -> bool:
    """Return whether a value is a list of messages."""
    try:
        return bool(isinstance(value, list) and _conversation("", value))
    except LineError:
        return False


def _context(name: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"text": value}] if value.strip() else []
    listed = typed(name, value, list, _PASSAGES)
    passages = [{"text": one} if isinstance(one, str) else one for one in listed]
    for place, passage in enumerate(passages, start=1):
        if not isinstance(passage, dict):
            raise LineError(name, f"has {type_name(passage)} in place {place}, but takes {_PASSAGES}")
        if not isinstance(passage.get("text"), str):
            raise LineError(name, f"has a passage without a text in place {place}")
    return passages


def _reference(_: str, value: Any) -> Any:
    return value if isinstance(value, str | dict | list) else json.dumps(value)


def _responses(name: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict) and "response" not in value:
        value = [{"name": key, "response": response} for key, response in value.items()]
    if not isinstance(value, list):
        value = [value] if value != "" else []
    if len(value) > MOST_RESPONSES:
        raise LineError(name, f"has {len(value):,} responses, but takes {_RESPONSES}")
    return [_one_response(name, place, one) for place, one in enumerate(value, start=1)]


def _one_response(name: str, place: int, value: Any) -> dict[str, Any]:
    response, called = value, None
    if isinstance(value, dict):
        response, called = value.get("response"), value.get("name")
    if response is None or isinstance(value, list):
        raise LineError(name, f"has {type_name(value)} in place {place}, but takes {_RESPONSES}")
    if isinstance(called, dict | list):
        raise LineError(name, f"has {type_name(called)} as the name in place {place}, but takes a text")
    return {
        "name": "" if called is None else _reference(name, called),
        "response": _reference(name, response),
    }


_READ: dict[str, Callable[[str, Any], Any]] = {
    "prompt": _prompt,
    "context": _context,
    "conversation": _conversation,
    "reference": _reference,
    "responses": _responses,
    "metadata": partial(typed, kind=dict, takes="an object"),
}
CONTEXT_FIELDS = tuple(_READ)

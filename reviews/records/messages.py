"""Read the messages of a conversation, as chat interfaces write them: role, content, perhaps tool calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviews.records.responses import ResponsePart, make_part

# Other spellings of the roles. Messages of further roles are shown under their own.
_KINDS = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
_CALLS = ("tool_calls", "function_call")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
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

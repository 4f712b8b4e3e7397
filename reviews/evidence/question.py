"""The question of a record in the form that pages show: its texts and metadata."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from reviews.evidence.task_context import RecordContext
from reviews.records.responses import Message, ResponsePart, make_part, read_message
from reviews.records.scores import criterion_title

#: Characters of a question to show. Further messages and passages are left out.
MAX_CHARS = 1_000_000
#: A question with more characters is shown as plain text, because formatting it would delay the page.
MAX_FORMATTED = 200_000
# Messages, and passages.
_MAX_ITEMS = 300
_MAX_FACTS = 20
# Longer passages are folded.
_LONG = 600
_BEGINNING = 120
# More than a line shows.
_MAX_BEGINNING = 1_000
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage."""

    text: str
    title: str
    source: str
    #: The other keys, such as a retrieval score.
    details: dict[str, Any]

    @property
    def is_long(self) -> bool:
        return len(self.text) > _LONG

    @property
    def beginning(self) -> str:
        """The title, or else the first words."""
        return self.title or f"{' '.join(self.text[:_BEGINNING].split())} …"


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a record."""

    prompt: str
    messages: list[Message]
    passages: list[Passage]
    #: The metadata of the task or the record.
    facts: list[ResponsePart]
    #: The source of prompt and messages, unless it is the record itself.
    origin: str = ""
    #: Messages and passages that are not shown, because there are too many.
    left_out: int = 0
    #: Characters that are shown.
    size: int = 0

    @property
    def is_heavy(self) -> bool:
        """Whether formatting all texts would slow down the page."""
        return self.size > MAX_FORMATTED

    @property
    def beginning(self) -> str:
        """The text to show in one line: the prompt, else the last message of the user, else a passage."""
        said = [
            part.text
            for message in reversed(self.messages)
            for part in message.parts
            if message.kind == "user"
        ]
        texts = [self.prompt, *said, *(passage.text for passage in self.passages)]
        return next((text[:_MAX_BEGINNING].strip() for text in texts if text.strip()), "")

    @property
    def has_content(self) -> bool:
        return bool(self.prompt or self.messages or self.passages or self.facts)


def read_question(context: RecordContext | None, *, origin: str) -> Question:
    """Return the question in a record's context. `origin` names a source outside the record."""
    if context is None:
        return Question("", [], [], [])
    left = MAX_CHARS - len(context.prompt)
    messages, left = _first(map(read_message, context.conversation), lambda message: message.size, left)
    passages, left = _first(map(_passage, context.passages), lambda passage: len(passage.text), left)
    shown, given = len(messages) + len(passages), len(context.conversation) + len(context.passages)
    is_repeated = any(part.text == context.prompt for message in messages for part in message.parts)
    return Question(
        prompt="" if is_repeated else context.prompt,
        messages=messages,
        passages=passages,
        facts=_facts(context.metadata),
        origin="" if context.own & {"prompt", "conversation"} or not context.has_question else origin,
        left_out=given - shown,
        size=MAX_CHARS - left,
    )


def _first(items: Iterable[_T], size: Callable[[_T], int], left: int) -> tuple[list[_T], int]:
    """Return the first items that fit, and how many characters are left after them."""
    found: list[_T] = []
    for item in items:
        left -= size(item)
        if left < 0 or len(found) == _MAX_ITEMS:
            return found, max(left, 0)
        found.append(item)
    return found, left


def _passage(given: dict[str, Any]) -> Passage:
    title, source = (_label(given.get(name)) for name in ("title", "source"))
    details = {
        name: value
        for name, value in given.items()
        if name not in {"text", "title", "source"} and value not in _NOTHING
    }
    return Passage(given["text"], title, source, details)


def _label(value: Any) -> str:
    return "" if value in _NOTHING else make_part("", value).source


def _facts(metadata: dict[str, Any]) -> list[ResponsePart]:
    """Return metadata, such as subject and complexity."""
    known = [(name, value) for name, value in metadata.items() if value not in _NOTHING]
    return [make_part(criterion_title(name), value) for name, value in known[:_MAX_FACTS]]

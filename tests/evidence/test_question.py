"""The question of a record, as its page shows it."""

import pytest

from reviews.evidence import question
from reviews.evidence.question import read_question
from reviews.evidence.task_context import RecordContext
from tests.support.questions import CONVERSATION, PASSAGES

CONTEXT = RecordContext(
    prompt="Why?", conversation=CONVERSATION, passages=[{"text": "One."}, PASSAGES[1]], metadata={"a": 1}
)


def test_question_has_messages_passages_and_facts() -> None:
    found = read_question(CONTEXT, origin="")
    assert found.prompt == "Why?"
    assert [message.kind for message in found.messages] == ["system", "user", "assistant", "tool"]
    assert [passage.is_long for passage in found.passages] == [False, True]
    assert (found.passages[1].beginning, found.passages[1].source) == ("The Guide", "https://guide.example")
    assert found.passages[1].details == {"score": 0.9}
    assert [(part.label, part.source) for part in found.facts] == [("A", "1")]
    assert (found.left_out, found.is_heavy) == (0, False)


def test_prompt_that_is_a_message_of_the_conversation_is_shown_once() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    found = read_question(RecordContext(prompt="Why?", conversation=messages), origin="")
    assert (found.prompt, len(found.messages)) == ("", 2)


def test_question_begins_with_its_prompt_last_user_message_or_first_passage() -> None:
    messages = [{"role": "user", "content": text} for text in ("Hi.", "And why?")]
    contexts = (
        RecordContext(prompt=" Why? "),
        RecordContext(conversation=messages),
        RecordContext(passages=[{"text": "One."}]),
    )
    found = [read_question(context, origin="").beginning for context in (*contexts, RecordContext())]
    assert found == ["Why?", "And why?", "One.", ""]


def test_record_without_context_has_no_question() -> None:
    assert not read_question(None, origin="").has_content


def test_long_passage_without_title_is_folded_under_its_first_words() -> None:
    [passage] = read_question(RecordContext(passages=[{"text": "word " * 200}]), origin="").passages
    assert passage.beginning == f"{'word ' * 24}…"


def test_origin_names_the_task_context_unless_the_record_has_its_own_question() -> None:
    assert read_question(RecordContext(prompt="Why?"), origin="elsewhere").origin == "elsewhere"
    own = RecordContext(prompt="Why?", own=frozenset({"prompt"}))
    assert read_question(own, origin="elsewhere").origin == ""


def test_question_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "MAX_CHARS", 40)
    monkeypatch.setattr(question, "MAX_FORMATTED", 20)
    found = read_question(RecordContext(prompt="Why?", passages=[{"text": "x" * 16}] * 4), origin="")
    assert (len(found.passages), found.left_out, found.is_heavy) == (2, 2, True)


def test_too_many_messages_are_left_out() -> None:
    messages = [{"role": "user", "content": "x"}] * 400
    found = read_question(RecordContext(conversation=messages), origin="")
    assert (len(found.messages), found.left_out) == (300, 100)

"""The task context that a mapping takes from a line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.schema import Limits, LineError, Record, parse_line
from reviews.records.task_context import CONTEXT_FIELDS, build_task_context
from reviews.records.translation import read_line
from tests.records.test_mapping import mapped, record_of
from tests.support.json_texts import json_texts
from tests.support.lines import line

USER = {"role": "user", "content": "Why?"}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [{"name": "search"}]}
PARTS = {"role": "tool", "content": ["A text.", {"type": "image_url", "image_url": {"url": "https://x"}}]}


def read(name: str, value: Any) -> Any:
    """Return the whole task context with one field."""
    return build_task_context({name: value})


class TestAcceptedShapes:
    @pytest.mark.parametrize(
        ("value", "found"),
        [
            ("Why?", {"prompt": "Why?"}),
            (" ", None),
            ([USER], {"conversation": [USER]}),
            (json.dumps([USER, PARTS]), {"conversation": [USER, PARTS]}),
            ('[{"role": "user"', {"prompt": '[{"role": "user"'}),
            ("[1, 2]", {"prompt": "[1, 2]"}),
            ('[{"role": "\\ud800", "content": "x"}]', {"prompt": '[{"role": "\\ud800", "content": "x"}]'}),
        ],
    )
    def test_prompt_is_a_text_or_messages(self, value: Any, found: Any) -> None:
        assert read("prompt", value) == found

    @pytest.mark.parametrize(
        ("value", "passages"),
        [
            ("One.", [{"text": "One."}]),
            (["One.", "Two."], [{"text": "One."}, {"text": "Two."}]),
            ([{"text": "One.", "title": "A", "score": 1}], [{"text": "One.", "title": "A", "score": 1}]),
        ],
    )
    def test_context_is_a_list_of_passages(self, value: Any, passages: Any) -> None:
        assert read("context", value) == {"context": passages}

    def test_conversation_keeps_its_messages(self) -> None:
        assert read("conversation", [USER, ASSISTANT, PARTS]) == {"conversation": [USER, ASSISTANT, PARTS]}

    @pytest.mark.parametrize(
        ("value", "reference"), [("54", "54"), ({"a": 1}, {"a": 1}), (["x", "y"], ["x", "y"]), (54, "54")]
    )
    def test_reference_may_be_any_value(self, value: Any, reference: Any) -> None:
        assert read("reference", value) == {"reference": reference}

    @pytest.mark.parametrize(
        ("value", "responses"),
        [
            ("One.", [("", "One.")]),
            (["One.", ""], [("", "One."), ("", "")]),
            ({"name": "o1", "response": "One."}, [("o1", "One.")]),
            ([{"response": {"a": 1}, "name": 7}, {"response": ["x"]}], [("7", {"a": 1}), ("", ["x"])]),
            ({"o1": "One.", "o3": 2}, [("o1", "One."), ("o3", "2")]),
        ],
    )
    def test_responses_have_names(self, value: Any, responses: list[tuple[str, Any]]) -> None:
        found = [{"name": name, "response": response} for name, response in responses]
        assert read("responses", value) == {"responses": found}

    @pytest.mark.parametrize("name", [name for name in CONTEXT_FIELDS if name != "metadata"])
    def test_empty_values_are_left_out(self, name: str) -> None:
        empty: tuple[Any, ...] = ("", []) if name != "conversation" else ([],)
        assert [read(name, value) for value in empty] == [None] * len(empty)


class TestRefusedShapes:
    @pytest.mark.parametrize(
        ("name", "value", "reason"),
        [
            ("prompt", {"raw": "Why?"}, "is an object, but takes a text, or a list of messages"),
            ("prompt", ["Why?"], "has a string in place 1"),
            ("context", {"text": "One."}, "is an object, but takes a text, or a list of texts"),
            ("context", ["One.", None], "has null in place 2"),
            ("context", [{"title": "A"}], "has a passage without a text in place 1"),
            ("conversation", "Why?", "is a string, but takes a list of messages"),
            ("conversation", [USER, {"content": "x"}], "has a message without a role in place 2"),
            ("conversation", [{"role": "user", "content": 3}], "has a number as the content of the message"),
            (
                "conversation",
                [{"role": "user", "content": {}}],
                "has an object as the content of the message",
            ),
            (
                "conversation",
                [{"role": "user", "content": [[]]}],
                "has an array as the content of the message",
            ),
            ("responses", ["a", "b", "c"], "has 3 responses, but takes one or two"),
            ("responses", ["a", None], "has null in place 2, but takes one or two responses"),
            ("responses", [{"name": "o1"}, "b"], "has an object in place 1"),
            ("responses", [["a"], ["b"]], "has an array in place 1"),
            ("responses", [{"name": [], "response": "a"}], "has an array as the name in place 1"),
            ("metadata", "none", "is a string, but takes an object"),
        ],
    )
    def test_wrong_shape_is_refused_with_field_and_expression(
        self, name: str, value: Any, reason: str
    ) -> None:
        with pytest.raises(LineError) as refused:
            record_of({"x": value}, mapped({name: "x"}))
        assert refused.value.field == name
        assert reason in refused.value.reason
        assert refused.value.reason.endswith("(by the mapping: x)")

    def test_two_conversations_are_refused(self) -> None:
        with pytest.raises(LineError, match="gives one, too"):
            build_task_context({"prompt": [USER], "conversation": [USER]})


class TestTranslation:
    def test_mapped_question_belongs_to_the_record(self) -> None:
        record = record_of({"x": "Why?", "y": "x"}, mapped({"prompt": "x", "metadata": "{y: y}"}))
        assert record.task_context == {"prompt": "Why?", "metadata": {"y": "x"}}
        assert record.extra == {"y": "x"}

    def test_plain_lines_have_no_task_context(self) -> None:
        record: Record = parse_line(line(prompt="Why?", task_context={"prompt": "Why?"}))
        assert record.task_context is None
        assert record.extra == {"prompt": "Why?", "task_context": {"prompt": "Why?"}}

    @pytest.mark.slow
    @given(st.sampled_from(CONTEXT_FIELDS), json_texts)
    def test_any_value_is_task_context_or_refused(self, name: str, text: str) -> None:
        source = b'{"id": "a", "at": 0, "x": %b}' % text.encode()
        try:
            context = read_line(source, Limits(), mapped({name: "x"})).task_context
        except LineError:
            return
        assert context is None or set(context) <= set(CONTEXT_FIELDS)
        json.dumps(context, allow_nan=False)

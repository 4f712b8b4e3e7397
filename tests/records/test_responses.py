"""Responses and conversations are split into parts for pages."""

from typing import Any

import pytest

from reviews.records.responses import ResponsePart, pair_titles, parts_of_messages, read_message, read_parts


def test_response_is_split_into_parts_answer_first() -> None:
    response = {
        "model": "o1",
        "response": {
            "steps": ["Add.", "Divide."],
            "intermediate_results": {"sum": 3},
            "final_answer": "$3$",
            "certain": True,
            "format_notes": "",
        },
    }
    assert read_parts(response) == [
        ResponsePart("Final answer", text="$3$"),
        ResponsePart("Steps", items=["Add.", "Divide."]),
        ResponsePart("Intermediate results", data={"sum": 3}),
        ResponsePart("Certain", text="true"),
        ResponsePart("model", text="o1", is_around=True),
    ]


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (None, []),
        ("", []),
        ({}, []),
        ("It is 3.", [ResponsePart("Response", text="It is 3.")]),
        (
            {"model": "o1", "response": "It is 3."},
            [ResponsePart("Response", text="It is 3."), ResponsePart("model", text="o1", is_around=True)],
        ),
        ({"final_answer": "3"}, [ResponsePart("Final answer", text="3")]),
        ({"response": None}, []),
        ({"steps": [1, "two"]}, [ResponsePart("Steps", data=[1, "two"])]),
        ({"steps": ["x"] * 1000}, [ResponsePart("Steps", data=["x"] * 1000)]),
    ],
)
def test_response_of_any_shape_is_read(response: Any, found: list[ResponsePart]) -> None:
    assert read_parts(response) == found


def test_huge_response_is_shown_as_json() -> None:
    huge = {"response": {f"step {number}": "x" * 1000 for number in range(250)}}
    assert read_parts(huge) == [ResponsePart("Response", data=huge)]


def test_response_part_has_its_text() -> None:
    assert ResponsePart("Steps", items=["Add.", "Divide."]).source == "Add.\nDivide."
    assert ResponsePart("Sum", data={"sum": 3}).source == '{\n "sum": 3\n}'


@pytest.mark.parametrize(
    ("role", "kind"),
    [("user", "user"), ("Human", "user"), ("AI", "assistant"), ("developer", "system"), ("Judge", "judge")],
)
def test_role_of_message_has_several_spellings(role: str, kind: str) -> None:
    assert read_message({"role": role, "content": "x"}).kind == kind


@pytest.mark.parametrize(
    ("content", "sources"),
    [
        ("x", ["x"]),
        (None, []),
        ("", []),
        (["x", {"type": "text", "text": "y"}, {"text": "z"}], ["x", "y", "z"]),
        ([{"type": "input_text", "text": "x"}], ["x"]),
    ],
)
def test_content_of_message_is_read_as_texts(content: Any, sources: list[str]) -> None:
    assert [part.text for part in read_message({"role": "user", "content": content}).parts] == sources


def test_parts_other_than_texts_are_data() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x"}}
    calls = [{"name": "search"}]
    message = read_message({"role": "user", "content": [image], "tool_calls": calls, "name": "bo", "id": 7})
    assert [(part.label, part.data) for part in message.parts] == [("", image), ("Tool calls", calls)]
    assert (message.title, message.details) == ("User: bo", {"id": 7})


def test_long_instructions_are_folded_and_questions_are_not() -> None:
    folded = [read_message({"role": role, "content": "x" * 2_000}).is_folded for role in ("system", "user")]
    assert folded == [True, False]


def test_response_of_messages_has_a_part_for_each() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": ["So.", "There."]},
    ]
    assert [(part.label, part.text) for part in parts_of_messages(messages)] == [
        ("1. User", "Why?"),
        ("2. Assistant", "So.\n\nThere."),
    ]


def test_two_responses_have_letters_and_names() -> None:
    assert pair_titles(["gpt-4", " "]) == ["A: gpt-4", "Response B"]

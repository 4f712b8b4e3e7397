"""Responses are split into parts that a page can lay out."""

from typing import Any

import pytest

from reviews.records.responses import ResponsePart, read_parts


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

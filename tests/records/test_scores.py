"""Scores keep their JSON types, also in forms."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.scores import (
    AS_JUDGED,
    criterion_title,
    decode_score,
    encode_score,
    format_score,
    identity,
    is_score,
    unnest,
)

SCALARS = st.text() | st.integers() | st.floats() | st.booleans() | st.none()


@pytest.mark.parametrize(
    ("score", "posted"),
    [
        ("Yes", "Yes"),
        ("partly met", "partly met"),
        (4, "4"),
        ("4", '"4"'),
        (0.5, "0.5"),
        (True, "true"),
        ("true", '"true"'),
        (" Yes", '" Yes"'),
        ("a\nb", '"a\\nb"'),
        ('"4"', '"\\"4\\""'),
        (AS_JUDGED, '"as judged"'),
    ],
)
def test_different_scores_have_different_form_values(score: Any, posted: str) -> None:
    assert encode_score(score) == posted


@given(SCALARS.filter(is_score))
def test_score_from_a_form_keeps_its_type(score: Any) -> None:
    back = decode_score(encode_score(score))
    assert json.dumps(back) == json.dumps(score)
    assert encode_score(score) != AS_JUDGED


@pytest.mark.parametrize("text", ["null", "[1]", '{"a": 1}', "1e999", "9" * 5000, "NaN", "[" * 100_000])
def test_form_value_that_is_no_json_score_is_a_string(text: str) -> None:
    assert decode_score(text) == text


def test_scores_of_different_types_differ() -> None:
    assert len({identity(score) for score in (1, "1", True)}) == 3
    assert identity(4) == identity(4.0)


@pytest.mark.parametrize("value", [None, "", " ", [], {}, ["Yes"], float("nan"), float("inf"), 10**400])
def test_invalid_values_are_no_score(value: Any) -> None:
    assert not is_score(value)


@pytest.mark.parametrize("value", ["No", 0, False, 0.0, -1])
def test_non_blank_value_is_a_score(value: Any) -> None:
    assert is_score(value)


def test_names_and_scores_are_formatted_for_people() -> None:
    assert criterion_title("correctness_of_final_answer") == "Correctness of final answer"
    assert [format_score(score) for score in (None, "Yes", 4, True)] == ["", "Yes", "4", "true"]


@pytest.mark.parametrize(
    ("scores", "unnested"),
    [
        ({"a": {"score": 1}, "b": {"score": None}}, {"a": {"score": 1}, "b": {"score": None}}),
        ({"g": {"a": {"score": 1}}, "b": {"score": 2}}, {"a": {"score": 1}, "b": {"score": 2}}),
        ({"g": {"h": {"a": {"score": 1}}, "note": "x"}}, {"a": {"score": 1}}),
        (
            {"g": {"a": {"score": 1}}, "h": {"a": {"score": 2}}},
            {"g.a": {"score": 1}, "h.a": {"score": 2}},
        ),
        ({"g": {"note": "x"}, "b": {}}, {"g": {"note": "x"}, "b": {}}),
        ({"g": {"score": 1, "a": {"score": 2}}}, {"g": {"score": 1, "a": {"score": 2}}}),
        (
            {"g": {"a": {"score": 1}}, "h": {"a": {"score": 2}, "g.a": {"score": 3}}},
            {"g": {"a": {"score": 1}}, "h": {"a": {"score": 2}, "g.a": {"score": 3}}},
        ),
    ],
)
def test_criteria_of_groups_are_criteria_of_their_own(
    scores: dict[str, Any], unnested: dict[str, Any]
) -> None:
    assert unnest(scores) == unnested


def test_deep_groups_are_no_criteria() -> None:
    deep: dict[str, Any] = {"score": 1}
    for _ in range(150):
        deep = {"g": deep}
    assert unnest({"g": deep}) == {"g": deep}

"""Raw output that repeats the parsed scores is not searched twice."""

from typing import Any

import pytest

from reviews.records.raw_repeats import texts_beyond_scores

SCORES = {"Rigor": {"score": "No", "justification": "A gap."}, "Logic": {"score": 4}}
OBJECT = '{"Rigor": {"score": "No", "justification": "A gap."}, "Logic": {"score": 4}}'


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (OBJECT, []),
        (f'{{"evaluation": {OBJECT}}}', []),
        (f"Thinking.\n```json\n{OBJECT}\n```", ["Thinking.\n```json\n", "\n```"]),
        (
            f'{{"evaluation": {OBJECT}, "summary": "Weak.", "level": {{"a": [1]}}}}',
            ["summary", "Weak.", "level", '{"a":[1]}'],
        ),
    ],
)
def test_object_of_the_scores_is_left_out(raw: str, texts: list[str]) -> None:
    assert [text for text in texts_beyond_scores(raw, SCORES) if text] == texts


@pytest.mark.parametrize(
    ("raw", "scores"),
    [
        ("", SCORES),
        ("No object.", SCORES),
        (OBJECT[:-1], SCORES),
        ("}" + OBJECT[:-1], SCORES),
        (f"[{OBJECT}, {{}}]", SCORES),
        (OBJECT, {}),
        (OBJECT.replace("gap", "step"), SCORES),
        ('{"a": {"score": 1, "evidence": "Line 2"}}', {"a": {"score": 1, "evidence": "Line 2"}}),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_other_output_is_searched_completely(raw: str, scores: dict[str, Any]) -> None:
    assert [*texts_beyond_scores(raw, scores)] == [raw]

"""The amount of text to read in a record."""

from typing import Any

import pytest

from reviews.evidence.reading_time import MS_PER_WORD, count_words_to_read
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.factories import EvaluationFactory


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (None, 0),
        ("Half of it.", 3),
        ({"steps": ["First this.", {"then": "that"}], "final_answer": "1/2", "count": 7}, 4),
    ],
)
def test_words_of_response_are_counted_in_any_shape(response: Any, words: int) -> None:
    record = EvaluationFactory.build(
        structured_model_response=response, structured_ideal_response="So it is."
    )
    assert count_words_to_read(record, []) == words


def test_words_of_deeply_nested_response_are_counted() -> None:
    response: Any = "deep down"
    for _ in range(5_000):
        response = [response]
    assert count_words_to_read(EvaluationFactory.build(structured_model_response=response), []) == 2


@pytest.mark.django_db
def test_words_of_justifications_are_counted() -> None:
    scores = {"Rigor": {"score": "No", "justification": "It skips a step."}}
    record = EvaluationFactory.create(parsed_rubric_scores=scores, structured_model_response="One half.")
    assert count_words_to_read(record, read_proposals(record, run_rubric(record.run))) == 6


def test_reading_speed_is_240_words_per_minute() -> None:
    assert 240 * MS_PER_WORD == 60_000

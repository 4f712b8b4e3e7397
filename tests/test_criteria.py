"""The criteria a record brings, whatever shape the judge's scores have."""

from typing import Any

import pytest

from reviews.criteria import AS_JUDGED, Offer, criterion_title, offers, score_word
from reviews.models import Evaluation
from tests.factories import EvaluationFactory
from tests.lines import bring_in, file_of, line

pytestmark = pytest.mark.django_db


def offered(scores: dict[str, Any]) -> Offer:
    [offer] = offers(EvaluationFactory.build(parsed_rubric_scores=scores))
    return offer


def test_a_parsed_score_is_offered_as_the_judges() -> None:
    offer = offered({"Clarity": {"score": "No", "justification": "Vague.", "confidence": 0.9}})
    assert (offer.score, offer.justification, offer.origin) == ("No", "Vague.", "judge")
    assert offer.given == {"score": "No", "justification": "Vague.", "confidence": 0.9}


def test_scores_that_were_not_parsed_are_proposed_from_raw_output() -> None:
    raw = '{"clarity": {"score": "Yes", "justification": "Each step follows."}}'
    [offer] = offers(EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={"raw_content": raw}))
    assert (offer.criterion, offer.score, offer.origin) == ("clarity", "Yes", "extracted")
    assert offer.given == {"score": "Yes", "justification": "Each step follows."}
    assert offer.span


def test_nothing_is_offered_where_nothing_can_be_read() -> None:
    assert offers(EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={})) == []


def test_criteria_stand_in_the_order_of_the_file() -> None:
    names = ["the longest name of all", "b", "a"]
    bring_in(file_of(line(parsed_rubric_scores={name: {"score": "Yes"} for name in names})))
    assert [offer.criterion for offer in offers(Evaluation.objects.get())] == names


@pytest.mark.parametrize(
    ("entry", "score", "level", "word"),
    [
        ({"score": "Yes"}, "Yes", "Yes", "Yes"),
        ({"score": "yes"}, "yes", AS_JUDGED, "yes"),
        ({"score": 4}, 4, AS_JUDGED, "4"),
        ({"score": 0}, 0, AS_JUDGED, "0"),
        ({"score": True}, True, AS_JUDGED, "true"),
        ({"score": None}, None, "", ""),
        ({"score": ""}, "", "", ""),
        ({"score": ["Yes"]}, None, "", ""),
        ({"justification": "No score."}, None, "", ""),
        ("Partial", "Partial", "Partial", "Partial"),
        (3.5, 3.5, AS_JUDGED, "3.5"),
        (["Yes"], None, "", ""),
    ],
)
def test_a_score_keeps_its_json_type(entry: Any, score: Any, level: str, word: str) -> None:
    offer = offered({"Clarity": entry})
    assert (offer.score, offer.level, offer.word) == (score, level, word)
    assert type(offer.score) is type(score)


def test_a_justification_that_is_no_text_is_left_to_the_person() -> None:
    assert not offered({"Clarity": {"score": "Yes", "justification": {"text": "?"}}}).justification


def test_names_are_shown_in_words() -> None:
    assert criterion_title("correctness_of_final_answer") == "Correctness of final answer"
    assert score_word(None) == ""

"""What a reviewer gets to judge by."""

from typing import Any

import pytest

from reviews.criteria import offers
from reviews.evidence import Evidence, Part, decision, read, response_parts
from tests.factories import EvaluationFactory

pytestmark = pytest.mark.django_db


def evidence(**fields: Any) -> Evidence:
    record = EvaluationFactory.build(**fields)
    return read(record, offers(record))


def test_the_parsing_error_is_not_said_twice() -> None:
    reasons = ["LLM response parsing failed: No JSON."]
    assert evidence(review_reasons=reasons, parsing_error="No JSON.").reasons == reasons
    assert evidence(review_reasons=[], parsing_error="No JSON.").reasons == ["Parsing error: No JSON."]


def test_thousands_of_reasons_are_counted_not_listed() -> None:
    found = evidence(review_reasons=["again"] * 5000).reasons
    assert (len(found), found[-1]) == (31, "And 4,970 more in the full record.")


def test_a_missing_reference_is_said_once_and_is_no_mismatch() -> None:
    found = evidence(
        parsed_rubric_scores={"Clarity": {"score": "Yes", "justification": "."}},
        aggregated_score="Pass",
        verification_message="Verification (String): Mismatch (Extracted: '1/2', Correct: '').",
    )
    assert found.verification.sentence == "No reference answer."
    assert found.contradictions == []


def test_a_contradiction_is_found() -> None:
    found = evidence(aggregated_score="Pass", parsed_rubric_scores={"Clarity": {"score": "No"}})
    assert "verdict" in [contradiction.kind for contradiction in found.contradictions]


def test_all_fields_are_there_and_the_unknown_ones_together() -> None:
    names = [name for name, _ in evidence(extra={"cost": 1}).fields]
    assert len(names) == 24
    assert names[-1] == "extra"


def test_a_response_is_read_into_parts_with_the_answer_first() -> None:
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
    assert response_parts(response) == [
        Part("Final answer", text="$3$"),
        Part("Steps", items=["Add.", "Divide."]),
        Part("Intermediate results", data={"sum": 3}),
        Part("Certain", text="true"),
        Part("model", text="o1"),
    ]


@pytest.mark.parametrize(
    ("response", "parts"),
    [
        (None, []),
        ("", []),
        ({}, []),
        ("It is 3.", [Part("Response", text="It is 3.")]),
        (
            {"model": "o1", "response": "It is 3."},
            [Part("Response", text="It is 3."), Part("model", text="o1")],
        ),
        ({"final_answer": "3"}, [Part("Final answer", text="3")]),
        ({"response": None}, []),
        ({"steps": [1, "two"]}, [Part("Steps", data=[1, "two"])]),
        ({"steps": ["x"] * 1000}, [Part("Steps", data=["x"] * 1000)]),
    ],
)
def test_a_response_may_have_any_shape(response: Any, parts: list[Part]) -> None:
    assert response_parts(response) == parts


def test_a_huge_response_is_shown_as_json() -> None:
    huge = {"response": {f"step {number}": "x" * 1000 for number in range(250)}}
    assert response_parts(huge) == [Part("Response", data=huge)]


def test_a_decision_stands_beside_the_judges() -> None:
    record = EvaluationFactory.build(
        parsed_rubric_scores={"Clarity": {"score": "No", "justification": "Vague."}, "Depth": {"score": 4}},
        aggregated_score=None,
        human_corrected_scores={"Clarity": {"score": "Yes", "justification": "Clear."}, "Style": "Yes"},
    )
    found = decision(record, offers(record))
    assert [(row.title, row.judge, row.human, row.text, row.differs) for row in found.rows] == [
        ("Clarity", "No", "Yes", "Clear.", True),
        ("Depth", "4", "", "", False),
        ("Style", "", "Yes", "", True),
    ]
    assert found.verdict == "Pass"


def test_without_a_decision_the_judges_verdict_stands() -> None:
    record = EvaluationFactory.build(aggregated_score="Fail")
    assert decision(record, offers(record)).verdict == "Fail"

"""The judge's proposals for the criteria of a record, from any shape of its scores."""

from typing import Any

import pytest

from reviews.models import Evaluation
from reviews.records.rubric import Rubric
from reviews.records.scales import RangeScale
from reviews.rubric.proposals import Proposal, read_proposals
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_of

pytestmark = pytest.mark.django_db


def offered(scores: dict[str, Any]) -> Proposal:
    [proposal] = read_proposals(EvaluationFactory.build(parsed_rubric_scores=scores), Rubric())
    return proposal


def test_parsed_score_is_proposed() -> None:
    proposal = offered({"Clarity": {"score": "No", "justification": "Vague.", "confidence": 0.9}})
    assert (proposal.score, proposal.justification, proposal.origin) == ("No", "Vague.", "judge")
    assert proposal.given == {"score": "No", "justification": "Vague.", "confidence": 0.9}


def test_unparsed_scores_are_proposed_from_raw_output() -> None:
    raw = '{"clarity": {"score": "Yes", "justification": "Each step follows."}}'
    record = EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={"raw_content": raw})
    [proposal] = read_proposals(record, Rubric())
    assert (proposal.criterion, proposal.score, proposal.origin) == ("clarity", "Yes", "extracted")
    assert proposal.given == {"score": "Yes", "justification": "Each step follows."}
    assert proposal.span


def test_unreadable_output_proposes_nothing() -> None:
    record = EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={})
    assert read_proposals(record, Rubric()) == []


def test_proposals_are_in_file_order() -> None:
    names = ["the longest name of all", "b", "a"]
    import_data(file_of(line(parsed_rubric_scores={name: {"score": "Yes"} for name in names})))
    assert [proposal.criterion for proposal in read_proposals(Evaluation.objects.get(), Rubric())] == names


@pytest.mark.parametrize(
    ("entry", "score", "word"),
    [
        ({"score": "Yes"}, "Yes", "Yes"),
        ({"score": "yes"}, "yes", "yes"),
        ({"score": 4}, 4, "4"),
        ({"score": 0}, 0, "0"),
        ({"score": True}, True, "true"),
        ({"score": False}, False, "false"),
        ({"score": None}, None, ""),
        ({"score": ""}, "", ""),
        ({"score": ["Yes"]}, None, ""),
        ({"justification": "No score."}, None, ""),
        ("Partial", "Partial", "Partial"),
        (3.5, 3.5, "3.5"),
        (["Yes"], None, ""),
    ],
)
def test_proposed_score_keeps_its_json_type(entry: Any, score: Any, word: str) -> None:
    proposal = offered({"Clarity": entry})
    assert (proposal.score, proposal.word) == (score, word)
    assert type(proposal.score) is type(score)


def test_fingerprint_differs_for_another_score_or_justification() -> None:
    entries = [
        {"score": 4},
        {"score": "4"},
        {"score": 4, "justification": "So."},
        {"score": 0},
        {"score": None},
    ]
    assert len({offered({"Clarity": entry}).fingerprint for entry in entries}) == len(entries)


def test_justification_that_is_no_text_is_left_empty() -> None:
    assert not offered({"Clarity": {"score": "Yes", "justification": {"text": "?"}}}).justification


THREE = rubric_of("clarity", "rigor", "style", scale=RangeScale(1, 5))


def with_scores(*names: str) -> Evaluation:
    return EvaluationFactory.build(parsed_rubric_scores={name: {"score": 4} for name in names})


def test_missing_criteria_of_the_rubric_are_blank() -> None:
    blank, own, last = read_proposals(with_scores("rigor"), THREE)
    assert (own.criterion, own.score) == ("rigor", 4)
    assert (blank.criterion, last.criterion) == ("clarity", "style")
    assert (blank.score, blank.word, blank.justification, blank.given) == (None, "", "", {})
    assert blank.origin == "rubric"


def test_proposals_are_in_rubric_order_with_others_last() -> None:
    names = [
        proposal.criterion for proposal in read_proposals(with_scores("depth", "style", "clarity"), THREE)
    ]
    assert names == ["clarity", "rigor", "style", "depth"]


def test_record_without_scores_gets_the_rubric_of_the_run() -> None:
    record = EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={"raw_content": "Sorry."})
    assert [proposal.criterion for proposal in read_proposals(record, THREE)] == ["clarity", "rigor", "style"]


def test_record_of_another_rubric_has_no_blank_criteria() -> None:
    names = ["depth", "rigor", "tone"]
    assert [proposal.criterion for proposal in read_proposals(with_scores(*names), THREE)] == names


def test_repairs_are_proposed_with_their_place() -> None:
    raw = r'{"clarity": {"score": "Yes", "justification": "It has \frac{1}{2}."}}'
    record = EvaluationFactory.build(parsed_rubric_scores={}, raw_judge_output={"raw_content": raw})
    [proposal] = read_proposals(record, Rubric())
    assert [repair.before for repair in proposal.repairs] == [r"\frac{1}{2}."]
    assert proposal.span == (1, len(raw) - 1)

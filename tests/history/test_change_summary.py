"""The sentence about a re-import that made a decision outdated."""

from typing import Any

import pytest

from reviews.history.changes import changes_since_review, summarise_changes
from reviews.models import Evaluation, User
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.lines import file_of, import_data, line
from tests.support.work import agree, decide

pytestmark = pytest.mark.django_db

RAW = '{"Clarity": {"score": "%s", "justification": "Read."}}'


def raw(score: str) -> dict[str, Any]:
    """Fields of a record whose scores are extracted from raw output."""
    return {"parsed_rubric_scores": {}, "raw_judge_output": {"raw_content": RAW % score}}


def summary(name: str = "eval_1") -> str:
    evaluation = Evaluation.objects.get(evaluation_id=name)
    proposals = read_proposals(evaluation, run_rubric(evaluation.run))
    return summarise_changes(evaluation, proposals, changes_since_review(evaluation))


def scored(score: str, **others: str) -> dict[str, Any]:
    scores = {"Clarity": score, **others}
    judged = {
        name: {"score": given, "justification": "Every step is there."} for name, given in scores.items()
    }
    return {"parsed_rubric_scores": judged}


CHANGES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (scored("Yes"), scored("No"), "Clarity: judge Yes → No"),
    (scored("Yes"), scored("No") | {"aggregated_score": "Fail"}, "Clarity: judge Yes → No"),
    (scored("Yes"), scored("Yes", Rigour="No"), "Rigour: new, judge No"),
    (scored("Yes", Rigour="No"), scored("Yes"), "Rigour: no longer scored by the judge"),
    (
        scored("Yes"),
        {"parsed_rubric_scores": {"Clarity": {"score": "Yes", "justification": "Clear."}}},
        "Clarity: justification changed",
    ),
    (scored("Yes"), scored("Yes") | {"structured_model_response": "54"}, "Model response changed"),
    (
        scored("Yes"),
        scored("No") | {"structured_model_response": "54", "structured_ideal_response": "60"},
        "Clarity: judge Yes → No; model response changed; 1 more change",
    ),
    (
        scored("Yes"),
        scored("Partial", Rigour="No") | {"structured_model_response": "54", "parsing_error": "Cut off."},
        "Clarity: judge Yes → Partial; Rigour: new, judge No; 2 more changes",
    ),
    (scored("Yes"), scored("Yes") | {"task_id": "other"}, "Other fields changed"),
    (raw("Yes"), raw("No"), "Clarity: judge Yes → No"),
]


@pytest.mark.slow
def test_summary_names_the_changes_for_a_reviewer(bo: User) -> None:
    names = [f"eval_{number}" for number in range(len(CHANGES))]
    import_data(file_of(*(line(name, **before) for name, (before, _, _) in zip(names, CHANGES, strict=True))))
    for name in names:
        agree(Evaluation.objects.get(evaluation_id=name), bo)
    import_data(file_of(*(line(name, **after) for name, (_, after, _) in zip(names, CHANGES, strict=True))))
    assert all(one.is_outdated for one in Evaluation.objects.all())
    assert [summary(name) for name in names] == [sentence for _, _, sentence in CHANGES]


@pytest.mark.slow
def test_summary_after_a_decision_without_the_judges_scores_compares_the_lines(bo: User) -> None:
    import_data(file_of(line(**scored("Yes", Rigour="No"))))
    decide(Evaluation.objects.get(), bo)
    import_data(file_of(line(**scored("No"))))
    assert summary() == "Clarity: judge Yes → No; Rigour: no longer scored by the judge"


def test_summary_without_stored_line_says_so(bo: User) -> None:
    import_data(file_of(line(**scored("Yes"))))
    agree(Evaluation.objects.get(), bo)
    evaluation = Evaluation.objects.get()
    proposals = read_proposals(evaluation, run_rubric(evaluation.run))
    assert summarise_changes(evaluation, proposals, []) == "Re-imported with changes"

"""Comparison of a decision with the judge's scores."""

from typing import Any

import pytest

from reviews.records.rubric import Rubric
from reviews.rubric.overrides import JudgeComparison, compare_with_judge

JUDGED = {"Clarity": "Yes", "Rigor": "No"}


def decided(**scores: Any) -> dict[str, dict[str, Any]]:
    return {name: {"score": score, "justification": "So it is."} for name, score in scores.items()}


@pytest.mark.parametrize(
    ("scores", "causes", "changes"),
    [
        ({"Clarity": "Yes", "Rigor": "No"}, {}, 0),
        ({"Clarity": "Yes", "Rigor": "Yes"}, {}, 1),
        ({"Clarity": " yes", "Rigor": "NO"}, {}, 0),
        ({"Clarity": "Yes"}, {}, 1),
        ({"Clarity": "Yes", "Rigor": "No", "Results": "Yes"}, {}, 1),
        ({"Clarity": "Yes", "Rigor": "No"}, {"Rigor": "typo"}, 1),
        ({"Clarity": "No", "Rigor": "No"}, {"Clarity": "typo"}, 1),
        ({}, {}, 2),
    ],
)
def test_changes_count_criteria_with_other_scores_or_causes(
    scores: dict[str, str], causes: dict[str, str], changes: int
) -> None:
    assert compare_with_judge(JUDGED, decided(**scores), causes, Rubric(), None).changes == changes


@pytest.mark.parametrize(
    ("judge", "human", "changes"), [(4, 4.0, 0), (True, 1, 1), ("1", 1, 1), (0, False, 1)]
)
def test_scores_are_compared_as_json_values(judge: Any, human: Any, changes: int) -> None:
    assert compare_with_judge({"Rigor": judge}, decided(Rigor=human), {}, Rubric(), None).changes == changes


def test_unknown_judge_scores_leave_only_the_human_verdict() -> None:
    assert compare_with_judge(None, decided(Clarity="Yes"), {}, Rubric(), "Fail") == JudgeComparison(
        None, None, None, "Pass"
    )


@pytest.mark.parametrize(("recorded", "judged"), [("Partial", "Partial"), (None, "Fail"), ("passed", "Fail")])
def test_judge_verdict_is_recorded_or_computed_from_scores(recorded: str | None, judged: str) -> None:
    compared = compare_with_judge(JUDGED, decided(Clarity="Yes", Rigor="Yes"), {}, Rubric(), recorded)
    assert (compared.judged_verdict, compared.verdict) == (judged, "Pass")


def test_scores_without_level_have_no_verdict() -> None:
    compared = compare_with_judge({"Clarity": "?"}, decided(Clarity="!"), {}, Rubric(), None)
    assert compared == JudgeComparison(["Clarity"], 1, None, None)

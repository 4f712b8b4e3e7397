"""Comparison of a decision with the judge's scores."""

from typing import Any

import pytest

from reviews.records.verdict import VerdictRule
from reviews.rubric.overrides import JudgeComparison, compare_with_judge

JUDGED = {"Clarity": "Yes", "Rigor": "No"}


def decided(**scores: Any) -> dict[str, dict[str, Any]]:
    return {name: {"score": score, "justification": "So it is."} for name, score in scores.items()}


@pytest.mark.parametrize(
    ("scores", "causes", "changes"),
    [
        ({"Clarity": "Yes", "Rigor": "No"}, {}, 0),
        ({"Clarity": "Yes", "Rigor": "Yes"}, {}, 1),
        ({"Clarity": "yes", "Rigor": "No"}, {}, 1),
        ({"Clarity": "Yes"}, {}, 1),
        ({"Clarity": "Yes", "Rigor": "No", "Results": "Yes"}, {}, 1),
        ({"Clarity": "Yes", "Rigor": "No"}, {"Rigor": "typo"}, 1),
        ({"Clarity": "No", "Rigor": "No"}, {"Clarity": "typo"}, 1),
        ({}, {}, 2),
    ],
)
def test_changes_are_criteria_scored_otherwise_or_with_a_cause(
    scores: dict[str, str], causes: dict[str, str], changes: int
) -> None:
    assert compare_with_judge(JUDGED, decided(**scores), causes, VerdictRule(), None).changes == changes


@pytest.mark.parametrize(
    ("judge", "human", "changes"), [(4, 4.0, 0), (True, 1, 1), ("1", 1, 1), (0, False, 1)]
)
def test_scores_are_the_same_as_json_has_them(judge: Any, human: Any, changes: int) -> None:
    assert (
        compare_with_judge({"Rigor": judge}, decided(Rigor=human), {}, VerdictRule(), None).changes == changes
    )


def test_without_what_the_judge_said_only_the_human_verdict_is_known() -> None:
    assert compare_with_judge(None, decided(Clarity="Yes"), {}, VerdictRule(), "Fail") == JudgeComparison(
        None, None, "Pass"
    )


@pytest.mark.parametrize(("recorded", "judged"), [("Partial", "Partial"), (None, "Fail"), ("passed", "Fail")])
def test_the_judges_verdict_is_the_recorded_one_or_what_the_scores_come_to(
    recorded: str | None, judged: str
) -> None:
    compared = compare_with_judge(JUDGED, decided(Clarity="Yes", Rigor="Yes"), {}, VerdictRule(), recorded)
    assert (compared.judged_verdict, compared.verdict) == (judged, "Pass")


def test_scores_that_count_as_nothing_have_no_verdict() -> None:
    compared = compare_with_judge({"Clarity": "?"}, decided(Clarity="!"), {}, VerdictRule(), None)
    assert compared == JudgeComparison(1, None, None)

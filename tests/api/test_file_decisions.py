"""Decisions from a file: programs see them before they replace them."""

from typing import Any

import pytest

from reviews.models import Evaluation, Run, User
from tests.support.api_requests import Program
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HUMAN = {
    "human_reviewer_id": "carla",
    "human_review_timestamp": "2025-05-12T10:00:00Z",
    "human_corrected_scores": {"Clarity": {"score": "No", "justification": "Step 3 is missing."}},
    "human_review_comments": "Checked twice.",
}


@pytest.fixture
def record(ana: User) -> Evaluation:
    import_data(file_of(line("a", **HUMAN)))
    return Evaluation.objects.get()


def claim(program: Program) -> Any:
    return program.ask("POST", "runs/evaluations/claims").json()


def review(program: Program, score: str = "No", **sent: Any) -> Any:
    body = {"corrected_scores": {"Clarity": {"score": score}}} | sent
    return program.ask("PUT", "runs/evaluations/evaluations/a/review", body, Idempotency_Key="one")


def test_claim_and_record_show_file_decision(record: Evaluation, of_ana: Program) -> None:
    expected = {
        "reviewer": "carla",
        "reviewed_at": "2025-05-12T10:00:00+00:00",
        "file_name": "evaluations.jsonl",
        "line": 1,
        "corrected_scores": HUMAN["human_corrected_scores"],
        "comments": "Checked twice.",
        "verdict": "Fail",
    }
    for found in (claim(of_ana), of_ana.get("runs/evaluations/evaluations/a").json()):
        assert found["file_decision"] == expected
        assert found["decision"] is None


def test_new_decision_replaces_file_decision(record: Evaluation, of_ana: Program) -> None:
    claim(of_ana)
    assert review(of_ana).status_code == 200
    found = of_ana.get("runs/evaluations/evaluations/a").json()
    assert found["file_decision"] is None
    assert found["decision"]["reviewer"] == "ana"


@pytest.mark.parametrize(
    ("sent", "comments"),
    [
        ({}, "Checked twice."),
        ({"comments": None}, None),
        ({"comments": ""}, None),
        ({"comments": "Mine."}, "Mine."),
    ],
)
def test_file_comments_remain_unless_replaced(
    sent: dict[str, Any], comments: str | None, record: Evaluation, of_ana: Program
) -> None:
    claim(of_ana)
    assert review(of_ana, **sent).json()["decision"]["comments"] == comments
    assert review(of_ana, **sent).status_code == 200  # the same once more
    record.refresh_from_db()
    assert record.human_review_comments == comments


@pytest.mark.parametrize(
    ("score", "justification"), [("No", "Step 3 is missing."), ("Yes", r"States \(\frac{1}{2}\).")]
)
def test_file_justification_remains_with_its_score(
    score: str, justification: str, record: Evaluation, of_ana: Program
) -> None:
    claim(of_ana)
    decided = review(of_ana, score).json()["decision"]["corrected_scores"]
    assert decided == {"Clarity": {"score": score, "justification": justification}}


def test_criterion_only_in_file_is_not_dropped_silently(of_ana: Program) -> None:
    scores = {"Clarity": {"score": "No"}, "Style": {"score": "Perhaps", "weight": 2}}
    import_data(file_of(line("a", human_corrected_scores=scores)))
    claim(of_ana)
    refused = review(of_ana)
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == ["corrected_scores.Style"]
    both = {"Clarity": {"score": "No"}, "Style": {"score": "Perhaps"}}
    decided = review(of_ana, corrected_scores=both).json()["decision"]["corrected_scores"]
    assert decided["Style"] == {"score": "Perhaps", "weight": 2}


@pytest.mark.parametrize("entry", ["No", None, [1], {"score": ["No"]}, {"justification": 5}, 10**30, {}])
def test_odd_file_entries_are_shown_and_replaceable(entry: Any, of_ana: Program) -> None:
    import_data(file_of(line("a", human_corrected_scores={"Clarity": entry, "Style": entry})))
    assert claim(of_ana)["file_decision"]["corrected_scores"].keys() == {"Clarity", "Style"}
    sent = {"Clarity": {"score": "Yes"}, "Style": None}
    assert review(of_ana, corrected_scores=sent).status_code == 200


def test_blind_record_shows_file_decision_after_lock_in(record: Evaluation, of_ana: Program) -> None:
    Run.objects.update(blind_share=1)
    for found in (claim(of_ana), of_ana.get("runs/evaluations/evaluations/a").json()):
        assert (found["is_blind"], found["file_decision"]) == (True, None)
        assert "Step 3" not in str(found)
    committed = of_ana.ask(
        "PUT", "runs/evaluations/evaluations/a/blind-scores", {"scores": {"Clarity": "Yes"}}
    ).json()
    assert committed["file_decision"]["comments"] == "Checked twice."
    assert review(of_ana, "Yes").json()["decision"]["comments"] == "Checked twice."


@pytest.mark.slow
def test_comments_of_reopened_decision_remain(record: Evaluation, of_ana: Program) -> None:
    claim(of_ana)
    review(of_ana, comments="Mine.")
    import_data(file_of(line("a", **HUMAN, aggregated_score="Fail")))
    assert claim(of_ana)["decision"]["comments"] == "Mine."
    again = {"corrected_scores": {"Clarity": {"score": "Yes"}}}
    answer = of_ana.ask("PUT", "runs/evaluations/evaluations/a/review", again, Idempotency_Key="two")
    assert answer.json()["decision"]["comments"] == "Mine."

"""The page of a run: its evaluations by state, who has them, and its imports."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews import queue
from reviews.models import Evaluation, Run, User
from tests.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.views.pages import text
from tests.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(db: None) -> Run:
    return RunFactory.create(name="Algebra")


def address(run: Run, **query: str) -> str:
    return reverse("run", args=[run.pk], query=query)


def listed(response: Any) -> list[Evaluation]:
    return [row.evaluation for row in response.context["rows"]]


def test_the_queue_is_what_one_sees_first(as_ana: Client, run: Run) -> None:
    waiting = EvaluationFactory.create(run=run)
    EvaluationFactory.create(run=run, human_review_status="Completed")
    assert listed(as_ana.get(address(run))) == [waiting]


@pytest.mark.parametrize(
    ("state", "statuses"),
    [
        ("queue", {"Needs Review", "Pending"}),
        ("done", {"Completed", "Reviewed"}),
        ("not-required", {"Not Required"}),
        ("all", {"Needs Review", "Pending", "Completed", "Reviewed", "Not Required"}),
    ],
)
def test_each_tab_lists_what_its_count_says(state: str, statuses: set[str], as_ana: Client, run: Run) -> None:
    for status in ("Needs Review", "Pending", "Completed", "Reviewed", "Not Required"):
        EvaluationFactory.create(run=run, human_review_status=status)
    response = as_ana.get(address(run, state=state))
    assert {evaluation.human_review_status for evaluation in listed(response)} == statuses
    assert [tab.size for tab in response.context["tabs"] if tab.state == state] == [len(statuses)]


def test_other_runs_are_not_listed(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create()
    assert listed(as_ana.get(address(run, state="all"))) == []


def test_a_row_leads_to_its_evaluation(as_ana: Client, run: Run) -> None:
    evaluation = EvaluationFactory.create(run=run)
    assert reverse("evaluation", args=[evaluation.pk]) in text(as_ana.get(address(run)))


def test_who_holds_a_record_is_shown_with_the_time_it_ends(as_ana: Client, run: Run, bo: User) -> None:
    evaluation = EvaluationFactory.create(run=run)
    queue.claim(evaluation_id=evaluation.pk, reviewer=bo)
    evaluation.refresh_from_db()
    assert f"held by bo until {evaluation.claimed_until:%H:%M} UTC" in text(as_ana.get(address(run)))


def test_ones_own_claim_is_shown_as_such(as_ana: Client, run: Run, ana: User) -> None:
    queue.claim(evaluation_id=EvaluationFactory.create(run=run).pk, reviewer=ana)
    assert "held by you until" in text(as_ana.get(address(run)))


def test_a_claim_that_has_ended_is_none(as_ana: Client, run: Run, bo: User) -> None:
    EvaluationFactory.create(run=run, claimed_by=bo, claimed_until=timezone.now() - timedelta(seconds=1))
    assert "held by" not in text(as_ana.get(address(run)))


def test_a_decision_is_shown_with_who_made_it_and_what_it_changed(as_ana: Client, run: Run, bo: User) -> None:
    evaluation = EvaluationFactory.create(run=run, aggregated_score="Fail")
    decide(evaluation, bo, scores={"Accuracy": {"score": "Yes", "justification": ""}})
    page = text(as_ana.get(address(run, state="done")))
    assert '<del class="muted">Fail</del>' in page
    assert '<span class="badge pass">Pass</span>' in page
    assert "bo, " in page


def test_a_decision_that_a_file_brought_says_so(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_reviewer_id="kim")
    assert "kim, in the file" in text(as_ana.get(address(run, state="done")))


@pytest.mark.parametrize(
    "scores", [{}, {"a": None}, {"a": "Yes"}, {"a": {"score": ["odd"]}}, {"a": {"score": {}}}]
)
def test_any_scores_that_a_file_brings_can_be_listed(scores: Any, as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(run=run, human_review_status="Reviewed", human_corrected_scores=scores)
    assert as_ana.get(address(run, state="done")).status_code == 200


def test_a_record_with_nothing_optional_in_it_can_be_listed(as_ana: Client, run: Run) -> None:
    EvaluationFactory.create(
        run=run,
        task_id=None,
        model_id=None,
        aggregated_score=None,
        review_reasons=[],
        verification_message=None,
    )
    page = text(as_ana.get(address(run)))
    assert "no task" in page
    assert "None" not in page


def test_what_a_file_says_is_shown_as_text(as_ana: Client, run: Run) -> None:
    evil = "<img src=x onerror=alert(1)>"
    EvaluationFactory.create(
        run=run, task_id=evil, model_id=evil, judge_llm_model=evil, review_reasons=[evil, evil, evil]
    )
    assert "<img src=x" not in text(as_ana.get(address(run)))


def test_pages_follow_each_other_without_gap_or_repeat(
    as_ana: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.queue.PAGE_SIZE", 2)
    source = ImportFactory.create(run=run)
    made = EvaluationFactory.create_batch(5, run=run, first_import=source)
    seen, after = [], ""
    for _ in range(3):
        response = as_ana.get(address(run, after=after))
        seen += listed(response)
        after = response.context["next_after"]
    assert seen == made
    assert not after
    assert "First page" in text(response)


@pytest.mark.parametrize(
    ("status", "state", "sentence"),
    [
        ("Completed", "queue", "Queue clear"),
        ("Needs Review", "done", "Nothing has been reviewed yet."),
        ("Needs Review", "not-required", "Every record of this run needs a human."),
    ],
)
def test_an_empty_tab_says_what_that_means(
    status: str, state: str, sentence: str, as_ana: Client, run: Run
) -> None:
    EvaluationFactory.create(run=run, human_review_status=status)
    assert sentence in text(as_ana.get(address(run, state=state)))


def test_the_imports_of_the_run_are_listed(as_ana: Client, run: Run) -> None:
    source = ImportFactory.create(run=run, lines=75, rejected=2)
    page = text(as_ana.get(address(run)))
    assert reverse("import", args=[source.pk]) in page
    assert "75 lines, 2 rejected" in page


@pytest.mark.parametrize("count", [1, 3])
def test_the_database_is_asked_as_often_for_three_records_as_for_one(
    count: int,
    as_ana: Client,
    run: Run,
    bo: User,
    django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    EvaluationFactory.create_batch(
        count, run=run, claimed_by=bo, claimed_until=timezone.now() + timedelta(hours=1)
    )
    with django_assert_num_queries(9):
        as_ana.get(address(run))

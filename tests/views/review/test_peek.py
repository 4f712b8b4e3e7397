"""A peek at another record of the task shows it read-only, and nothing that is hidden from the person."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Reveal, Run, User
from reviews.queue import claims
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.questions import PAIR, import_question
from tests.support.work import decide

pytestmark = pytest.mark.django_db

SCORES = {"clarity": {"score": "No", "justification": "Ends with $\\frac{1}{2}$."}}


def make(run: Run, model: str = "o1", **fields: Any) -> Evaluation:
    values = {"task_id": "7", "parsed_rubric_scores": SCORES, "aggregated_score": "Fail"}
    answer = {"response": {"steps": ["Add six."], "final_answer": "54"}, "model": "structured by gpt"}
    return EvaluationFactory.create(
        run=run, **(values | {"model_id": model, "structured_model_response": answer} | fields)
    )


def peek(client: Client, record: Evaluation, other: Evaluation) -> Any:
    return client.get(reverse("peek", args=[record.pk, other.pk]))


def test_peek_shows_response_scores_and_justifications_without_a_claim(as_ana: Client, run: Run) -> None:
    record, other = make(run), make(run, "o3")
    response = peek(as_ana, record, other)
    page = text(response)
    for shown in (
        "Add six.",
        "54",
        "Clarity",
        "No <small>judge</small>",
        "Ends with",
        "<strong>Fail</strong>",
    ):
        assert shown in page
    assert "structured by gpt" not in page
    assert "<form" not in page
    assert response["Cache-Control"] == "no-store"
    other.refresh_from_db()
    assert other.claimed_by is None


def test_peek_shows_the_current_decision(as_ana: Client, bo: User, run: Run) -> None:
    record, other = make(run), make(run, "o3")
    decide(other, bo)
    assert "<small>human</small>" in text(peek(as_ana, record, other))


def test_peek_shows_a_response_from_the_task_context(as_ana: Client, run: Run) -> None:
    bring(task(model_responses=[{"model_id": "o3", "response_text": "It is **54**."}]))
    record, other = make(run), make(run, "o3", structured_model_response=None)
    assert "It is <strong>54</strong>." in text(peek(as_ana, record, other))
    assert "No model response was supplied." in text(
        peek(as_ana, record, make(run, "o4", structured_model_response=None))
    )


@pytest.mark.slow
def test_peek_shows_both_responses_of_a_comparison(as_ana: Client) -> None:
    record = import_question(prompt="Why?", responses=PAIR)
    Evaluation.objects.update(task_id="7")
    page = text(peek(as_ana, record, record))
    assert "A: gpt-4" in page
    assert "B: claude-3" in page


@pytest.mark.slow
def test_peek_is_limited_to_records_of_the_same_task_and_run(as_ana: Client, run: Run) -> None:
    record = make(run)
    for other in (make(run, task_id="8"), make(RunFactory.create()), make(run, task_id=None)):
        assert peek(as_ana, record, other).status_code == 404
        assert peek(as_ana, other, record).status_code == 404
    alone = make(run, task_id=None)
    assert peek(as_ana, alone, make(run, task_id=None)).status_code == 404


class TestBlindReview:
    @pytest.fixture
    def run(self, db: None) -> Run:
        return RunFactory.create(blind_share=1)

    def tells_nothing(self, response: Any) -> None:
        page = text(response)
        assert "Add six." in page
        assert "The judge&#x27;s scores are hidden" in page or "The judge's scores are hidden" in page
        for hidden in ("Clarity", "Fail", "Ends with", "judge</small>"):
            assert hidden not in page

    def test_peek_at_a_hidden_record_shows_no_scores(self, as_ana: Client, run: Run) -> None:
        plain, hidden = make(run, structured_model_response=None), make(run, "o3")
        self.tells_nothing(peek(as_ana, plain, hidden))

    def test_peek_from_a_hidden_record_shows_no_scores(self, as_ana: Client, ana: User, run: Run) -> None:
        record, other = make(run), make(run, "o3")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        Reveal.objects.create(run=run, evaluation=other, reviewer=ana, how="shown")
        assert "Fail" in text(as_ana.get(reverse("evaluation", args=[other.pk])))
        self.tells_nothing(peek(as_ana, record, other))

    def test_peek_shows_scores_that_were_revealed(self, as_ana: Client, ana: User, run: Run) -> None:
        record, other = make(run), make(run, "o3")
        for one in (record, other):
            Reveal.objects.create(run=run, evaluation=one, reviewer=ana, how="shown")
        assert "Ends with" in text(peek(as_ana, record, other))

    def test_siblings_of_a_blind_record_have_no_scores(self, as_ana: Client, ana: User, run: Run) -> None:
        record, other = make(run), make(run, "o3")
        Reveal.objects.create(run=run, evaluation=other, reviewer=ana, how="shown")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = text(as_ana.get(reverse("evaluation", args=[record.pk])))
        assert "Other models on this task (1)" in page
        assert 'class="score"' not in page
        assert '<th scope="col">Verdict</th>' not in page

"""The pane of the inbox: the shown item, its answer, and the next item."""

import re
from typing import Any

import pytest
from django.test import Client

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import Escalation, Evaluation, Review, Run, User
from tests.support import contexts
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.inbox_pages import asked, inbox
from tests.support.pages import HTMX, form_of, text, url
from tests.support.rubrics import rubric_data
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


def opened(client: Client, response: Any) -> str:
    """Return the record that a redirect to an item of the inbox shows."""
    return str(client.get(response["Location"]).context["evaluation"].evaluation_id)


@pytest.mark.slow
class TestPane:
    """The item beside the list."""

    def test_pane_has_the_first_item_or_the_chosen_one(self, as_lea: Client, ana: User, algebra: Run) -> None:
        first, second = asked(algebra, ana, "First?"), asked(algebra, ana, "Second?")
        page = as_lea.get(inbox(algebra))
        assert page.context["pane_place"].position == first.pk
        place = f"question-{second.pk}"
        assert as_lea.get("/inbox/", {"item": place}).context["pane_place"].position == second.pk
        part = text(as_lea.get("/inbox/", {"item": place}, headers=HTMX))
        assert "<html" not in part
        assert f'name="which" value="{second.pk}"' in part
        assert 'data-choice="1"' in part
        gone = text(as_lea.get("/inbox/", {"item": f"question-{second.pk + 1}"}, headers=HTMX))
        assert "no longer waits" in gone

    def test_answer_in_the_pane_leads_to_the_next_item_in_the_pane(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        first, second = asked(algebra, ana), asked(algebra, ana)
        form = {"which": first.pk, "outcome": "returned", "answer": "Yes.", "place": f"question-{first.pk}"}
        assert as_lea.post("/inbox/", form)["Location"] == f"/inbox/?item=question-{second.pk}"

    def test_spot_check_is_agreed_to_in_the_pane(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        decide(EvaluationFactory.create(run=algebra), ana)
        [drawn] = spot_checks.draw(selection=WorkSelection(algebra, reviewer=ana), count=1, actor=lea)
        place = f"check-{drawn.pk}"
        assert "human</small>" in text(as_lea.get("/inbox/", {"item": place}, headers=HTMX))
        form = {"inbox": place, "pane": "yes", "outcome": "agreed", "reason": "Fine."}
        assert as_lea.post(url("spot-check", drawn), form)["Location"] == "/inbox/"
        drawn.refresh_from_db()
        assert (drawn.outcome, drawn.note) == ("agreed", "Fine.")

    def test_side_of_a_disagreement_is_taken_in_the_pane(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        Run.objects.update(overlap_share=1, overlap=2)
        other = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}
        records = EvaluationFactory.create_batch(2, run=algebra, task_id="7")
        contexts.bring(contexts.task(prompt="What is one half?"))
        for record in records:
            decide(record, ana)
            decide(record, bo, scores=other)
        first, second = Escalation.objects.order_by("pk")
        part = text(as_lea.get("/inbox/", {"item": f"disagreement-{first.pk}"}, headers=HTMX))
        chosen = Review.objects.get(evaluation=records[0], reviewer=bo)
        assert f'name="review" value="{chosen.pk}" data-choice="2"' in part
        assert re.search(
            r"<strong>ana: (No|Partial)</strong>.*<strong>bo: Yes</strong> One half it is\.", part
        )
        assert "What is one half?" in part
        form = {"queue": f"inbox=disagreement-{first.pk}", "pane": "yes", "review": str(chosen.pk)}
        response = as_lea.post(url("take-side", first), form)
        assert response["Location"] == f"/inbox/?item=disagreement-{second.pk}"
        records[0].refresh_from_db()
        decided = records[0].review
        assert decided
        assert (decided.reviewer.username, decided.corrected_scores) == ("lea", chosen.corrected_scores)
        page = text(as_lea.post(url("take-side", second), form, follow=True))
        assert "This review is no longer one of those that differ." in page
        assert Review.objects.filter(evaluation=records[1], reviewer__username="lea").count() == 0

    def test_pane_hides_the_judges_scores_of_a_record_to_review_blind(
        self, as_lea: Client, ana: User
    ) -> None:
        raised = asked(RunFactory.create(blind_share=1), ana)
        Evaluation.objects.update(structured_model_response={"final_answer": "Add six."})
        part = text(as_lea.get("/inbox/", {"item": f"question-{raised.pk}"}, headers=HTMX))
        assert "hidden during a blind review" in part
        assert "data-counts" not in part


class TestNextItem:
    @pytest.fixture
    def questions(self, ana: User, algebra: Run) -> list[Escalation]:
        return [asked(algebra, ana, note) for note in ("First?", "Second?", "Third?")]

    def at(self, raised: Escalation) -> dict[str, str]:
        """Return the field that the review screen posts for an item of the inbox."""
        return {"queue": f"inbox=question-{raised.pk}"}

    @pytest.mark.slow
    def test_answered_question_leads_to_the_next_item(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        for answered, following in ((1, 2), (2, 0)):
            form = {"outcome": "returned", "answer": "It is."} | self.at(questions[answered])
            response = as_lea.post(url("resolve-escalation", questions[answered]), form)
            assert opened(as_lea, response) == questions[following].evaluation.evaluation_id

    def test_last_answer_leads_to_the_empty_inbox(self, as_lea: Client, ana: User, algebra: Run) -> None:
        raised = asked(algebra, ana)
        form = {"outcome": "returned", "answer": "It is."} | self.at(raised)
        page = text(as_lea.post(url("resolve-escalation", raised), form, follow=True))
        assert "You're all caught up." in page
        assert f"Settled: {raised.evaluation.title}." in page

    @pytest.mark.slow
    def test_invalid_answer_keeps_the_place(self, as_lea: Client, questions: list[Escalation]) -> None:
        response = as_lea.post(url("resolve-escalation", questions[0]), self.at(questions[0]))
        assert response.status_code == 422
        assert f'name="queue" value="inbox=question-{questions[0].pk}"' in text(response)

    @pytest.mark.slow
    def test_decided_record_leads_to_the_next_item_instead_of_a_prefetched_record(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        record = Evaluation.objects.get(pk=questions[0].evaluation_id)
        form = form_of(record) | self.at(questions[0]) | {"next": str(record.pk)}
        response = as_lea.post(url("submit", record), form, headers=HTMX)
        assert response["HX-Redirect"].startswith(url("evaluation", questions[1].evaluation))

    @pytest.mark.slow
    def test_record_opened_from_the_inbox_prefetches_nothing(
        self, as_lea: Client, questions: list[Escalation]
    ) -> None:
        page = text(as_lea.get(url("evaluation", questions[0].evaluation), self.at(questions[0])))
        assert 'data-prefetch=""' in page
        assert "Filtered" not in page
        assert f'href="/inbox/next/?inbox=question-{questions[0].pk}"' in page

    @pytest.mark.slow
    def test_filtered_inbox_stays_in_its_run(
        self, as_lea: Client, ana: User, questions: list[Escalation]
    ) -> None:
        run = RunFactory.create()
        elsewhere = asked(run, ana)
        response = as_lea.get(inbox(run))
        place = f"question-{elsewhere.pk}-{run.pk}"
        assert f"queue=inbox%3D{place}" in text(response)
        form = {"outcome": "returned", "answer": "It is.", "queue": f"inbox={place}"}
        response = as_lea.post(url("resolve-escalation", elsewhere), form)
        assert response["Location"] == inbox(run)

    @pytest.mark.slow
    def test_confirmed_rubric_leads_on(self, as_lea: Client, ana: User) -> None:
        run = RunFactory.create(rubric=rubric_data("Clarity"))
        seen = as_lea.get(url("run-settings", run)).context["seen"]
        raised = asked(RunFactory.create(), ana)
        form = {"seen": seen, "inbox": f"rubric-{run.pk}"}
        response = as_lea.post(url("confirm-rubric", run), form)
        assert opened(as_lea, response) == raised.evaluation.evaluation_id

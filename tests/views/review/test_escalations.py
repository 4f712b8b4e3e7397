"""Escalated records: escalation, what each role sees, withdrawal and resolution."""

import pytest
from django.test import Client

from reviews.models import Escalation, Evaluation, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, form_of, text, url

pytestmark = pytest.mark.django_db

SCORES = {"clarity": {"score": "No", "justification": "Unclear."}}


@pytest.fixture
def held(ana: User) -> Evaluation:
    record = EvaluationFactory.create(task_id="7", model_id="o1", parsed_rubric_scores=SCORES)
    return claims.claim(evaluation_id=record.pk, reviewer=ana)


@pytest.fixture
def asked(as_ana: Client, held: Evaluation) -> Escalation:
    as_ana.post(url("escalate", held), {"kind": "question", "note": "Is 54 right?"})
    return Escalation.objects.get()


class TestEscalate:
    def test_escalation_with_preset_needs_no_note(self, as_ana: Client, held: Evaluation) -> None:
        response = as_ana.post(url("escalate", held), {"kind": "cannot judge", "reason": "no reference"})
        assert response["Location"] == url("review", held.run)
        raised = Escalation.objects.get()
        assert (raised.kind, raised.reason) == ("cannot judge", "no reference")
        held.refresh_from_db()
        assert held.is_escalated
        assert not held.is_claimed

    def test_escalation_shows_the_next_record(self, as_ana: Client, held: Evaluation) -> None:
        other = EvaluationFactory.create(run=held.run)
        form = {"kind": "cannot judge", "reason": "no response"}
        response = as_ana.post(url("escalate", held), form, headers=HTMX)
        assert response["HX-Replace-Url"] == url("evaluation", other)
        assert "Sent to a lead: Task 7 · o1." in text(response)

    @pytest.mark.parametrize(
        ("form", "sentence"),
        [
            ({"kind": "question", "reason": "no reference"}, "Write your question."),
            ({"kind": "cannot judge"}, "Choose a reason, or write one."),
            ({"kind": "cannot judge", "reason": "bored"}, "not one of the available choices"),
            ({}, "This field is required."),
        ],
    )
    def test_escalation_without_reason_is_rejected(
        self, as_ana: Client, held: Evaluation, form: dict[str, str], sentence: str
    ) -> None:
        whole = as_ana.post(url("escalate", held), form)
        assert whole.status_code == 422
        assert sentence in text(whole)
        part = as_ana.post(url("escalate", held), form, headers=HTMX)
        assert (part.status_code, part["HX-Retarget"]) == (422, "#escalation-form")
        assert text(part).startswith("<form")
        assert not Escalation.objects.exists()

    def test_escalation_form_has_its_own_page(self, as_ana: Client, held: Evaluation) -> None:
        page = text(as_ana.get(url("escalate", held), {"kind": "question"}))
        assert 'value="question" checked' in page
        assert "There is no reference answer" in page

    def test_escalation_of_record_claimed_by_another_is_rejected(
        self, as_bo: Client, held: Evaluation
    ) -> None:
        response = as_bo.post(url("escalate", held), {"kind": "question", "note": "Why?"})
        assert response.status_code == 409
        assert "ana has been reviewing this since" in text(response)


class TestEscalatedRecord:
    def test_escalated_record_is_read_only_for_reviewers(
        self, as_bo: Client, held: Evaluation, asked: Escalation
    ) -> None:
        page = text(as_bo.get(url("evaluation", held)))
        assert "ana asked a lead" in page
        assert "Is 54 right?" in page
        for missing in ("Review this", "Withdraw", "Your answer"):
            assert missing not in page
        assert as_bo.post(url("claim", held)).status_code == 409

    def test_escalation_can_be_withdrawn_by_its_author(
        self, as_ana: Client, held: Evaluation, asked: Escalation
    ) -> None:
        assert "Withdraw" in text(as_ana.get(url("evaluation", held)))
        response = as_ana.post(url("withdraw-escalation", asked), follow=True)
        assert "Withdrawn: Task 7 · o1." in text(response)
        assert 'id="review-form"' in text(response)

    def test_answer_of_lead_is_shown_to_the_next_reviewer(
        self, as_lea: Client, as_ana: Client, held: Evaluation, asked: Escalation
    ) -> None:
        assert "Your answer" in text(as_lea.get(url("evaluation", held)))
        as_lea.post(url("resolve-escalation", asked), {"outcome": "returned", "answer": "It is, see page 3."})
        as_ana.post(url("claim", held))
        page = text(as_ana.get(url("evaluation", held)))
        assert "ana wrote “Is 54 right?”. lea answered: It is, see page 3." in page

    def test_escalated_record_can_be_closed_by_lead(
        self, as_lea: Client, held: Evaluation, asked: Escalation
    ) -> None:
        as_lea.post(url("resolve-escalation", asked), {"outcome": "closed", "answer": "The task is broken."})
        held.refresh_from_db()
        assert held.human_review_status == "Completed"
        assert "The task is broken." in text(as_lea.get(url("evaluation", held)))

    def test_escalated_record_can_be_decided_by_lead(
        self, as_lea: Client, held: Evaluation, asked: Escalation
    ) -> None:
        assert as_lea.post(url("claim", held)).status_code == 303
        held.refresh_from_db()
        assert as_lea.post(url("submit", held), form_of(held)).status_code == 303
        asked.refresh_from_db()
        assert asked.outcome == "decided"

    @pytest.mark.parametrize(
        "form",
        [
            {},
            {"outcome": "returned"},
            {"outcome": "open", "answer": "x"},
            {"outcome": "closed", "answer": " "},
        ],
    )
    def test_answer_to_escalation_requires_text_and_outcome(
        self, as_lea: Client, asked: Escalation, form: dict[str, str]
    ) -> None:
        response = as_lea.post(url("resolve-escalation", asked), form)
        assert response.status_code == 422
        assert "Enter an answer and choose an outcome." in text(response)

    def test_resolved_escalation_cannot_be_resolved_again(self, as_lea: Client, asked: Escalation) -> None:
        form = {"outcome": "returned", "answer": "Yes."}
        as_lea.post(url("resolve-escalation", asked), form)
        again = as_lea.post(url("resolve-escalation", asked), form, headers=HTMX)
        assert again.status_code == 409
        assert "This escalation is already resolved" in text(again)

"""Escalated records: escalation, what each role sees, withdrawal and resolution."""

import pytest
from django.test import Client

from reviews.models import Escalation, Evaluation
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, form_of, text, url

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def escalation(as_ana: Client, claimed: Evaluation) -> Escalation:
    as_ana.post(url("escalate", claimed), {"kind": "question", "note": "Is 54 right?"})
    return Escalation.objects.get()


class TestEscalate:
    def test_escalation_with_preset_needs_no_note(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.post(url("escalate", claimed), {"kind": "cannot judge", "reason": "no reference"})
        assert response["Location"] == url("review", claimed.run)
        raised = Escalation.objects.get()
        assert (raised.kind, raised.reason) == ("cannot judge", "no reference")
        claimed.refresh_from_db()
        assert claimed.is_escalated
        assert not claimed.is_claimed
        assert "Can&#x27;t judge: there is no reference answer<" in text(
            as_ana.get(url("recent", claimed.run))
        )
        page = text(as_ana.get(url("evaluation", claimed)))
        assert "can't judge this</strong>: there is no reference answer," in page
        assert "UTC: escalated." in text(as_ana.get(url("record-history", claimed))).split("Claim ended")[1]

    def test_escalation_shows_the_next_record(self, as_ana: Client, claimed: Evaluation) -> None:
        other = EvaluationFactory.create(run=claimed.run)
        form = {"kind": "cannot judge", "reason": "no response"}
        response = as_ana.post(url("escalate", claimed), form, headers=HTMX)
        assert response["HX-Replace-Url"] == url("evaluation", other)
        assert "Task 7 · o1 sent to a lead." in text(response)

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
        self, as_ana: Client, claimed: Evaluation, form: dict[str, str], sentence: str
    ) -> None:
        whole = as_ana.post(url("escalate", claimed), form)
        assert whole.status_code == 422
        assert sentence in text(whole)
        part = as_ana.post(url("escalate", claimed), form, headers=HTMX)
        assert (part.status_code, part["HX-Retarget"]) == (422, "#escalation-form")
        assert text(part).startswith("<form")
        assert not Escalation.objects.exists()

    def test_escalation_form_has_its_own_page(self, as_ana: Client, claimed: Evaluation) -> None:
        page = text(as_ana.get(url("escalate", claimed), {"kind": "question"}))
        assert 'value="question" checked' in page
        assert "There is no reference answer" in page

    def test_escalation_of_record_claimed_by_another_is_rejected(
        self, as_bo: Client, claimed: Evaluation
    ) -> None:
        response = as_bo.post(url("escalate", claimed), {"kind": "question", "note": "Why?"})
        assert response.status_code == 409
        assert "ana has been reviewing this since" in text(response)


class TestEscalatedRecord:
    def test_escalated_record_is_read_only_for_reviewers(
        self, as_bo: Client, claimed: Evaluation, escalation: Escalation
    ) -> None:
        page = text(as_bo.get(url("evaluation", claimed)))
        assert "ana asked a lead" in page
        assert "Is 54 right?" in page
        for missing in ("Review this", "Withdraw", "Your answer"):
            assert missing not in page
        assert as_bo.post(url("claim", claimed)).status_code == 409

    @pytest.mark.slow
    def test_escalation_can_be_withdrawn_by_its_author(
        self, as_ana: Client, claimed: Evaluation, escalation: Escalation
    ) -> None:
        assert "Withdraw" in text(as_ana.get(url("evaluation", claimed)))
        response = as_ana.post(url("withdraw-escalation", escalation), follow=True)
        assert "Withdrawn: Task 7 · o1." in text(response)
        assert 'id="review-form"' in text(response)

    def test_answer_of_lead_is_shown_to_the_next_reviewer(
        self, as_lea: Client, as_ana: Client, claimed: Evaluation, escalation: Escalation
    ) -> None:
        assert "Your answer" in text(as_lea.get(url("evaluation", claimed)))
        as_lea.post(
            url("resolve-escalation", escalation), {"outcome": "returned", "answer": "It is, see page 3."}
        )
        as_ana.post(url("claim", claimed))
        page = text(as_ana.get(url("evaluation", claimed)))
        assert "ana wrote “Is 54 right?”. lea answered: It is, see page 3." in page

    def test_escalated_record_can_be_closed_by_lead(
        self, as_lea: Client, claimed: Evaluation, escalation: Escalation
    ) -> None:
        as_lea.post(
            url("resolve-escalation", escalation), {"outcome": "closed", "answer": "The task is broken."}
        )
        claimed.refresh_from_db()
        assert claimed.human_review_status == "Completed"
        assert "The task is broken." in text(as_lea.get(url("evaluation", claimed)))

    def test_escalated_record_can_be_decided_by_lead(
        self, as_lea: Client, claimed: Evaluation, escalation: Escalation
    ) -> None:
        assert as_lea.post(url("claim", claimed)).status_code == 303
        claimed.refresh_from_db()
        assert as_lea.post(url("submit", claimed), form_of(claimed)).status_code == 303
        escalation.refresh_from_db()
        assert escalation.outcome == "decided"

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
        self, as_lea: Client, escalation: Escalation, form: dict[str, str]
    ) -> None:
        response = as_lea.post(url("resolve-escalation", escalation), form)
        assert response.status_code == 422
        assert "Enter an answer and choose an outcome." in text(response)

    def test_resolved_escalation_cannot_be_resolved_again(
        self, as_lea: Client, escalation: Escalation
    ) -> None:
        form = {"outcome": "returned", "answer": "Yes."}
        as_lea.post(url("resolve-escalation", escalation), form)
        again = as_lea.post(url("resolve-escalation", escalation), form, headers=HTMX)
        assert again.status_code == 409
        assert "lea resolved this escalation at" in text(again)

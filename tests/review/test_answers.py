"""Answers to escalations: shown to the person who asked until they have read them."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from reviews.models import AuditEvent, Escalation, Evaluation, Run, User
from reviews.queue.members import configure_members
from reviews.review import answers, escalations, undo
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(ana: User) -> Escalation:
    record = EvaluationFactory.create()
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=ana, kind="question", reason="question", note="Is 54 right?"
    )


def answer(raised: Escalation, lead: User, outcome: str = "returned") -> None:
    escalations.resolve(escalation_id=raised.pk, actor=lead, outcome=outcome, answer="It is.")


@pytest.mark.slow
def test_answer_is_shown_on_every_page_until_it_is_read(
    as_ana: Client, ana: User, lea: User, asked: Escalation
) -> None:
    notice = f'answered your question about <a href="{url("evaluation", asked.evaluation)}">'
    assert notice not in text(as_ana.get("/"))
    answer(asked, lea)
    for page in ("/", "/preferences/"):
        assert notice in text(as_ana.get(page))
    assert f'hx-post="{url("read-answer", asked)}" hx-trigger="intersect once delay:4s"' in text(
        as_ana.get("/")
    )
    response = as_ana.post(url("read-answer", asked), {"open": "yes"})
    assert response["Location"] == url("evaluation", asked.evaluation)
    assert notice not in text(as_ana.get("/"))
    assert AuditEvent.objects.filter(action="read answer", actor=ana).exists()


@pytest.mark.slow
def test_dismissed_answer_leads_back_and_stays_on_my_activity(
    as_ana: Client, lea: User, asked: Escalation
) -> None:
    answer(asked, lea)
    page = "http://testserver/preferences/"
    response = as_ana.post(url("read-answer", asked), headers={"Referer": page})
    assert response["Location"] == "/preferences/"
    assert "answered your question about it: It is." in text(as_ana.get("/activity/"))


@pytest.mark.slow
def test_answer_that_was_in_view_is_read(as_ana: Client, lea: User, asked: Escalation) -> None:
    answer(asked, lea)
    assert as_ana.post(url("read-answer", asked), headers=HTMX).status_code == 204
    assert "answered your question" not in text(as_ana.get("/"))


@pytest.mark.slow
def test_answer_is_for_the_person_who_asked_only(as_bo: Client, lea: User, asked: Escalation) -> None:
    answer(asked, lea)
    assert "answered your question" not in text(as_bo.get("/"))
    assert as_bo.post(url("read-answer", asked)).status_code == 403


@pytest.mark.slow
def test_answer_in_a_hidden_run_is_not_shown(as_ana: Client, bo: User, lea: User, asked: Escalation) -> None:
    answer(asked, lea)
    configure_members(run_id=asked.run_id, actor=None, members=["bo"])
    assert "answered your question" not in text(as_ana.get("/"))
    assert as_ana.post(url("read-answer", asked)).status_code == 404


@pytest.mark.parametrize(("outcome", "verb"), [("returned", "answered"), ("closed", "closed without scores")])
def test_each_outcome_is_an_answer(
    outcome: str, verb: str, as_ana: Client, lea: User, asked: Escalation
) -> None:
    answer(asked, lea, outcome)
    assert verb in text(as_ana.get("/preferences/"))


@pytest.mark.slow
def test_decision_of_a_lead_is_an_answer_unless_it_is_undone(ana: User, lea: User, asked: Escalation) -> None:
    decide(Evaluation.objects.get(pk=asked.evaluation_id), lea)
    assert answers.unread_answers(ana) == [asked]
    undo.undo(run=Run.objects.get(pk=asked.run_id), actor=lea)
    assert answers.unread_answers(ana) == []


def test_own_answer_needs_no_notice(lea: User) -> None:
    record = EvaluationFactory.create()
    raised = escalations.escalate(
        evaluation_id=record.pk, reviewer=lea, kind="question", reason="", note="Is it?"
    )
    answer(raised, lea)
    assert answers.unread_answers(lea) == []


def test_withdrawn_question_has_no_answer(ana: User, asked: Escalation) -> None:
    escalations.withdraw(escalation_id=asked.pk, actor=ana)
    assert answers.unread_answers(ana) == []


def test_unread_answers_take_one_query_and_another_if_there_are_any(
    ana: User, lea: User, asked: Escalation, django_assert_num_queries: Any
) -> None:
    ana.has_perm("reviews.see_every_run")  # loads the permissions
    with django_assert_num_queries(1):
        assert answers.unread_answers(ana) == []
    answer(asked, lea)
    with django_assert_num_queries(2):
        [one] = answers.unread_answers(ana)
        assert (one.resolved_by, one.evaluation.title) == (lea, asked.evaluation.title)
    assert one.resolved_at is not None
    assert one.resolved_at <= timezone.now()

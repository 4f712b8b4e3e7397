"""The list of open escalations, and answers to them."""

import re

import pytest
from django.test import Client

from reviews.models import Escalation, Evaluation, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


def asked(run: Run, reviewer: User, note: str = "Is 54 right?") -> Escalation:
    """Escalate a record with a question."""
    record = EvaluationFactory.create(run=run)
    claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=reviewer, kind="question", reason="question", note=note
    )


def notes(response: object) -> list[str]:
    return [item.escalation.note for item in response.context["items"]]  # type: ignore[attr-defined]


def test_open_escalations_of_the_run_are_listed_oldest_first(as_lea: Client, ana: User, algebra: Run) -> None:
    for note in ("First?", "Second?"):
        asked(algebra, ana, note)
    asked(RunFactory.create(), ana, "Elsewhere?")
    response = as_lea.get(url("open-escalations", algebra))
    assert notes(response) == ["First?", "Second?"]
    assert "2 open escalations" in text(response)


def test_formulas_in_an_escalation_are_shown_to_lead_and_reviewer(
    as_lea: Client, as_ana: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, r"Is $\frac{1}{2}$ right?")
    formula = r'Is <span class="math" data-display="false">\frac{1}{2}</span> right?'
    assert formula in text(as_lea.get(url("open-escalations", algebra)))
    assert formula in text(as_ana.get(url("recent", algebra)))


def test_answered_escalation_leaves_the_list(as_lea: Client, ana: User, lea: User, algebra: Run) -> None:
    raised = asked(algebra, ana)
    form = {"which": raised.pk, "outcome": "returned", "answer": "It is."}
    response = as_lea.post(url("open-escalations", algebra), form, follow=True)
    assert response.status_code == 200
    assert notes(response) == []
    assert "No open escalations." in text(response)
    raised.refresh_from_db()
    assert (raised.outcome, raised.answer, raised.resolved_by) == ("returned", "It is.", lea)
    assert not Evaluation.objects.get(pk=raised.evaluation_id).is_escalated


def test_escalation_that_nobody_can_judge_is_closed(as_lea: Client, ana: User, algebra: Run) -> None:
    raised = asked(algebra, ana)
    form = {"which": raised.pk, "outcome": "closed", "answer": "The task is broken."}
    as_lea.post(url("open-escalations", algebra), form)
    assert Evaluation.objects.get(pk=raised.evaluation_id).human_review_status == "Completed"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"outcome": "returned", "answer": " "}, "Enter an answer."),
        ({"outcome": "decided", "answer": "Fine."}, "Select a valid choice"),
        ({"answer": "Fine."}, "Choose an outcome."),
    ],
)
def test_incomplete_answer_to_an_escalation_is_kept(
    form: dict[str, str], sentence: str, as_lea: Client, ana: User, algebra: Run
) -> None:
    asked(algebra, ana, "Before?")
    raised = asked(algebra, ana)
    response = as_lea.post(url("open-escalations", algebra), {"which": raised.pk, **form})
    assert response.status_code == 422
    assert sentence in text(response)
    assert notes(response) == [raised.note]
    assert f'value="{form["answer"]}"' in text(response)


def test_answer_to_a_resolved_escalation_is_rejected(
    as_lea: Client, ana: User, max: User, algebra: Run
) -> None:
    raised = asked(algebra, ana)
    escalations.resolve(escalation_id=raised.pk, actor=max, outcome="returned", answer="Yes.")
    form = {"which": raised.pk, "outcome": "returned", "answer": "No."}
    response = as_lea.post(url("open-escalations", algebra), form, follow=True)
    assert re.search(r"max resolved this escalation at \d\d:\d\d UTC: back to the queue\.", text(response))


@pytest.mark.parametrize("which", ["", "0", "x", "9" * 30])
def test_answer_to_an_unknown_escalation_is_not_found(which: str, as_lea: Client, algebra: Run) -> None:
    form = {"which": which, "outcome": "returned", "answer": "Yes."}
    assert as_lea.post(url("open-escalations", algebra), form).status_code == 404


def test_escalations_are_listed_in_pages(
    as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.views.dashboard.escalations.PAGE_SIZE", 1)
    for note in ("First?", "Second?"):
        asked(algebra, ana, note)
    place = url("open-escalations", algebra)
    first = as_lea.get(place)
    second = as_lea.get(place, {"after": first.context["next_after"]})
    assert (notes(first), notes(second)) == (["First?"], ["Second?"])
    assert second.context["next_after"] == ""
    assert notes(as_lea.get(place, {"after": "\0"})) == ["First?"]

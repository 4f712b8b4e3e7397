"""The guideline of a run: its settings page, its versions, and the review screen."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, Evaluation, Guideline, Review, Run, User
from reviews.queue import claims
from reviews.rubric.guidelines import MAX_GUIDELINE, write_guideline
from tests.support.factories import EvaluationFactory
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def page_of(run: Run) -> str:
    return reverse("run-guideline", args=[run.pk])


def saved(client: Client, run: Run, words: str, seen: str | None = None) -> int:
    current = Run.objects.get(pk=run.pk).guideline_version
    posted = {"text": words, "seen": ("" if current is None else str(current)) if seen is None else seen}
    return client.post(page_of(run), posted).status_code


def test_lead_writes_versions_of_a_guideline(as_lea: Client, run: Run, lea: User) -> None:
    assert saved(as_lea, run, "Check the **sign**.") == 302
    assert saved(as_lea, run, "Check the sign and the unit.") == 302
    versions = list(Guideline.objects.order_by("version").values_list("version", "text", "created_by"))
    assert versions == [
        (1, "Check the **sign**.", lea.pk),
        (2, "Check the sign and the unit.", lea.pk),
    ]
    shown = text(as_lea.get(page_of(run)))
    assert "Check the <strong>sign</strong>." in shown
    event = AuditEvent.objects.first()
    assert event
    assert (event.action, event.actor, event.detail["version"]) == ("write guideline", lea, 2)
    assert event.detail["before"]
    assert event.detail["before"] != event.detail["after"]


def test_unchanged_guideline_adds_no_version(as_lea: Client, run: Run) -> None:
    saved(as_lea, run, "Check the sign.")
    assert saved(as_lea, run, "Check the sign.\r\n") == 302
    assert Guideline.objects.count() == 1


@pytest.mark.slow
def test_removed_guideline_is_not_shown(as_lea: Client, as_ana: Client, ana: User, run: Run) -> None:
    saved(as_lea, run, "Check the sign.")
    record = EvaluationFactory.create(run=run)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    assert "Check the sign." in text(as_ana.get(reverse("evaluation", args=[record.pk])))
    assert saved(as_lea, run, "") == 302
    assert 'id="guideline"' not in text(as_ana.get(reverse("evaluation", args=[record.pk])))


def test_decision_notes_its_version_of_the_guideline(lea: User, ana: User, run: Run) -> None:
    first = EvaluationFactory.create(run=run)
    decide(first, ana)
    write_guideline(run_id=run.pk, actor=lea, text="Check the sign.", seen=None)
    second = EvaluationFactory.create(run=Run.objects.get(pk=run.pk))
    decide(Evaluation.objects.get(pk=second.pk), ana)
    found = dict(Review.objects.values_list("evaluation", "guideline_version"))
    assert found == {first.pk: None, second.pk: 1}


def test_guideline_of_somebody_else_is_not_replaced(as_lea: Client, run: Run) -> None:
    saved(as_lea, run, "Theirs.")
    assert saved(as_lea, run, "Mine.", seen="") == 409
    assert Guideline.objects.get().text == "Theirs."


def test_invalid_guideline_is_refused(as_lea: Client, run: Run) -> None:
    assert saved(as_lea, run, "x" * (MAX_GUIDELINE + 1)) == 422
    assert saved(as_lea, run, "a\0b") == 422
    assert saved(as_lea, run, "Fine.", seen="many") == 422
    assert not Guideline.objects.exists()


def test_guideline_is_for_leads(as_ana: Client, run: Run) -> None:
    assert as_ana.get(page_of(run)).status_code == 403

"""The settings page of a run, with its rubric."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import format_rubric
from reviews.rubric.run_rubric import run_rubric
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db
STRICT = """\
[scale]
kind = "values"
values = ["Yes", "Partial", "No"]
pass_from = "Yes"
"""


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra")


def page_of(run: Run) -> str:
    return reverse("run-settings", args=[run.pk])


def filled_in(client: Client, run: Run, **changes: str) -> dict[str, str]:
    """Return the fields that a browser posts from the current page, with changes."""
    form = client.get(page_of(run)).context["form"]
    return {name: str(form[name].value()) for name in form.fields} | changes


def saved(client: Client, run: Run, rubric: str) -> Any:
    return client.post(page_of(run), filled_in(client, run, rubric=rubric))


def judged_by(run: Run) -> Rubric:
    return run_rubric(Run.objects.get(pk=run.pk))


def test_settings_page_shows_the_rubric_as_toml(as_lea: Client, run: Run) -> None:
    assert filled_in(as_lea, run)["rubric"] == format_rubric(Rubric())


def test_settings_page_is_linked_with_permission(as_ana: Client, lea: User, run: Run) -> None:
    assert page_of(run) not in text(as_ana.get(reverse("run", args=[run.pk])))
    as_ana.force_login(lea)
    assert page_of(run) in text(as_ana.get(reverse("run", args=[run.pk])))


def test_saving_declares_the_rubric(as_lea: Client, run: Run, lea: User) -> None:
    assert as_lea.post(page_of(run), filled_in(as_lea, run)).status_code == 302
    assert judged_by(run) == Rubric()
    assert Run.objects.get().is_rubric_declared
    event = AuditEvent.objects.get()
    assert (event.action, event.actor) == ("declare rubric", lea)


def test_changed_rubric_changes_shown_verdicts_and_no_record(as_lea: Client, run: Run) -> None:
    scores = {"a": {"score": "Yes"}, "b": {"score": "Partial"}}
    evaluation = EvaluationFactory.create(
        run=run, human_review_status="Completed", human_corrected_scores=scores
    )
    before = Evaluation.objects.filter(pk=evaluation.pk).values().get()
    assert saved(as_lea, run, STRICT).status_code == 302
    record = Evaluation.objects.select_related("run").get(pk=evaluation.pk)
    assert run_rubric(record.run).verdict(record.human_corrected_scores) == "Fail"
    assert Evaluation.objects.filter(pk=evaluation.pk).values().get() == before


@pytest.mark.parametrize(
    ("rubric", "sentence"),
    [
        ("", "This field is required."),
        ("[scale", "rubric: The file is not TOML:"),
        ('verdict = "best"', "verdict.rule: This must be one of worst, mean, weighted, none."),
        ('[[criteria]]\nname = "a"\n[[criteria]]\nname = "a"', "criteria: “a” is listed twice."),
        ('[scale]\nkind = "integer"\nmin = 1', "scale.max: This is missing."),
    ],
)
def test_invalid_rubric_keeps_the_entry(as_lea: Client, run: Run, rubric: str, sentence: str) -> None:
    response = saved(as_lea, run, rubric)
    assert response.status_code == 422
    assert sentence in text(response)
    assert response.context["form"]["rubric"].value() == rubric
    assert judged_by(run) == Rubric()


def test_concurrent_settings_keep_entries(as_lea: Client, run: Run) -> None:
    mine = filled_in(as_lea, run, rubric='[[criteria]]\nname = "mine"')
    saved(as_lea, run, '[[criteria]]\nname = "theirs"')
    response = as_lea.post(page_of(run), mine)
    assert response.status_code == 409
    assert "Someone else changed these settings after you opened the page." in text(response)
    assert judged_by(run).names == ("theirs",)
    form = response.context["form"]
    again = {name: str(form[name].value()) for name in form.fields}
    assert as_lea.post(page_of(run), again).status_code == 302
    assert judged_by(run).names == ("mine",)

"""The settings page of a run, and its rubric as TOML."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.records.rubric_file import format_rubric, parse_rubric
from reviews.rubric.run_rubric import run_rubric
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.rubric_form import DEPTH, filled_in, judged_by, page_of, saved

pytestmark = pytest.mark.django_db

STRICT = """\
[scale]
kind = "values"
values = ["Yes", "Partial", "No"]
pass_from = "Yes"
"""


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=DEPTH.as_json())


def saved_toml(client: Client, run: Run, toml: str) -> Any:
    seen = filled_in(client, run)["seen"]
    return client.post(page_of(run), {"action": "save toml", "toml": toml, "seen": seen})


@pytest.mark.slow
class TestSettingsPage:
    def test_settings_page_is_linked_with_permission(self, as_ana: Client, lea: User, run: Run) -> None:
        assert page_of(run) not in text(as_ana.get(reverse("run", args=[run.pk])))
        as_ana.force_login(lea)
        assert page_of(run) in text(as_ana.get(reverse("run", args=[run.pk])))

    def test_changed_rubric_changes_shown_verdicts_and_no_record(self, as_lea: Client, run: Run) -> None:
        scores = {"a": {"score": "Yes"}, "b": {"score": "Partial"}}
        evaluation = EvaluationFactory.create(
            run=run, human_review_status="Completed", human_corrected_scores=scores
        )
        before = Evaluation.objects.filter(pk=evaluation.pk).values().get()
        assert saved(as_lea, run, scale__partial_from="").status_code == 302
        record = Evaluation.objects.select_related("run").get(pk=evaluation.pk)
        assert run_rubric(record.run).verdict(record.human_corrected_scores) == "Fail"
        assert Evaluation.objects.filter(pk=evaluation.pk).values().get() == before

    def test_preview_shows_buttons_with_their_keys(self, as_lea: Client, run: Run) -> None:
        shown = text(as_lea.get(page_of(run)))
        assert 'data-counts="yes">Yes <kbd>Y</kbd>' in shown
        assert 'data-counts="partial">Partial <kbd>P</kbd>' in shown
        response = as_lea.post(
            page_of(run),
            filled_in(as_lea, run, action="preview", scale__kind="number", scale__max="1", scale__min="0"),
        )
        assert "Enter a number from 0 to 1." in text(response)


class TestToml:
    @pytest.mark.slow
    def test_settings_page_shows_the_rubric_as_toml(self, as_lea: Client, run: Run) -> None:
        shown = as_lea.get(page_of(run)).context["toml_form"]["toml"].value()
        assert shown == format_rubric(DEPTH)

    @pytest.mark.slow
    def test_toml_shows_the_entries(self, as_lea: Client, run: Run) -> None:
        response = as_lea.post(page_of(run), filled_in(as_lea, run, action="remove criteria 0"))
        shown = response.context["toml_form"]["toml"].value()
        assert parse_rubric(shown.encode()).names == ("style",)

    def test_rubric_is_saved_from_toml(self, as_lea: Client, run: Run) -> None:
        assert saved_toml(as_lea, run, STRICT).status_code == 302
        assert judged_by(run) == parse_rubric(STRICT.encode())

    def test_rubric_is_downloaded_as_toml(self, as_lea: Client, run: Run) -> None:
        response = as_lea.get(reverse("rubric-toml", args=[run.pk]))
        assert parse_rubric(response.content) == DEPTH
        assert response.headers["Content-Disposition"] == 'attachment; filename="rubric.toml"'

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("toml", "sentence"),
        [
            ("", "This field is required."),
            ("[scale", "rubric: The file is not TOML:"),
            ('verdict = "best"', "verdict.rule: This must be one of worst, mean, weighted, none."),
            ('[[criteria]]\nname = "a"\n[[criteria]]\nname = "a"', "criteria: “a” is listed twice."),
            ('[scale]\nkind = "integer"\nmin = 1', "scale.max: This is missing."),
        ],
    )
    def test_invalid_toml_keeps_the_entry(self, as_lea: Client, run: Run, toml: str, sentence: str) -> None:
        response = saved_toml(as_lea, run, toml)
        assert response.status_code == 422
        assert sentence in text(response)
        assert response.context["toml_form"]["toml"].value() == toml
        assert judged_by(run) == DEPTH

    @pytest.mark.slow
    def test_concurrent_change_keeps_the_toml(self, as_lea: Client, run: Run) -> None:
        seen = filled_in(as_lea, run)["seen"]
        saved(as_lea, run, criteria__0__name="theirs")
        response = as_lea.post(page_of(run), {"action": "save toml", "toml": STRICT, "seen": seen})
        assert response.status_code == 409
        assert response.context["toml_form"]["toml"].value() == STRICT
        assert judged_by(run).names == ("theirs", "style")

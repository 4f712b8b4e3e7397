"""The page with the scoring settings of a run."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.records.verdict import VerdictRule
from reviews.rubric.definition import Rubric, run_rubric
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra")


def page_of(run: Run) -> str:
    return reverse("run-settings", args=[run.pk])


def filled_in(client: Client, run: Run, **changes: str) -> dict[str, str]:
    """Return the fields that a browser posts from the current page, with changes."""
    form = client.get(page_of(run)).context["form"]
    values = {name: form[name].value() for name in form.fields}
    return {name: "" if value is None else str(value) for name, value in values.items()} | changes


def saved(client: Client, run: Run, **changes: str) -> Any:
    return client.post(page_of(run), filled_in(client, run, **changes))


def judged_by(run: Run) -> Rubric:
    return run_rubric(Run.objects.get(pk=run.pk))


class TestSettingsPage:
    def test_settings_page_shows_the_rubric(self, as_lea: Client, run: Run) -> None:
        fields = filled_in(as_lea, run)
        assert (fields["yes"], fields["partial"], fields["no"], fields["other"]) == (
            "Yes",
            "Partial",
            "No",
            "",
        )
        assert fields["kind"] == "worst"
        assert fields["causes"].splitlines()[0] == "Too strict"
        assert "Shortcuts:</span> <span>Yes <kbd>Y</kbd>" in text(as_lea.get(page_of(run)))

    def test_settings_page_is_linked_with_permission(self, as_ana: Client, lea: User, run: Run) -> None:
        assert page_of(run) not in text(as_ana.get(reverse("run", args=[run.pk])))
        as_ana.force_login(lea)
        assert page_of(run) in text(as_ana.get(reverse("run", args=[run.pk])))

    def test_unchanged_settings_write_nothing(self, as_lea: Client, run: Run) -> None:
        assert saved(as_lea, run).status_code == 302
        assert judged_by(run) == Rubric()


class TestSave:
    def test_settings_keep_order_of_criteria_scores_and_causes(
        self, as_lea: Client, run: Run, lea: User
    ) -> None:
        response = saved(
            as_lea,
            run,
            criteria="rigor\r\n\r\n  clarity \r\n",
            yes='5\r\n"5"\r\nGood',
            partial="",
            no="true\r\n0",
            other="Odd",
            causes="Typo\r\nOther",
        )
        assert response.status_code == 302
        kept = judged_by(run)
        assert kept.criteria == ("rigor", "clarity")
        assert [(type(score), score) for score in kept.scores] == [
            *((int, 5), (str, "5"), (str, "Good")),
            *((bool, True), (int, 0), (str, "Odd")),
        ]
        assert kept.rule == VerdictRule("worst", (5, "5", "Good"), (), (True, 0))
        assert [cause.word for cause in kept.causes] == ["typo", "other"]
        event = AuditEvent.objects.get()
        assert (event.action, event.actor) == ("configure run", lea)

    def test_settings_accept_a_mean_with_thresholds(self, as_lea: Client, run: Run) -> None:
        saved(
            as_lea,
            run,
            yes="",
            partial="",
            no="",
            other="5\n4\n3\n2\n1",
            kind="mean",
            pass_from="4",
            partial_from="2.5",
        )
        assert judged_by(run).rule.as_json() == {"kind": "mean", "pass": 4, "partial": 2.5}
        fields = filled_in(as_lea, run)
        assert (fields["other"], fields["pass_from"], fields["partial_from"]) == ("5\n4\n3\n2\n1", "4", "2.5")

    def test_changed_rule_changes_shown_verdicts_and_no_record(self, as_lea: Client, run: Run) -> None:
        scores = {"a": {"score": "Yes"}, "b": {"score": "Partial"}}
        evaluation = EvaluationFactory.create(
            run=run, human_review_status="Completed", human_corrected_scores=scores
        )
        before = Evaluation.objects.filter(pk=evaluation.pk).values().get()
        saved(as_lea, run, partial="", no="No\nPartial")
        record = Evaluation.objects.select_related("run").get(pk=evaluation.pk)
        assert run_rubric(record.run).rule.verdict(record.human_corrected_scores) == "Fail"
        assert Evaluation.objects.filter(pk=evaluation.pk).values().get() == before


class TestRejectedSettings:
    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"criteria": "a\na"}, "“a” is listed twice."),
            ({"yes": "", "partial": "", "no": "No"}, "A run has 2 to 15 scores, not 1."),
            ({"yes": "", "partial": "Yes"}, "At least one score must count as Yes, and one as No."),
            ({"no": "No\nyes"}, "“yes” has more than one level."),
            (
                {"kind": "mean"},
                "Enter two numbers: the lowest mean of a Pass, and of a Partial.",
            ),
            (
                {"kind": "mean", "pass_from": "1", "partial_from": "2"},
                "The lowest mean of a Partial cannot be above that of a Pass.",
            ),
            (
                {"kind": "mean", "pass_from": "2", "partial_from": "1"},
                "A mean needs numbers among the scores.",
            ),
            ({"kind": "mean", "pass_from": "high", "partial_from": "1"}, "Enter a number."),
            ({"causes": ""}, "This field is required."),
            ({"causes": "Typo\ntypo"}, "“typo” is listed twice."),
            ({"kind": "best"}, "Select a valid choice. best is not one of the available choices."),
        ],
    )
    def test_invalid_settings_keep_entries(
        self, as_lea: Client, run: Run, changes: dict[str, str], sentence: str
    ) -> None:
        response = saved(as_lea, run, **changes)
        assert response.status_code == 422
        assert sentence in text(response)
        assert {name: response.context["form"][name].value() for name in changes} == changes
        assert judged_by(run) == Rubric()

    def test_concurrent_settings_keep_entries(self, as_lea: Client, run: Run) -> None:
        mine = filled_in(as_lea, run, criteria="mine")
        saved(as_lea, run, criteria="theirs")
        response = as_lea.post(page_of(run), mine)
        assert response.status_code == 409
        assert "Someone else changed these settings after you opened the page." in text(response)
        assert judged_by(run).criteria == ("theirs",)
        form = response.context["form"]
        again = {name: "" if form[name].value() is None else form[name].value() for name in form.fields}
        assert as_lea.post(page_of(run), again).status_code == 302
        assert judged_by(run).criteria == ("mine",)

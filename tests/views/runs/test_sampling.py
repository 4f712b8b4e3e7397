"""The page with the sampling and blind review settings of a run."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types.runs import SamplingSettings
from reviews.models import Evaluation, Run
from reviews.rubric.run_settings import current_settings
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.work import evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", blind_share=0.15)


def page_of(run: Run) -> str:
    return reverse("run-sampling", args=[run.pk])


def filled_in(client: Client, run: Run, **changes: str) -> dict[str, str]:
    """Return the fields that a browser posts from the current page, with changes."""
    form = client.get(page_of(run)).context["form"]
    return {name: str(form[name].value()) for name in form.fields} | changes


def saved(client: Client, run: Run, **changes: str) -> Any:
    return client.post(page_of(run), filled_in(client, run, **changes))


def settings_of(run: Run) -> SamplingSettings:
    return current_settings(SamplingSettings, Run.objects.get(pk=run.pk))


class TestMeasurementPage:
    def test_sampling_page_shows_shares_as_percentages(self, as_lea: Client, run: Run) -> None:
        fields = filled_in(as_lea, run)
        assert [fields[name] for name in ("blind_share", "sample_share", "overlap_share", "overlap")] == [
            *("15", "0", "0", "2")
        ]

    def test_sampling_page_is_linked_from_settings(self, as_lea: Client, run: Run) -> None:
        assert page_of(run) in text(as_lea.get(reverse("run-settings", args=[run.pk])))

    def test_sampling_page_shows_the_number_of_records(self, as_lea: Client, run: Run) -> None:
        EvaluationFactory.create(run=run)
        assert "Now: 0% of 1 record to review: about 0." in text(as_lea.get(page_of(run)))

    def test_sampling_page_shows_limitations(self, as_lea: Client, run: Run) -> None:
        saved(as_lea, run, overlap_share="100", overlap="3")
        shown = text(as_lea.get(page_of(run)))
        assert "3 people are to review the same record and only 1 person can." in shown


class TestSave:
    @pytest.mark.slow
    def test_shares_are_saved_from_percentages(self, as_lea: Client, run: Run) -> None:
        changes = {"blind_share": "20", "sample_share": "2.5", "overlap_share": "7", "overlap": "3"}
        response = saved(as_lea, run, **changes, accuracy_target="80", spot_check_share="5")
        assert response.status_code == 302
        assert settings_of(run) == SamplingSettings(0.2, 0.025, 0.07, 3, 0.8, 0.05)
        shown = filled_in(as_lea, run)
        assert (shown["overlap_share"], shown["accuracy_target"], shown["spot_check_share"]) == (
            "7",
            "80",
            "5",
        )
        saved(as_lea, run, accuracy_target="")
        assert settings_of(run) == SamplingSettings(0.2, 0.025, 0.07, 3, None, 0.05)

    def test_saving_the_sample_share_draws_records(self, as_lea: Client, run: Run) -> None:
        calm = {"needs_human_review": False, "human_review_status": "Not Required", "review_reasons": []}
        evaluations(run, tasks="abcd", **calm)
        saved(as_lea, run, sample_share="50")
        assert Evaluation.objects.filter(is_sampled=True).count() == 2


class TestRejectedSettings:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"blind_share": "101"}, "Enter a share from 0 to 100%, not 101%."),
            ({"sample_share": "-1"}, "Enter a share from 0 to 100%, not -1%."),
            ({"overlap_share": "many"}, "Enter a number."),
            ({"overlap_share": ""}, "This field is required."),
            ({"overlap_share": "nan"}, "Enter a number."),
            ({"accuracy_target": "100"}, "Enter a target between 0 and 100%, not 100%."),
            ({"overlap": "1"}, "Enter 2 to 9 reviewers per record."),
            ({"overlap": "2.5"}, "Enter a whole number."),
        ],
    )
    def test_invalid_sampling_settings_keep_entries(
        self, as_lea: Client, run: Run, changes: dict[str, str], sentence: str
    ) -> None:
        before = settings_of(run)
        response = saved(as_lea, run, **changes)
        assert response.status_code == 422
        assert sentence in text(response)
        assert {name: response.context["form"][name].value() for name in changes} == changes
        assert settings_of(run) == before

    @pytest.mark.slow
    def test_concurrent_sampling_settings_keep_entries(self, as_lea: Client, run: Run) -> None:
        mine = filled_in(as_lea, run, blind_share="30")
        saved(as_lea, run, blind_share="20")
        response = as_lea.post(page_of(run), mine)
        assert response.status_code == 409
        assert "Someone else changed these settings after you opened the page." in text(response)
        assert settings_of(run).blind_share == 0.2
        form = response.context["form"]
        again = {name: str(form[name].value()) for name in form.fields}
        assert as_lea.post(page_of(run), again).status_code == 302
        assert settings_of(run).blind_share == 0.3

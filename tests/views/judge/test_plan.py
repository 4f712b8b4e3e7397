"""The page with the plan of blind reviews."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, StratumCount
from reviews.sampling.planned_shares import DEFERRED
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.population import stratum

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    run = RunFactory.create(name="Algebra")
    stratum(run, {"Pass": 1_000})
    StratumCount.objects.update(answered=1_000)
    return run


def plan_url(run: Run, **query: str) -> str:
    return reverse("judge-plan", args=[run.pk], query=query)


def test_page_shows_the_reviews_that_a_target_needs(as_lea: Client, run: Run) -> None:
    page = text(as_lea.get(plan_url(run, target="10")))
    assert "Whole run: 0 blind reviews. 145 more to ±10." in page
    assert "Serve this plan" in page


@pytest.mark.slow
def test_invalid_target_is_explained_and_kept(as_lea: Client, run: Run) -> None:
    for target in ("0", "99", "x", "nan", "1e999"):
        response = as_lea.get(plan_url(run, target=target, aim="all"))
        assert response.status_code == 200
        assert response.context["form"].errors.keys() == {"target", "aim"}, target
        assert target in response.text
        assert "Enter a number from 0.5 to 50." in response.text


@pytest.mark.slow
def test_plan_is_served_and_ended(as_lea: Client, run: Run) -> None:
    served = as_lea.post(reverse("serve-plan", args=[run.pk]), {"target": "10", "aim": "parts"}, follow=True)
    assert "The queue now serves 100 more blind reviews first. Plan again after them:" in text(served)
    # No record of this run waits.
    assert "The reviews planned for ±10 points are done. Serve the next ones" in text(served)
    assert "±10" in text(as_lea.get(plan_url(run)))
    ended = as_lea.post(reverse("stop-plan", args=[run.pk]), follow=True)
    assert "The plan has ended." in text(ended)
    assert "End the plan" not in text(ended)


def test_plan_that_cannot_be_served_is_explained(as_lea: Client, run: Run) -> None:
    refused = as_lea.post(reverse("serve-plan", args=[run.pk]), {"target": "99", "aim": "run"})
    assert refused.status_code == 422
    empty = RunFactory.create(name="Geometry")
    refused = as_lea.post(reverse("serve-plan", args=[empty.pk]), {"target": "5", "aim": "run"})
    assert refused.status_code == 422
    assert "No record has a verdict by the judge." in text(refused)


def test_overview_links_to_the_plan(as_lea: Client, run: Run) -> None:
    page = as_lea.get(reverse("judge", args=[run.pk]))
    assert "577 more blind reviews" in text(page)
    assert "to ±5 points." in text(page)
    assert reverse("judge-plan", args=[run.pk]) in page.text


def test_run_that_cannot_be_reviewed_blind_has_no_plan_to_serve(as_lea: Client, run: Run) -> None:
    StratumCount.objects.update(answered=0)
    page = as_lea.get(plan_url(run))
    assert "No record of this run can be scored blind" in text(page)
    assert "Serve this plan" not in text(page)
    refused = as_lea.post(reverse("serve-plan", args=[run.pk]), {"target": "10", "aim": "run"})
    assert (refused.status_code, Run.objects.get().review_plan) == (422, None)


@pytest.mark.slow
def test_lists_do_not_distinguish_deferred_records(as_lea: Client, as_ana: Client) -> None:
    answer = {"structured_model_response": {"response": "42"}, "aggregated_score": "Pass"}
    import_data(file_of(*(line(f"r{number}", task_id=f"{number}", **answer) for number in range(40))))
    served = Run.objects.get()
    as_lea.post(reverse("serve-plan", args=[served.pk]), {"target": "20", "aim": "run"})
    assert served.evaluations.filter(priority=DEFERRED).exists()
    for client in (as_ana, as_lea):
        assert 'badge info">Priority' not in text(client.get(reverse("run", args=[served.pk])))

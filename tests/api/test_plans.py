"""Plans of blind reviews by the API."""

import pytest

from reviews.models import Run, StratumCount, User
from tests.support.api_requests import Program
from tests.support.factories import RunFactory
from tests.support.population import stratum

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    run = RunFactory.create(name="algebra")
    stratum(run, {"Pass": 1_000})
    StratumCount.objects.update(answered=1_000)
    return run


@pytest.mark.slow
def test_lead_plans_and_serves_and_stops(run: Run, of_lea: Program) -> None:
    planned = of_lea.get("runs/algebra/plan?target=0.1&aim=parts").json()
    assert (planned["target"], planned["aim"], planned["served"]) == (0.1, "parts", None)
    assert planned["more"] == planned["parts"][0]["more"] == 145
    served = of_lea.ask("PUT", "runs/algebra/plan", {"target": 0.1})
    assert served.json()["served"] == {"target": 0.1, "aim": "run", "filters": {}, "is_finished": True}
    assert Run.objects.get().blind_share == 1
    assert of_lea.ask("DELETE", "runs/algebra/plan").json()["served"] is None


@pytest.mark.parametrize("target", ["0", "0.9", "nan", "inf", "-1"])
def test_impossible_target_is_refused(run: Run, of_lea: Program, target: str) -> None:
    answer = of_lea.get(f"runs/algebra/plan?target={target}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "target"


def test_unknown_aim_is_refused(run: Run, of_lea: Program) -> None:
    answer = of_lea.ask("PUT", "runs/algebra/plan", {"target": 0.1, "aim": "all"})
    assert answer.json()["errors"] == [{"field": "aim", "reason": "Choose one of run, parts, not 'all'."}]


@pytest.mark.slow
def test_plan_of_some_records_names_them(run: Run, of_lea: Program) -> None:
    answer = of_lea.ask("PUT", "runs/algebra/plan", {"target": 0.1, "model": "o1"})
    assert (answer.json()["filters"], answer.json()["served"]["filters"]) == (
        {"model": "o1"},
        {"model": "o1"},
    )
    refused = of_lea.get("runs/algebra/plan?model=o1&judge=x")
    assert refused.json()["errors"] == [{"field": "judge", "reason": "No record has the judge “x”."}]


def test_run_without_verdicts_has_no_plan_to_serve(of_lea: Program, ana: User) -> None:
    RunFactory.create(name="algebra")
    answer = of_lea.ask("PUT", "runs/algebra/plan", {})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["reason"] == "No record has a verdict by the judge."

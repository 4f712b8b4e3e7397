"""The command that plans blind reviews."""

import json

import pytest

from reviews.models import Run
from tests.support.commands import Capture, manage
from tests.support.planned_runs import import_planned_run

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def _imported(module_world: None) -> None:
    """Import a run for the tests of this file, which undo their changes."""
    import_planned_run()


@pytest.mark.usefixtures("_imported")
@pytest.mark.slow
def test_command_prints_and_serves_and_stops_a_plan(capfdbinary: Capture) -> None:
    printed = manage(capfdbinary, "review_plan", "evaluations", "--target", "10")
    assert printed.status == 0
    assert b"Flagged: 0 blind reviews." in printed.out
    assert b"Blind reviews to add: " in printed.out
    served = json.loads(manage(capfdbinary, "review_plan", "evaluations", "--serve", "--json").out)
    assert served["served"] == {"target": 0.05, "aim": "run", "filters": {}, "is_finished": False}
    assert manage(capfdbinary, "review_plan", "evaluations", "--stop").status == 0
    assert Run.objects.get().review_plan is None


@pytest.mark.usefixtures("_imported")
def test_command_reports_impossible_targets(capfdbinary: Capture) -> None:
    refused = manage(capfdbinary, "review_plan", "evaluations", "--target", "nan", "--serve")
    assert refused == (2, b"", "Enter 0.5 to 50 percentage points, not nan.")
    assert manage(capfdbinary, "review_plan", "evaluations", "--aim", "all").status == 2

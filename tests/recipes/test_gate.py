"""The documented recipes for a quality gate, each run as a process against the site."""

import pytest

from reviews.models import User
from tests.recipes.conftest import CLIENT, Recipe
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line
from tests.support.population import rated, stratum
from tests.support.programs import finish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


RUN = "every night"


ACCURACY = "flagged accuracy"


class TestGate:
    @pytest.fixture(autouse=True)
    def _run(self, ana: User) -> None:
        """Create 80 blind ratings, 76 of which equal the judge's verdict."""
        flagged = stratum(import_data(file_of(line()), run=RUN).target_run, {"Pass": 200})
        rated(flagged, ana, "Pass", "Pass", 76)
        rated(flagged, ana, "Pass", "Fail", 4)

    @pytest.mark.parametrize(
        ("required", "says"),
        [
            (f"{ACCURACY} >= 0.999", (1, "shown worse")),
            pytest.param(f"{ACCURACY} >= 0.8", (0, "met"), marks=pytest.mark.exhaustive),
            pytest.param(f"{ACCURACY} >= 0.9", (2, "not shown yet"), marks=pytest.mark.exhaustive),
            pytest.param("flagged kappa >= 0.2", (2, "not shown yet"), marks=pytest.mark.exhaustive),
        ],
    )
    def test_gate_prints_and_ends_as_the_command_does(
        self,
        required: str,
        says: tuple[int, str],
        recipe: Recipe,
        capfdbinary: Capture,
    ) -> None:
        done = recipe("judge_gate", RUN, required)
        command = manage(capfdbinary, "judge_report", RUN, "--require", required)
        assert (done.returncode, done.stdout, done.stderr) == (command.status, command.out.decode(), "")
        assert (done.returncode, done.stdout.partition(":")[0]) == says

    @pytest.mark.exhaustive
    def test_gate_ends_with_2_without_an_answer(self, recipe: Recipe) -> None:
        for arguments, variables, sentence in (
            ((RUN, "blind kappa >= 0.6"), {}, "names an unknown metric"),
            (("none", f"{ACCURACY} >= 0.8"), {}, "There is no run with this name"),
            ((RUN, f"{ACCURACY} >= 0.8"), {"COGNIREVIEW_URL": "http://127.0.0.1:9"}, ""),
            ((RUN, f"{ACCURACY} >= 0.8"), {"COGNIREVIEW_TOKEN": ""}, ""),
            ((RUN,), {}, ""),
        ):
            done = recipe("judge_gate", *arguments, **variables)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr != ""
            assert sentence in done.stderr

    def test_gate_prints_the_result_of_each_requirement(self, surroundings: dict[str, str]) -> None:
        several = [f"{ACCURACY} >= 0.8", f"{ACCURACY} >= 0.999", "miss_rate <= 0.1"]
        done = finish([*CLIENT, "gate", RUN, *several], surroundings)
        assert [said.partition(":")[0] for said in done.stdout.splitlines()] == [
            "met",
            "shown worse",
            "not shown yet",
        ]
        assert done.returncode == 1

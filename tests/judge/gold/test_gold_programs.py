"""Gold sets over the API and by command, and gates on their figures."""

import json
from pathlib import Path

import pytest

from reviews.judge.gold.measurement import measure
from reviews.judge.quality_gates import InvalidRequirement, check_requirements, parse_requirement
from reviews.judge.report import build_report
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, GoldSet, Run, User
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.gold import judged

pytestmark = pytest.mark.django_db


class TestProgramsAndGates:
    @pytest.mark.slow
    def test_api_and_command_give_the_same_measurement(
        self, other: Run, gold: GoldSet, lea: User, capfdbinary: Capture
    ) -> None:
        judged(other, ["Pass"] * 12)
        program = program_of(lea, "read", "configure", "export")
        found = program.get("runs/tuesday/gold-sets/algebra").json()
        assert found == json.loads(json.dumps(measure(gold, JudgeScope(other)).as_json()))
        assert found["figures"][0]["accuracy"]["value"] == pytest.approx(7 / 12, abs=1e-6)
        printed = manage(capfdbinary, "gold_sets", "measure", "algebra", "tuesday", "--json").out
        assert json.loads(printed) == found
        of_task = json.loads(json.dumps(measure(gold, JudgeScope(other, task="0")).as_json()))
        assert (of_task["matched"], of_task["records"]) == (1, 1)
        assert program.get("runs/tuesday/gold-sets/algebra?task=0").json() == of_task
        arguments = ("gold_sets", "measure", "algebra", "tuesday", "--task", "0", "--json")
        assert json.loads(manage(capfdbinary, *arguments).out) == of_task
        # No rating of the run is needed.
        judge = "judge=judge-1"
        assert program.get(f"runs/tuesday/gold-sets/algebra?{judge}").json()["figures"] == found["figures"]
        assert program.get("runs/tuesday/gold-sets/algebra?judge=nobody").status_code == 422
        shown = manage(capfdbinary, "gold_sets", "measure", "algebra", "tuesday").out.decode()
        assert "58%" in shown
        assert "of the gold set's 12" in shown

    @pytest.mark.slow
    def test_api_freezes_renames_exports_imports_and_deletes(
        self, run: Run, gold: GoldSet, lea: User
    ) -> None:
        program = program_of(lea, "read", "configure", "export")
        made = program.ask("POST", "runs/monday/gold-sets", {"name": "one", "task": "3"})
        assert (made.status_code, made.json()["blind"], made.json()["filters"]) == (200, 1, {"task": "3"})
        taken = program.ask("POST", "runs/monday/gold-sets", {"name": "one"})
        assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "name")
        assert program.ask("POST", "runs/monday/gold-sets", {"name": "two", "task": "?"}).status_code == 422
        assert program.ask("PATCH", "gold-sets/one", {"name": "two"}).json()["name"] == "two"
        exported = program.get("gold-sets/algebra").getvalue()
        again = program.ask("POST", "gold-sets?name=again", exported, kind="application/x-ndjson")
        assert (again.status_code, again.json()["is_imported"]) == (200, True)
        assert [one["name"] for one in program.get("gold-sets").json()] == ["again", "two", "algebra"]
        assert program.ask("DELETE", "gold-sets/two").status_code == 204
        assert program.get("gold-sets/two").status_code == 404

    @pytest.mark.slow
    def test_command_freezes_renames_exports_imports_and_deletes(
        self, rated: list[Evaluation], tmp_path: Path, capfdbinary: Capture
    ) -> None:
        assert rated
        frozen = manage(capfdbinary, "gold_sets", "freeze", "algebra", "monday", "--reviewer", "ana")
        assert b"Froze 12 blind ratings" in frozen.out
        assert manage(capfdbinary, "gold_sets", "freeze", "algebra", "monday").status == 2
        file = tmp_path / "set.jsonl"
        manage(capfdbinary, "gold_sets", "export", "algebra", "-o", str(file))
        manage(capfdbinary, "gold_sets", "rename", "algebra", "geometry")
        assert b"algebra: 12 ratings" in manage(capfdbinary, "gold_sets", "import", str(file)).out
        assert manage(capfdbinary, "gold_sets", "import", str(file)).status == 2
        manage(capfdbinary, "gold_sets", "delete", "geometry")
        assert manage(capfdbinary, "gold_sets", "delete", "geometry").status == 2
        listed = manage(capfdbinary, "gold_sets", "list").out.decode()
        assert listed.startswith("algebra: run monday, frozen ")
        assert manage(capfdbinary, "gold_sets", "import", str(tmp_path / "none")).status == 2

    @pytest.mark.slow
    def test_gate_compares_a_figure_of_a_gold_set_with_its_limit(
        self, other: Run, gold: GoldSet, lea: User, max: User
    ) -> None:
        judged(other, ["Pass"] * 12)
        report = build_report(JudgeScope(other))
        texts = (
            "gold algebra accuracy >= 0.1",
            "gold algebra accuracy >= 0.99",
            "gold algebra accuracy of Clarity <= 0.99",
            "adjudicated gold algebra accuracy >= 0.1",
            "gold unknown accuracy >= 0.1",
        )
        required = [parse_requirement(text) for text in texts]
        found = check_requirements(report, required, lea)
        outcomes = [one.outcome.value for one in found]
        assert outcomes == ["met", "shown worse", "met", "not shown yet", "not shown yet"]
        assert found[0].requirement.figure == "gold algebra accuracy of the verdict"
        assert found[0].estimate.value == pytest.approx(7 / 12)
        assert "There is no gold set named 'unknown'" in found[4].sentence
        Run.objects.filter(name="monday").update(is_restricted=True)
        assert "There is no gold set" in check_requirements(report, required, lea)[0].sentence
        assert check_requirements(report, required, max)[0].outcome == "met"

    def test_name_in_a_requirement_may_contain_any_word(self) -> None:
        found = parse_requirement("gold set of kappa kappa of Steps of proof >= 0.5")
        assert found.gold == ("set of kappa", "blind", "kappa", "Steps of proof")
        for text in ("gold accuracy >= 0.5", "gold algebra speed >= 0.5"):
            with pytest.raises(InvalidRequirement, match="unknown metric"):
                parse_requirement(text)

"""The documented recipes for a pipeline, each run as a process against the site."""

import gzip
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from cognireview.environment import BASE_DIR
from reviews.models import Import, Run, User
from tests.recipes.conftest import RECIPES, Recipe, needs_shell_tools
from tests.support.lines import export_data, file_of, line
from tests.support.population import rated, stratum
from tests.support.programs import finish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class TestPush:
    def test_push_imports_a_file_and_counts_its_lines(self, recipe: Recipe, tmp_path: Path) -> None:
        data = file_of(line("a"), line("b"), line("c"))
        (tmp_path / "new ones.jsonl").write_bytes(data)
        done = recipe("push_run", tmp_path / "new ones.jsonl", "a? b & c%2F")
        source = Import.objects.get()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"Import {source.pk}: 3 lines, 3 new\n"
        assert export_data(run="a? b & c%2F") == data

    @pytest.mark.exhaustive
    def test_push_lists_each_rejected_line(self, recipe: Recipe, tmp_path: Path) -> None:
        packed = gzip.compress(file_of(line("a"), line("b", task_id=True), line(..., backslash="\\n"), b"[]"))
        (tmp_path / "mixed.jsonl.gz").write_bytes(packed)
        done = recipe("push_run", tmp_path / "mixed.jsonl.gz", "mixed")
        counts, *rejected = done.stdout.splitlines()
        assert counts.endswith(": 4 lines, 1 new, 3 rejected")
        assert rejected == [
            "line 2: task_id is a boolean, but takes a string or a number",
            "line 3: evaluation_id is missing",
            "line 4: is not a JSON object but an array",
        ]
        assert (done.returncode, done.stderr) == (1, "")

    @pytest.mark.exhaustive
    def test_push_of_refused_or_missing_file_ends_with_2(self, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "utf16.jsonl").write_bytes("{}".encode("utf-16"))
        for file in ("utf16.jsonl", "none.jsonl"):
            done = recipe("push_run", tmp_path / file, "none")
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr != ""
        assert not Import.objects.exists()

    @pytest.mark.exhaustive
    def test_push_that_times_out_ends_with_2(self, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(file_of(line()))
        done = recipe("push_run", tmp_path / "a.jsonl", "slow", 0, is_worked=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Import {Import.objects.get().pk} is queued.")

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("lines", [1, 5000])
    def test_push_reports_an_invalid_token(self, lines: int, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(file_of(*[line()] * lines))
        done = recipe("push_run", tmp_path / "a.jsonl", "run", COGNIREVIEW_TOKEN="cr_none")
        assert (done.returncode, done.stdout) == (2, "")
        assert "token" in done.stderr


@needs_shell_tools
class TestPipeline:
    @pytest.fixture
    def steps(self, surroundings: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
        """Return the commands of the steps with their variables, without the evaluation and installations."""
        [job] = yaml.safe_load((RECIPES / "pipeline.yml").read_text())["jobs"].values()
        assert {*job["env"]} == {"COGNIREVIEW_URL", "COGNIREVIEW_TOKEN"}
        found = []
        for step in job["steps"]:
            if step.get("uses") == "./recipes":
                found += composite(step["with"], surroundings)
            elif "run" in step and not step["run"].startswith("make "):
                found.append((step["run"], surroundings))
        return found

    @pytest.mark.exhaustive
    def test_pipeline_stops_until_the_judge_is_good_enough(
        self, steps: list[tuple[str, dict[str, str]]], ana: User, tmp_path: Path
    ) -> None:
        (tmp_path / "recipes").symlink_to(RECIPES)
        (tmp_path / "evaluations.jsonl").write_bytes(file_of(line()))
        summary = tmp_path / "summary.md"

        def go() -> list[int]:
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            more = {"GITHUB_STEP_SUMMARY": str(summary), "PATH": path}
            return [finish([*shell, run], names | more, tmp_path).returncode for run, names in steps]

        assert go() == [0, 2]
        flagged = stratum(Run.objects.get(name="nightly"), {"Pass": 50, "Fail": 400}, model_id="o2")
        rated(flagged, ana, "Pass", "Pass", 20)
        rated(flagged, ana, "Fail", "Pass", 40)
        rated(flagged, ana, "Fail", "Fail", 20)
        assert go() == [0, 1]
        others = stratum(Run.objects.get(name="nightly"), {"Pass": 4000, "Fail": 4000}, model_id="o3")
        rated(others, ana, "Pass", "Pass", 400)
        rated(others, ana, "Fail", "Fail", 400)
        unflagged = stratum(Run.objects.get(name="nightly"), {"Pass": 500}, is_flagged=False)
        rated(unflagged, ana, "Pass", "Pass", 300, is_sampled=True)
        assert go() == [0, 0]
        assert len(re.findall("^met: ", summary.read_text(), re.MULTILINE)) == 2

    def test_action_installs_what_the_client_needs(self) -> None:
        action = yaml.safe_load((RECIPES / "action.yml").read_text())
        project = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]
        needed = [Requirement(one).name for one in project["optional-dependencies"]["client"]]
        install = action["runs"]["steps"][0]["run"]
        assert action["inputs"]["package"]["default"] == project["name"]
        assert re.findall(r"install --quiet ([\w-]+) &&", install) == needed


def composite(given: dict[str, str], surroundings: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Return the commands and variables of the action's steps, except the installation."""
    action = yaml.safe_load((RECIPES / "action.yml").read_text())
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= set(given) <= set(action["inputs"])
    values = {name: expanded(value, "env", surroundings) for name, value in given.items()}
    return [
        (step["run"], {name: expanded(value, "inputs", values) for name, value in step["env"].items()})
        for step in action["runs"]["steps"]
        if "pip install" not in step["run"]
    ]


def expanded(text: str, context: str, values: dict[str, str]) -> str:
    """Replace the expressions of GitHub Actions such as `${{ env.COGNIREVIEW_URL }}`."""
    return re.sub(rf"\$\{{\{{ {context}\.(\w+) \}}\}}", lambda found: values[found[1]], text)

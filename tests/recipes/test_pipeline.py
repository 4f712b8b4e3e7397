"""The documented recipes for a pipeline, each run as a process against the site."""

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.models import Import, Run, User
from tests.support.commands import manage
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.population import decided, stratum

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

RECIPES = BASE_DIR / "docs" / "recipes"
HAS_SHELL_TOOLS = bool((shutil.which("curl") and shutil.which("jq")) or os.environ.get("CI"))
needs_shell_tools = pytest.mark.skipif(
    not HAS_SHELL_TOOLS, reason="no curl or no jq on this machine (Debian: apt-get install curl jq)"
)
LANGUAGES = [
    pytest.param((sys.executable, ".py"), id="python"),
    pytest.param(("sh", ".sh"), id="shell", marks=needs_shell_tools),
]
RUN = "every night"
AGREEMENT = "blind flagged agreement"
Recipe = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def surroundings(live_server: LiveServer, max: User) -> dict[str, str]:
    """Environment variables with the address of the site and a token of an admin."""
    token = api_tokens.create(person=max, scopes=["import", "read"], actor=None).text
    return {"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token}


@pytest.fixture(params=LANGUAGES)
def recipe(request: pytest.FixtureRequest, surroundings: dict[str, str]) -> Recipe:
    """Run a recipe by its name without extension, while a worker runs its jobs."""
    program, ending = request.param

    def run(
        name: str, *arguments: object, is_worked: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [program, RECIPES / f"{name}{ending}", *arguments]
        return finish(command, surroundings | variables, is_worked=is_worked)

    return run


def finish(
    arguments: Iterable[object], variables: dict[str, str], cwd: Path | None = None, *, is_worked: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a process, and a worker for its jobs, for at most 30 seconds."""
    end = time.monotonic() + 30
    command = list(map(str, arguments))
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and time.monotonic() < end:
            if is_worked and Import.objects.filter(state=Import.State.QUEUED).exists():
                call_command("procrastinate", "worker", wait=False, listen_notify=False, concurrency=1)
            time.sleep(0.02)
    finally:
        process.kill()
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class TestPush:
    def test_push_imports_a_file_and_counts_its_lines(self, recipe: Recipe, tmp_path: Path) -> None:
        data = file_of(line("a"), line("b"), line("c"))
        (tmp_path / "new ones.jsonl").write_bytes(data)
        done = recipe("push_run", tmp_path / "new ones.jsonl", "a? b & c%2F")
        source = Import.objects.get()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"Import {source.pk}: 3 lines, 3 new\n"
        assert export_data(run="a? b & c%2F") == data

    def test_push_lists_each_rejected_line(self, recipe: Recipe, tmp_path: Path) -> None:
        packed = gzip.compress(file_of(line("a"), line("b", task_id=True), rb'{"backslash": "\\n"}'))
        (tmp_path / "mixed.jsonl.gz").write_bytes(packed)
        done = recipe("push_run", tmp_path / "mixed.jsonl.gz", "mixed")
        counts, *rejected = done.stdout.splitlines()
        assert counts.endswith(": 3 lines, 1 new, 2 rejected")
        assert rejected == [
            "line 2: task_id is a boolean, but takes a string or a number",
            "line 3: evaluation_id is missing",
        ]
        assert (done.returncode, done.stderr) == (1, "")

    def test_push_of_refused_or_missing_file_ends_with_2(self, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "utf16.jsonl").write_bytes("{}".encode("utf-16"))
        for file in ("utf16.jsonl", "none.jsonl"):
            done = recipe("push_run", tmp_path / file, "none")
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr != ""
        assert not Import.objects.exists()

    def test_push_that_times_out_ends_with_2(self, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(file_of(line()))
        done = recipe("push_run", tmp_path / "a.jsonl", "slow", 0, is_worked=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Import {Import.objects.get().pk} is queued.")

    @pytest.mark.parametrize("lines", [1, 5000])
    def test_push_reports_an_invalid_token(self, lines: int, recipe: Recipe, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(file_of(*[line()] * lines))
        done = recipe("push_run", tmp_path / "a.jsonl", "run", COGNIREVIEW_TOKEN="cr_none")
        assert (done.returncode, done.stdout) == (2, "")
        assert "token" in done.stderr


class TestGate:
    @pytest.fixture(autouse=True)
    def _run(self, ana: User) -> None:
        """Create 40 blind decisions, 38 of which agree with the judge's verdict."""
        flagged = stratum(import_data(file_of(line()), run=RUN).target_run, {"Pass": 200})
        decided(flagged, ana, "Pass", "Pass", 38, is_blind=True)
        decided(flagged, ana, "Pass", "Fail", 2, is_blind=True)

    @pytest.mark.parametrize(
        ("required", "says"),
        [
            (f"{AGREEMENT} >= 0.8", (0, "met")),
            (f"{AGREEMENT} >= 0.99", (1, "missed")),
            (f"{AGREEMENT} >= 0.9", (2, "cannot tell")),
            ("blind flagged kappa >= 0.2", (2, "cannot tell")),
        ],
    )
    def test_gate_prints_and_ends_as_the_command_does(
        self, required: str, says: tuple[int, str], recipe: Recipe, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        done = recipe("judge_gate", RUN, required)
        command = manage(capfdbinary, "judge_report", RUN, "--require", required)
        assert (done.returncode, done.stdout, done.stderr) == (command.status, command.out.decode(), "")
        assert (done.returncode, done.stdout.partition(":")[0]) == says

    def test_gate_ends_with_2_without_an_answer(self, recipe: Recipe) -> None:
        for arguments, variables, sentence in (
            ((RUN, "kappa >= 0.6"), {}, "names an unknown metric"),
            (("none", f"{AGREEMENT} >= 0.8"), {}, "There is no run with this name"),
            ((RUN, f"{AGREEMENT} >= 0.8"), {"COGNIREVIEW_URL": "http://127.0.0.1:9"}, ""),
            ((RUN, f"{AGREEMENT} >= 0.8"), {"COGNIREVIEW_TOKEN": ""}, ""),
            ((RUN,), {}, ""),
        ):
            done = recipe("judge_gate", *arguments, **variables)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr != ""
            assert sentence in done.stderr

    def test_gate_prints_the_result_of_each_requirement(self, surroundings: dict[str, str]) -> None:
        several = [f"{AGREEMENT} >= 0.8", f"{AGREEMENT} >= 0.99", "miss_rate <= 0.1"]
        done = finish([sys.executable, RECIPES / "judge_gate.py", RUN, *several], surroundings)
        assert [said.partition(":")[0] for said in done.stdout.splitlines()] == [
            "met",
            "missed",
            "cannot tell",
        ]
        assert done.returncode == 1


@needs_shell_tools
class TestPipeline:
    @pytest.fixture
    def steps(self) -> dict[str, str]:
        """Return the commands of the steps by name, except for the evaluation itself."""
        [job] = yaml.safe_load((RECIPES / "pipeline.yml").read_text())["jobs"].values()
        assert {*job["env"]} == {"COGNIREVIEW_URL", "COGNIREVIEW_TOKEN"}
        named = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
        return {name: run for name, run in named.items() if not run.startswith("make ")}

    def test_pipeline_stops_until_the_judge_is_good_enough(
        self, steps: dict[str, str], surroundings: dict[str, str], ana: User, tmp_path: Path
    ) -> None:
        (tmp_path / "recipes").symlink_to(RECIPES)
        (tmp_path / "evaluations.jsonl").write_bytes(file_of(line()))

        def go() -> list[int]:
            shell = ["bash", "-e", "-c"]
            return [finish([*shell, run], surroundings, tmp_path).returncode for run in steps.values()]

        assert go() == [0, 2]
        flagged = stratum(Run.objects.get(name="nightly"), {"Pass": 200, "Fail": 200}, model_id="o2")
        decided(flagged, ana, "Pass", "Pass", 20, is_blind=True)
        decided(flagged, ana, "Fail", "Pass", 20, is_blind=True)
        decided(flagged, ana, "Fail", "Fail", 20, is_blind=True)
        assert go() == [0, 1]
        others = stratum(Run.objects.get(name="nightly"), {"Pass": 400, "Fail": 400}, model_id="o3")
        decided(others, ana, "Pass", "Pass", 400, is_blind=True)
        decided(others, ana, "Fail", "Fail", 400, is_blind=True)
        assert go() == [0, 0]

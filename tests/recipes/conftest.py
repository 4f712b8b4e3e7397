"""Exports for the recipes that read them, and recipes for a pipeline, run as processes against the site."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.db import transaction
from pytest_django.live_server_helper import LiveServer

from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.exports import formats
from reviews.models import Evaluation, User
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.programs import finish
from tests.support.samples import generated
from tests.support.work import decide

RECIPES = BASE_DIR / "docs" / "recipes"
HAS_SHELL_TOOLS = bool((shutil.which("curl") and shutil.which("jq")) or os.environ.get("CI"))
needs_shell_tools = pytest.mark.skipif(
    not HAS_SHELL_TOOLS, reason="no curl or no jq on this machine (Debian: apt-get install curl jq)"
)
LANGUAGES = [
    pytest.param("client", id="client"),
    pytest.param("shell", id="shell", marks=needs_shell_tools),
]
CLIENT = (sys.executable, "-m", "cognireview.client")
COMMANDS = {"push_run": (*CLIENT, "push"), "judge_gate": (*CLIENT, "gate")}
Recipe = Callable[..., subprocess.CompletedProcess[str]]
NOT_HERE = "heavy, and so only with `uv run --group recipes pytest tests/recipes`"
KEYS = ("evaluation_id", "task_id", "model_id")
PARTS = ("criterion", "judge", "judge_justification", "human", "human_justification")
Exports = dict[str, Path]
Load = Callable[[str], ModuleType]

JUDGED = {"Clarity": {"score": "Yes", "justification": "It is."}, "Depth": {"score": 3}}


def _score(value: Any) -> dict[str, Any]:
    return {"score": value, "justification": "Because é."}


LINES = file_of(
    line("disagreed", parsed_rubric_scores=JUDGED, task_id=5500, structured_model_response="-1"),
    line("agreed", parsed_rubric_scores={"Clarity": {"score": "Yes"}}, task_id="0550"),
    line("other criteria", parsed_rubric_scores={"Safety": {"score": True}}, task_id=None),
    line(
        "no criteria",
        parsed_rubric_scores={},
        raw_judge_output={},
        task_id=...,
        structured_model_response=...,
    ),
    b"",
    line("20250412", task_id=b"12345678901234567890123", model_id="NA", final_answer_verified=None),
    # After the first lines, from which libraries infer types.
    *(line(f"another {number}", human_review_comments="2025-04-12") for number in range(150)),
    line(
        "last", structured_model_response='{"a": 1}', verification_message="", review_reasons=[], x=[1, "2"]
    ),
)
SCORES = [
    ("disagreed", "5500", "openai/o4-mini", "Clarity", "Yes", "It is.", "No", "Because é."),
    ("disagreed", "5500", "openai/o4-mini", "Depth", "3", None, "3", "Because é."),
    ("agreed", "0550", "openai/o4-mini", "Clarity", "Yes", None, "Yes", "Because é."),
    ("other criteria", None, "openai/o4-mini", "Safety", "true", None, None, None),
]


@pytest.fixture(scope="module")
def exports(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Exports:
    """A run with two decisions, exported in each format."""
    folder = tmp_path_factory.mktemp("exports")
    with django_db_blocker.unblock(), transaction.atomic():
        import_data(LINES)
        ana = UserFactory.create(username="ana", role="reviewer")
        of_disagreed = {"Clarity": _score("No"), "Depth": _score(3)}
        for key, scores in (("disagreed", of_disagreed), ("agreed", {"Clarity": _score("Yes")})):
            origins = dict.fromkeys(scores, "human")
            decide(Evaluation.objects.get(evaluation_id=key), ana, scores=scores, origins=origins)
        data = export_data()
        transaction.set_rollback(True)
    paths = {name: folder / f"evaluations.{name}" for name in formats.ENDINGS}
    for name, path in paths.items():
        path.write_bytes(b"".join(formats.convert([data], name)))
    return paths


@pytest.fixture
def sample(tmp_path: Path) -> Exports:
    """The sample of generated records, whose scores the pipeline could not parse."""
    paths = {name: tmp_path / f"sample.{name}" for name in ("jsonl", "parquet")}
    for name, path in paths.items():
        path.write_bytes(b"".join(formats.convert([generated()], name)))
    return paths


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Load:
    """Load a recipe by its name. The cache of `datasets` is temporary."""
    monkeypatch.syspath_prepend(str(RECIPES))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load_recipe(name: str) -> ModuleType:
        if name.startswith("with_"):
            library = pytest.importorskip(name.removeprefix("with_"), reason=NOT_HERE)
            if name == "with_datasets":
                monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", tmp_path / "cache")
                library.disable_progress_bars()
        return importlib.import_module(name)

    return load_recipe


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in path.read_bytes().split(b"\n") if one]


def run_recipe(name: str, *arguments: object) -> str:
    """Run a recipe in a process and return its output."""
    done = subprocess.run(
        [sys.executable, RECIPES / f"{name}.py", *map(str, arguments)],
        env={"PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def surroundings(live_server: LiveServer, max: User) -> dict[str, str]:
    """Environment variables with the address of the site and a token of an admin."""
    token = api_tokens.create(person=max, scopes=["import", "read"], actor=None).text
    return {"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token}


@pytest.fixture(params=LANGUAGES)
def recipe(request: pytest.FixtureRequest, surroundings: dict[str, str], tmp_path: Path) -> Recipe:
    """Run a recipe, or the command of the client that does the same, while a worker runs its jobs.

    The recipe waits for a part of its second each time.
    """
    sleep = tmp_path / "bin" / "sleep"
    sleep.parent.mkdir()
    sleep.write_text("#!/bin/sh\nexec /bin/sleep 0.05\n")
    sleep.chmod(0o755)
    surroundings["PATH"] = f"{sleep.parent}{os.pathsep}{os.environ['PATH']}"

    def run(
        name: str, *arguments: object, is_worked: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [*COMMANDS[name]] if request.param == "client" else ["sh", RECIPES / f"{name}.sh"]
        return finish([*command, *arguments], surroundings | variables, is_worked=is_worked)

    return run

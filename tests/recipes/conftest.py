"""Recipes for a pipeline, run as processes against the site."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.models import User
from tests.support.programs import finish

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


@pytest.fixture
def surroundings(live_server: LiveServer, max: User) -> dict[str, str]:
    """Environment variables with the address of the site and a token of an admin."""
    token = api_tokens.create(person=max, scopes=["import", "read"], actor=None).text
    return {"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token}


@pytest.fixture(params=LANGUAGES)
def recipe(request: pytest.FixtureRequest, surroundings: dict[str, str]) -> Recipe:
    """Run a recipe, or the command of the client that does the same, while a worker runs its jobs."""

    def run(
        name: str, *arguments: object, is_worked: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [*COMMANDS[name]] if request.param == "client" else ["sh", RECIPES / f"{name}.sh"]
        return finish([*command, *arguments], surroundings | variables, is_worked=is_worked)

    return run

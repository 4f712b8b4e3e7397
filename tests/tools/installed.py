"""Run other tools in environments of their own, without a network or a model."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.tools.versions import NODE, NPM_PACKAGES, RELEASED_BEFORE

WRITERS = Path(__file__).with_name("writers")
# The longest that an installation may take, and a tool to write its files, in seconds.
_INSTALL, _WRITE = 300, 180
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}


class NpmInstall:
    """Both versions of promptfoo in one folder. npm is slow, so it works while other tools are tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": NPM_PACKAGES}))
        options = ["--omit=peer", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
        self._process = subprocess.Popen(
            [*_uv(NODE), "npm", "install", f"--before={RELEASED_BEFORE}", *options, "--loglevel=error"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def program(self, version: str) -> list[str]:
        """Wait for npm, and return the command that starts a version of promptfoo."""
        try:
            _, said = self._process.communicate(timeout=_INSTALL)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm installed promptfoo for longer than {_INSTALL} s")
        if self._process.returncode:
            pytest.skip(f"npm could not install promptfoo: {said[-1000:]}")
        package = self.folder / "node_modules" / f"promptfoo-{version}"
        program = json.loads((package / "package.json").read_text())["bin"]["promptfoo"]
        return [*_uv(NODE), "--offline", "node", str(package / program)]

    def stop(self) -> None:
        """End npm, which may run still if no test needed promptfoo."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def write_files(package: str, version: str, command: list[str], folder: Path) -> None:
    """Run a command with a Python package, which writes into the folder. Skip if it cannot be installed."""
    wanted = f"{package}=={version}"
    try:
        subprocess.run(
            [*_uv(wanted), "python", "-c", ""], capture_output=True, text=True, check=True, timeout=_INSTALL
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"uv installed {wanted} for longer than {_INSTALL} s")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"uv could not install {wanted}: {error.stderr[-1000:]}")
    # It is in the cache now, so the index need not be asked again.
    run([*_uv(wanted), "--offline", *command], folder)


def install(package: str, version: str, folder: Path) -> None:
    """Install a Python package with all that it needs into a folder. Skip if it cannot be installed."""
    options = ["--quiet", "--no-config", "--python", sys.executable, "--exclude-newer", RELEASED_BEFORE]
    command = ["uv", "pip", "install", *options, "--target", str(folder), f"{package}=={version}"]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=_INSTALL)
    except subprocess.TimeoutExpired:
        pytest.skip(f"uv installed {package} for longer than {_INSTALL} s")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"uv could not install {package}: {error.stderr[-1000:]}")


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command in the folder, without a network, and return its output."""
    environment: dict[str, Any] = os.environ | _OFFLINE | {"HF_HOME": str(folder / "cache")} | variables
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_WRITE,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def _uv(package: str) -> list[str]:
    options = ["--quiet", "--isolated", "--no-project", "--exclude-newer", RELEASED_BEFORE]
    return ["uv", "run", *options, "--python", sys.executable, "--with", package]

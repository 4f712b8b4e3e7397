"""Dependencies are pinned, installed as pinned, audited, and licensed for redistribution.

These checks need no network. `.ci/audit` queries a vulnerability service where one can be reached.
"""

import json
import re
import runpy
import subprocess
import tomllib
from collections.abc import Callable
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cognireview.environment import BASE_DIR

PYPROJECT = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())
RUN_TIME = [
    *PYPROJECT["project"]["dependencies"],
    *PYPROJECT["project"]["optional-dependencies"]["parquet"],
]
DIRECT = [*RUN_TIME, *PYPROJECT["dependency-groups"]["dev"], *PYPROJECT["build-system"]["requires"]]
BEHIND = PYPROJECT["tool"]["uv"]["constraint-dependencies"]
# Packages that have dependencies and are not in the pinned set of the environment.
TOOLS = {"cognireview", "pip", "setuptools", "wheel", "uv"}
# By SPDX, and as packages without an SPDX expression call them.
LICENCES = re.compile(
    r"MIT(-0)?|MIT License|(0?BSD|BSD-[23]-Clause|BSD License)|Apache-2\.0|Apache Software License"
    r"|MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)|LGPL-3\.0-only|PSF-2\.0|ISC|BlueOak-1\.0\.0"
)
KNOWN_BAD = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-1"}]}
# npm packages that do not name theirs, as one reads it in them.
UNNAMED = {"combine-errors": "MIT"}


def pinned() -> dict[str, str]:
    """Package -> its version, as this Python has to have it."""
    wanted = [Requirement(text) for text in (*DIRECT, *BEHIND)]
    here = [one for one in wanted if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in here}


def behind(requirements: list[str]) -> dict[str, Distribution]:
    """The packages that these need, those behind them included."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(text), "") for text in requirements]
    seen = set()
    while waiting:
        one, extra = waiting.pop()
        key = (canonicalize_name(one.name), *sorted(one.extras))
        if key in seen or (one.marker and not one.marker.evaluate({"extra": extra})):
            continue
        seen.add(key)
        try:
            installed = distribution(one.name)
        except PackageNotFoundError:
            continue  # for other machines
        found[key[0]] = installed
        waiting += [
            (Requirement(text), name) for text in installed.requires or () for name in ("", *one.extras)
        ]
    return found


def licences_of(package: Distribution) -> list[str]:
    """The licences in a package's metadata: an SPDX expression, else its classifiers, else a field."""
    told = package.metadata
    if "License-Expression" in told:
        return re.split(r"\s+(?:OR|AND)\s+", re.sub(r"[()]", "", told["License-Expression"]))
    named = told.get_all("Classifier") or []
    classified = [name.split(" :: ")[-1] for name in named if "License ::" in name]
    # qrcode's logo is under one of its own; we make no logo.
    return [name for name in classified if "Proprietary" not in name] or [told["License"]]


@pytest.mark.parametrize("requirement", [*DIRECT, *BEHIND])
def test_every_requirement_is_of_one_version(requirement: str) -> None:
    assert re.fullmatch(r"[\w-]+(\[[\w,-]+\])?==[\w.]+( ; .+)?", requirement)


def test_what_is_installed_is_what_is_pinned() -> None:
    """Test results apply to the pinned versions only if exactly these are installed."""
    installed = {canonicalize_name(one.name): one.version for one in distributions()}
    wanted = pinned()
    ours = {name: version for name, version in installed.items() if name not in TOOLS}
    assert {name: version for name, version in ours.items() if wanted.get(name) != version} == {}


def test_what_runs_is_under_licences_that_allow_it() -> None:
    found = behind(RUN_TIME)
    assert {"django", "psycopg", "urllib3", "pyarrow"} <= set(found)
    odd = {name: licences_of(package) for name, package in found.items()}
    assert {name: said for name, said in odd.items() if not all(map(LICENCES.fullmatch, said))} == {}


class TestTheFrontEnd:
    @pytest.fixture
    def packages(self) -> dict[str, dict[str, Any]]:
        locked: dict[str, dict[str, Any]] = json.loads((BASE_DIR / "package-lock.json").read_text())[
            "packages"
        ]
        return {path.rpartition("node_modules/")[2]: told for path, told in locked.items() if path}

    def test_is_pinned(self) -> None:
        wanted = json.loads((BASE_DIR / "package.json").read_text())
        versions = [*wanted["dependencies"].values(), *wanted["devDependencies"].values()]
        assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []

    def test_is_under_licences_that_allow_it(self, packages: dict[str, dict[str, Any]]) -> None:
        said = {name: told.get("license") or UNNAMED.get(name, "") for name, told in packages.items()}
        assert {name: licence for name, licence in said.items() if not LICENCES.fullmatch(licence)} == {}


class TestTheAudit:
    """`.ci/audit` fails on a finding and reports packages that it could not check."""

    @pytest.fixture
    def audit(self) -> SimpleNamespace:
        return SimpleNamespace(**runpy.run_path(str(BASE_DIR / ".ci" / "audit")))

    @pytest.fixture
    def said(self, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
        return lambda: capsys.readouterr().out

    def test_passes_what_nobody_knows_anything_against(
        self, audit: SimpleNamespace, said: Callable[[], str]
    ) -> None:
        assert audit.judge("Python", [{"name": "a", "version": "1", "vulns": []}, KNOWN_BAD]) == 0
        assert "1 audited, 0 with known flaws" in said()

    def test_fails_for_a_finding(self, audit: SimpleNamespace, said: Callable[[], str]) -> None:
        flawed = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}
        assert audit.judge("Python", [flawed, KNOWN_BAD]) == 1
        assert "a has CVE-1" in said()

    def test_fails_for_a_package_that_is_left_out(self, audit: SimpleNamespace) -> None:
        assert audit.judge("Python", [{"name": "a", "skip_reason": "not found"}, KNOWN_BAD]) == 1

    def test_says_so_where_the_service_knows_nothing(
        self, audit: SimpleNamespace, said: Callable[[], str]
    ) -> None:
        unknown = {"name": "jinja2", "skip_reason": "not found"}
        assert audit.judge("Python", [{"name": "a", "version": "1", "vulns": []}, unknown]) == 0
        assert "NOT AUDITED" in said()

    @pytest.mark.parametrize(
        ("stderr", "status"), [("requests.exceptions.ConnectionError: x", 0), ("TypeError: x", 1)]
    )
    def test_tells_out_of_reach_from_broken(
        self, stderr: str, status: int, audit: SimpleNamespace, said: Callable[[], str]
    ) -> None:
        done = subprocess.CompletedProcess(["x"], 1, "", stderr)
        assert audit.broken("npm packages", done) == status
        assert ("NOT AUDITED" in said()) == (status == 0)

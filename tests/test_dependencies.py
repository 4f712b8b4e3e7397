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
    *(one for extra in PYPROJECT["project"]["optional-dependencies"].values() for one in extra),
]
GROUPS = PYPROJECT["dependency-groups"]
DIRECT = [*RUN_TIME, *GROUPS["dev"], *GROUPS["recipes"], *PYPROJECT["build-system"]["requires"]]
INDIRECT = PYPROJECT["tool"]["uv"]["constraint-dependencies"]
# Packages that have dependencies and are not in the pinned set of the environment.
TOOLS = {"cognireview", "pip", "setuptools", "wheel", "uv"}
# SPDX expressions, and the names in packages without one.
LICENCES = re.compile(
    r"MIT(-0)?|MIT License|(0?BSD|BSD-[23]-Clause|BSD License)|Apache-2\.0|Apache Software License"
    r"|Zlib|CC0-1\.0"
    r"|MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)|LGPL-3\.0-only|PSF-2\.0|ISC|BlueOak-1\.0\.0"
)
KNOWN_BAD = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-1"}]}
# npm packages whose metadata has no licence, with the licence in their files.
UNNAMED = {"combine-errors": "MIT"}


def pinned() -> dict[str, str]:
    """Return the required version of each package for this Python."""
    wanted = [Requirement(text) for text in (*DIRECT, *INDIRECT)]
    here = [one for one in wanted if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in here}


def all_dependencies(requirements: list[str]) -> dict[str, Distribution]:
    """Return the installed packages that these need, directly or indirectly."""
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
    """Return the licences in a package's metadata: an SPDX expression, else classifiers, else a field."""
    metadata = package.metadata
    if "License-Expression" in metadata:
        return re.split(r"\s+(?:OR|AND)\s+", re.sub(r"[()]", "", metadata["License-Expression"]))
    named = metadata.get_all("Classifier") or []
    classified = [name.split(" :: ")[-1] for name in named if "License ::" in name]
    # qrcode's logo has a licence of its own; we do not use the logo.
    return [name for name in classified if "Proprietary" not in name] or [metadata["License"]]


@pytest.mark.parametrize("requirement", [*DIRECT, *INDIRECT])
def test_every_requirement_has_one_version(requirement: str) -> None:
    assert re.fullmatch(r"[\w-]+(\[[\w,-]+\])?==[\w.]+( ; .+)?", requirement)


def test_installed_versions_are_the_pinned_ones() -> None:
    """Test results apply to the pinned versions only if exactly these are installed."""
    installed = {canonicalize_name(one.name): one.version for one in distributions()}
    wanted = pinned()
    ours = {name: version for name, version in installed.items() if name not in TOOLS}
    assert {name: version for name, version in ours.items() if wanted.get(name) != version} == {}


def test_run_time_packages_have_permissive_licences() -> None:
    found = all_dependencies(RUN_TIME)
    assert {"django", "numpy", "psycopg", "urllib3", "pyarrow", "httpx2"} <= set(found)
    licences = {name: licences_of(package) for name, package in found.items()}
    assert {name: found for name, found in licences.items() if not all(map(LICENCES.fullmatch, found))} == {}


class TestFrontEnd:
    @pytest.fixture
    def packages(self) -> dict[str, dict[str, Any]]:
        locked: dict[str, dict[str, Any]] = json.loads((BASE_DIR / "package-lock.json").read_text())[
            "packages"
        ]
        return {path.rpartition("node_modules/")[2]: package for path, package in locked.items() if path}

    def test_front_end_packages_are_pinned(self) -> None:
        wanted = json.loads((BASE_DIR / "package.json").read_text())
        versions = [*wanted["dependencies"].values(), *wanted["devDependencies"].values()]
        assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []

    def test_front_end_packages_have_permissive_licences(self, packages: dict[str, dict[str, Any]]) -> None:
        licences = {name: one.get("license") or UNNAMED.get(name, "") for name, one in packages.items()}
        assert {name: licence for name, licence in licences.items() if not LICENCES.fullmatch(licence)} == {}


class TestAudit:
    """`.ci/audit` fails on a finding and reports packages that it could not check."""

    @pytest.fixture
    def audit(self) -> SimpleNamespace:
        return SimpleNamespace(**runpy.run_path(str(BASE_DIR / ".ci" / "audit")))

    @pytest.fixture
    def output(self, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
        return lambda: capsys.readouterr().out

    def test_audit_passes_packages_without_findings(
        self, audit: SimpleNamespace, output: Callable[[], str]
    ) -> None:
        assert audit.judge("Python", [{"name": "a", "version": "1", "vulns": []}, KNOWN_BAD]) == 0
        assert "1 audited, 0 with known flaws" in output()

    def test_audit_fails_for_a_finding(self, audit: SimpleNamespace, output: Callable[[], str]) -> None:
        flawed = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}
        assert audit.judge("Python", [flawed, KNOWN_BAD]) == 1
        assert "a has CVE-1" in output()

    def test_audit_fails_for_a_skipped_package(self, audit: SimpleNamespace) -> None:
        assert audit.judge("Python", [{"name": "a", "skip_reason": "not found"}, KNOWN_BAD]) == 1

    def test_audit_reports_that_the_service_knows_no_vulnerabilities(
        self, audit: SimpleNamespace, output: Callable[[], str]
    ) -> None:
        unknown = {"name": "jinja2", "skip_reason": "not found"}
        assert audit.judge("Python", [{"name": "a", "version": "1", "vulns": []}, unknown]) == 0
        assert "NOT AUDITED" in output()

    @pytest.mark.parametrize(
        ("stderr", "status"), [("requests.exceptions.ConnectionError: x", 0), ("TypeError: x", 1)]
    )
    def test_audit_distinguishes_an_unreachable_service_from_an_error(
        self, stderr: str, status: int, audit: SimpleNamespace, output: Callable[[], str]
    ) -> None:
        done = subprocess.CompletedProcess(["x"], 1, "", stderr)
        assert audit.broken("npm packages", done) == status
        assert ("NOT AUDITED" in output()) == (status == 0)

"""The workflows use pinned actions and tools, and few rights. `.ci/manifests` checks them with zizmor."""

import re
import tomllib
from typing import Any

import yaml

from cognireview.environment import BASE_DIR

FOLDER = BASE_DIR / ".github" / "workflows"
TEXTS = {path.name: path.read_text() for path in FOLDER.glob("*.yml")}
WORKFLOWS: dict[str, dict[str, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
PROJECT = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]
DOCKERFILE = (BASE_DIR / "Dockerfile").read_text()


def test_actions_are_pinned_by_commit_with_their_version() -> None:
    used = [line.strip() for text in TEXTS.values() for line in text.splitlines() if "uses:" in line]
    ours = [line for line in used if line.startswith("uses: ./.github/workflows/")]
    assert [line for line in ours if line.rpartition("/")[2] not in TEXTS] == []
    pinned = [
        line for line in used if re.fullmatch(r"(- )?uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ]
    assert sorted(pinned + ours) == sorted(used)


def test_uv_has_the_version_of_the_image() -> None:
    (version,) = re.findall(r"uv==([\d.]+)", DOCKERFILE)
    assert {one for text in TEXTS.values() for one in re.findall(r"uv==([\d.]+)", text)} == {version}


def test_every_supported_python_is_tested() -> None:
    jobs = WORKFLOWS["ci.yml"]["jobs"]
    (oldest,) = re.findall(r"python:(3\.\d+)-", jobs["gate"]["container"])
    assert jobs["gate"]["steps"][-1]["run"] == ".ci/run"
    assert PROJECT["requires-python"] == f">={oldest}"
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == [oldest, *jobs["python"]["strategy"]["matrix"]["python"]]


def test_release_needs_the_gate_and_gives_each_job_only_its_rights() -> None:
    release = WORKFLOWS["release.yml"]
    assert release["permissions"] == {}
    jobs = release["jobs"]
    assert {
        name: sorted(right for right, how in job["permissions"].items() if how == "write")
        for name, job in jobs.items()
    } == {
        "gate": [],
        "packages": ["attestations", "id-token"],
        "image": ["attestations", "id-token", "packages"],
        "publish": ["contents", "id-token"],
    }
    assert jobs["packages"]["needs"] == jobs["image"]["needs"] == "gate"
    assert set(jobs["publish"]["needs"]) == {"packages", "image"}

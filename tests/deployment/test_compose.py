"""The Compose file, the container image, and the images that both start from."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cognireview.environment import BASE_DIR, FIELDS, FILE_SUFFIX, variable_name
from cognireview.postgres import embedded

COMPOSE: dict[str, Any] = yaml.safe_load((BASE_DIR / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (BASE_DIR / "Dockerfile").read_text()
LONG_RUNNING = ("database", "web", "worker")


class TestCompose:
    def test_installation_has_database_migration_web_server_and_worker(self) -> None:
        assert set(SERVICES) == {*LONG_RUNNING, "migrate"}

    def test_database_has_the_version_that_the_tests_use(self) -> None:
        postgres = embedded._executable("postgres")
        version = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=True).stdout
        assert SERVICES["database"]["image"].partition("@")[0] == f"postgres:{version.split()[-1]}"

    def test_migration_runs_once_before_other_services_start(self) -> None:
        assert SERVICES["migrate"]["restart"] == "no"
        assert SERVICES["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
        for name in ("web", "worker"):
            assert SERVICES[name]["depends_on"] == {
                "migrate": {"condition": "service_completed_successfully"}
            }

    def test_all_processes_have_the_same_settings(self) -> None:
        common = SERVICES["worker"]["environment"]
        assert common == SERVICES["web"]["environment"]
        assert common.keys() == SERVICES["migrate"]["environment"].keys()
        names = {variable_name(field) for field in FIELDS}
        assert {name.removesuffix(FILE_SUFFIX) for name in common} <= names

    def test_only_the_migration_has_the_password_of_the_table_owner(self) -> None:
        migrate, worker = (SERVICES[name]["environment"] for name in ("migrate", "worker"))
        assert migrate["DATABASE_URL"] == "postgresql://cognireview@database/cognireview"
        assert migrate["DATABASE_PASSWORD_FILE"] == "/run/secrets/owner_password"
        role = worker["COGNIREVIEW_WEB_ROLE"]
        assert worker["DATABASE_URL"] == f"postgresql://{role}@database/cognireview"
        assert f"CREATE ROLE {role} LOGIN" in (BASE_DIR / COMPOSE["configs"]["web-role"]["file"]).read_text()
        assert {name for name, service in SERVICES.items() if "owner_password" in service["secrets"]} == {
            "database",
            "migrate",
        }

    def test_secrets_are_files_outside_git_and_the_image(self) -> None:
        for service in SERVICES.values():
            files = {
                Path(path) for name, path in service["environment"].items() if name.endswith(FILE_SUFFIX)
            }
            assert files <= {Path("/run/secrets") / name for name in service["secrets"]}
            assert set(service["secrets"]) <= COMPOSE["secrets"].keys()
        assert {Path(secret["file"]).parent for secret in COMPOSE["secrets"].values()} == {Path("secrets")}
        assert "/secrets/" in (BASE_DIR / ".gitignore").read_text().split()
        text = (BASE_DIR / "docker-compose.yml").read_text()
        assert set(re.findall(r"\$\{(\w+):\?", text)) == {"COGNIREVIEW_PUBLIC_URL"}

    def test_every_service_is_confined_and_limited(self) -> None:
        for service in SERVICES.values():
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert service["deploy"]["resources"]["limits"].keys() == {"memory", "pids"}
        # Compose cannot write these into a read-only container.
        assert all("file" in one for one in (*COMPOSE["configs"].values(), *COMPOSE["secrets"].values()))

    def test_long_running_processes_have_health_checks(self) -> None:
        assert all("healthcheck" in SERVICES[name] for name in LONG_RUNNING)
        assert "/readyz" in " ".join(SERVICES["web"]["healthcheck"]["test"])
        (heartbeat,) = (word for word in SERVICES["worker"]["command"] if word.startswith("--heartbeat="))
        assert heartbeat.removeprefix("--heartbeat=") in SERVICES["worker"]["healthcheck"]["test"][1]

    def test_database_is_reached_by_the_other_services_only(self) -> None:
        assert SERVICES["web"]["ports"] == ["127.0.0.1:8000:8000"]
        assert not any("ports" in SERVICES[name] for name in ("database", "migrate", "worker"))
        assert SERVICES["database"]["networks"] == ["database"]
        assert COMPOSE["networks"]["database"]["internal"] is True

    def test_data_is_in_a_volume(self) -> None:
        (volume,) = SERVICES["database"]["volumes"]
        assert volume.partition(":")[0] in COMPOSE["volumes"]


class TestImage:
    def test_image_runs_as_an_ordinary_user_with_the_number_that_kubernetes_checks(self) -> None:
        (uid,) = re.findall(r"^USER (\d+)$", DOCKERFILE.rpartition("\nFROM ")[2], re.MULTILINE)
        assert f"--uid {uid} " in DOCKERFILE
        assert uid != "0"

    def test_image_is_built_in_two_stages_without_build_tools_in_the_last(self) -> None:
        stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
        assert [name for _, name in stages] == ["build", ""]
        assert "pip install" not in DOCKERFILE.rpartition("\nFROM ")[2]

    def test_image_is_built_without_secrets_and_data(self) -> None:
        left_out = set((BASE_DIR / ".dockerignore").read_text().split())
        assert {".env", ".git", ".venv", "secrets", "var", "static/vendor"} <= left_out


class TestDigests:
    """`.ci/digests`, with a `docker` that answers like a registry."""

    @pytest.mark.slow
    def test_digests_are_added_to_every_image_and_renewed(self, tmp_path: Path) -> None:
        (tmp_path / ".ci").mkdir()
        for name in ("Dockerfile", "docker-compose.yml", ".ci/digests"):
            shutil.copy(BASE_DIR / name, tmp_path / name)
        docker = tmp_path / "docker"
        for letter in "ab":
            docker.write_text(f"#!/bin/sh\necho sha256:{letter * 64}\n")
            docker.chmod(0o755)
            path = f"{tmp_path}:{os.environ['PATH']}"
            subprocess.run([tmp_path / ".ci" / "digests"], env={"PATH": path}, check=True)
            pinned = {
                name: re.findall(rf"([^\s@]+)@sha256:{letter}{{64}}(?=\s)", (tmp_path / name).read_text())
                for name in ("Dockerfile", "docker-compose.yml")
            }
            assert pinned == {
                "Dockerfile": re.findall(r"^FROM ([^\s@]+)", DOCKERFILE, re.MULTILINE),
                "docker-compose.yml": [SERVICES["database"]["image"].partition("@")[0]],
            }

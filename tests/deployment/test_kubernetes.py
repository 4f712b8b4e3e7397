"""The Kubernetes manifests refer to settings, paths, commands, secrets and objects that exist.

`.ci/manifests` renders them with kustomize and checks them against the schemas of Kubernetes.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from cognireview.environment import BASE_DIR, FIELDS, FILE_SUFFIX, read, variable_name

KUBERNETES = BASE_DIR / "docs" / "deployment" / "kubernetes"
DEPLOYMENT = (BASE_DIR / "docs" / "deployment.md").read_text()
DOCKERFILE = (BASE_DIR / "Dockerfile").read_text()
SECONDS_TO_NOTICE = 5


def documents(folder: str) -> list[dict[str, Any]]:
    """Return the objects of the files that the folder's kustomization names."""
    kustomization = yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text())
    files = [KUBERNETES / folder / name for name in kustomization["resources"] if name.endswith(".yaml")]
    assert {path.name for path in (KUBERNETES / folder).glob("*.yaml")} == {
        "kustomization.yaml",
        *(path.name for path in files),
    }
    return [one for path in files for one in yaml.safe_load_all(path.read_text())]


BASE = documents("base")
EXAMPLE = documents("example")
WORKLOADS = {one["metadata"]["name"]: one for one in BASE if one["kind"] in {"Deployment", "Job"}}
SETTINGS = dict(
    line.split("=", 1) for line in (KUBERNETES / "base" / "settings.env").read_text().splitlines()
)


def pod_of(workload: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def containers_of(workload: dict[str, Any]) -> list[dict[str, Any]]:
    pod = pod_of(workload)
    return [*pod.get("initContainers", []), *pod["containers"]]


CONTAINERS = {
    f"{name}/{one['name']}": (workload, one)
    for name, workload in WORKLOADS.items()
    for one in containers_of(workload)
}


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [one for one in (*BASE, *EXAMPLE) if one["kind"] == kind]


@pytest.mark.parametrize("name", CONTAINERS)
class TestContainers:
    def test_container_runs_an_existing_command_of_the_image(self, name: str) -> None:
        container = CONTAINERS[name][1]
        assert container["image"] == "cognireview"
        python, program, command, *options = container["args"]
        assert (python, program) == ("python", "manage.py")
        # Raises for unknown options.
        with pytest.raises(SystemExit, match="0"):
            call_command(command, *options, "--help")

    def test_container_sets_known_variables_and_reads_mounted_secrets(self, name: str) -> None:
        workload, container = CONTAINERS[name]
        names = {variable_name(field) for field in FIELDS}
        files = {one["name"]: Path(one["value"]) for one in container["env"]}
        assert all(variable.endswith(FILE_SUFFIX) for variable in files)
        assert {variable.removesuffix(FILE_SUFFIX) for variable in files} | SETTINGS.keys() <= names
        volumes = {one["name"]: one for one in pod_of(workload)["volumes"]}
        mounted = {Path(one["mountPath"]): volumes[one["name"]] for one in container["volumeMounts"]}
        for file in files.values():
            secret = mounted[file.parent]["secret"]
            assert file.name in [one["path"] for one in secret.get("items", [{"path": file.name}])]
            # The documented command, which may end its lines with a backslash.
            (created,) = re.findall(
                rf"create secret generic {secret['secretName']} ((?:\\\n|.)*)", DEPLOYMENT
            )
            assert f"--from-file={file.name}=" in created

    def test_container_has_no_privileges_and_a_memory_limit(self, name: str) -> None:
        workload, container = CONTAINERS[name]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        context = pod_of(workload)["securityContext"]
        assert context["runAsNonRoot"] is True
        assert f"USER {context['runAsUser']}\n" in DOCKERFILE
        assert "memory" in container["resources"]["limits"]


def test_only_the_migration_reads_the_secret_of_the_table_owner() -> None:
    readers = [name for name, one in WORKLOADS.items() if "cognireview-owner" in str(pod_of(one)["volumes"])]
    assert readers == ["cognireview-migrate"]


def test_probes_ask_existing_addresses_of_the_web_server(client: Client, db: None) -> None:
    (container,) = containers_of(WORKLOADS["cognireview-web"])
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} <= {port["name"] for port in container["ports"]}
    assert f"--port={container['ports'][0]['containerPort']}" in container["args"]
    assert all(client.get(probe["path"]).status_code == 200 for probe in probes.values())


def test_probe_of_the_worker_reads_its_heartbeat() -> None:
    worker = containers_of(WORKLOADS["cognireview-worker"])[-1]
    (heartbeat,) = (word for word in worker["args"] if word.startswith("--heartbeat="))
    for kind in ("startupProbe", "livenessProbe"):
        assert heartbeat.removeprefix("--heartbeat=") in worker[kind]["exec"]["command"][-1]


def test_pods_have_time_to_drain_and_finish() -> None:
    for name, drain in (
        ("cognireview-web", int(SETTINGS["COGNIREVIEW_DRAIN_SECONDS"])),
        ("cognireview-worker", 0),
    ):
        (finish,) = re.findall(r"--finish=(\d+)", " ".join(containers_of(WORKLOADS[name])[-1]["args"]))
        pod = pod_of(WORKLOADS[name])
        assert pod["terminationGracePeriodSeconds"] >= drain + int(finish) + SECONDS_TO_NOTICE
    readiness = containers_of(WORKLOADS["cognireview-web"])[0]["readinessProbe"]
    assert (
        int(SETTINGS["COGNIREVIEW_DRAIN_SECONDS"])
        > readiness["periodSeconds"] * readiness["failureThreshold"]
    )


def test_selectors_match_the_labels_of_pods() -> None:
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in WORKLOADS.values()]
    selectors = [
        *(
            one["spec"]["selector"]["matchLabels"]
            for one in (*of_kind("Deployment"), *of_kind("PodDisruptionBudget"))
        ),
        *(one["spec"]["selector"] for one in of_kind("Service")),
        *(one["spec"]["podSelector"]["matchLabels"] for one in of_kind("NetworkPolicy")),
    ]
    assert [one for one in selectors if not any(one.items() <= labels.items() for labels in pods)] == []
    for one in of_kind("Deployment"):
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_objects_refer_to_existing_objects() -> None:
    names = {(one["kind"], one["metadata"]["name"]) for one in BASE}
    for one in of_kind("HorizontalPodAutoscaler"):
        target = one["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in names
    (service,) = of_kind("Service")
    for one in of_kind("Ingress"):
        backend = one["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
        assert backend["name"] == service["metadata"]["name"]
        assert backend["port"]["name"] in [port["name"] for port in service["spec"]["ports"]]
    assert {("ServiceAccount", pod_of(one)["serviceAccountName"]) for one in WORKLOADS.values()} <= names


def test_settings_are_valid_and_example_overrides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    (generated,) = yaml.safe_load((KUBERNETES / "base" / "kustomization.yaml").read_text())[
        "configMapGenerator"
    ]
    (merged,) = yaml.safe_load((KUBERNETES / "example" / "kustomization.yaml").read_text())[
        "configMapGenerator"
    ]
    assert {generated["name"], merged["name"]} == {
        one["configMapRef"]["name"] for _, container in CONTAINERS.values() for one in container["envFrom"]
    }
    assert {line.partition("=")[0] for line in merged["literals"]} <= SETTINGS.keys()
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    assert read().trust_proxy

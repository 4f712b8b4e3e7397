"""Task context over the API."""

import gzip
import json
from typing import Any

import pytest

from reviews.models import AuditEvent, ContextImport, TaskContext, User
from tests.support.api_requests import Program
from tests.support.contexts import task
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db

JSON = "application/json"
TASKS = json.dumps([task(), {"task_id": 8}]).encode()
REPORT = {
    "tasks": 1,
    "answers": 0,
    "rejected": 1,
    "exceptions": [{"place": 2, "field": "prompt", "reason": "is missing"}],
}


def send(program: Program, path: str, data: bytes, kind: str = JSON) -> Any:
    return program.ask("POST", path, data, kind=kind)


@pytest.mark.parametrize("data", [TASKS, gzip.compress(TASKS)], ids=["plain", "gzip"])
def test_context_over_api_is_imported_for_one_run(data: bytes, of_max: Program, max: User) -> None:
    run = RunFactory.create(name="a b")
    answer = send(of_max, "runs/a b/context?file_name=tasks.json", data)
    assert (answer.status_code, answer.json()) == (200, {"run": "a b", **REPORT})
    assert TaskContext.objects.get().run == run
    done = ContextImport.objects.get()
    assert (done.file_name, done.size, done.created_by) == ("tasks.json", len(data), max)
    assert AuditEvent.objects.get(action="import context").actor == max


def test_context_over_api_is_imported_for_all_runs(of_max: Program) -> None:
    assert send(of_max, "context", TASKS).json() == {"run": None, **REPORT}
    assert TaskContext.objects.get().run is None


def test_context_for_unknown_run_is_not_found(of_max: Program) -> None:
    assert send(of_max, "runs/unknown/context", TASKS).status_code == 404
    assert not ContextImport.objects.exists()


@pytest.mark.parametrize(
    ("data", "kind", "status"),
    [
        (b"PK\x03\x04", JSON, 422),
        (gzip.compress(TASKS)[:-20], JSON, 422),
        (TASKS, "text/html", 415),
        (TASKS + b" " * 2_000, JSON, 413),
    ],
)
def test_refused_context_over_api_is_a_problem(
    data: bytes, kind: str, status: int, of_max: Program, settings: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 2_000
    answer = send(of_max, "context", data, kind)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert not ContextImport.objects.exists()


def test_empty_context_file_is_refused(of_max: Program) -> None:
    answer = of_max.ask("POST", "context", gzip.compress(b""), kind=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (422, "The file has no tasks.")


def test_context_over_api_is_for_admins(of_lea: Program) -> None:
    assert send(of_lea, "context", TASKS).status_code == 403

"""`manage.py list_runs`, `list_users` and `status`."""

import json
from dataclasses import fields

import pytest

from cognireview.types.people import Person
from cognireview.types.runs import RunDetails
from cognireview.types.site import System
from reviews.accounts.people import last_activity
from reviews.maintenance.backups import record_backup
from reviews.models import Import, User
from reviews.runs.changes import archive_run
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory, UserFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def test_list_of_runs_has_their_progress(capfdbinary: Capture, ana: User) -> None:
    run = RunFactory.create(name="algebra")
    decide(EvaluationFactory.create(run=run), ana)
    EvaluationFactory.create(run=run)
    archived = RunFactory.create(name="an old run\x1b[31m")
    archive_run(run_id=archived.pk, actor=None)
    found = manage(capfdbinary, "list_runs").out.decode().splitlines()
    day = f"{run.created_at:%Y-%m-%d}"
    assert found == ["Run      Records  Left  Done  Created", f"algebra        2     1     1  {day}"]
    everything = manage(capfdbinary, "list_runs", "--archived").out.decode()
    assert "an old run\ufffd[31m" in everything
    assert "archived" in everything
    [row] = json.loads(manage(capfdbinary, "list_runs", "--json").out)
    assert (row["name"], row["total"], row["waiting"], row["done"]) == ("algebra", 2, 1, 1)
    assert row.keys() == {field.name for field in fields(RunDetails)}


def test_list_of_users_has_role_state_and_last_activity(capfdbinary: Capture, ana: User) -> None:
    UserFactory.create(username="gone", is_active=False)
    decide(EvaluationFactory.create(), ana)
    lines = manage(capfdbinary, "list_users").out.decode().splitlines()
    at = last_activity([ana])[ana.pk].decision
    assert lines[1] == f"ana       reviewer  active       no             {at:%Y-%m-%d %H:%M} UTC, decision"
    assert lines[2].split() == ["gone", "none", "deactivated", "no", "never"]
    [row] = json.loads(manage(capfdbinary, "list_users", "--role", "reviewer", "--json").out)
    assert row.keys() == {field.name for field in fields(Person)}
    assert (row["username"], row["role"], row["is_active"]) == ("ana", "reviewer", True)
    assert row["last_active_at"] == (at.isoformat() if at else None)


def test_empty_lists_say_what_to_do(capfdbinary: Capture) -> None:
    assert manage(capfdbinary, "list_runs") == (0, b"", "No runs. Import a file with import_run.\n")
    assert manage(capfdbinary, "list_users") == (0, b"", "No accounts. Add one with add_user.\n")
    assert json.loads(manage(capfdbinary, "list_runs", "--json").out) == []


def test_status_reports_what_needs_attention(capfdbinary: Capture) -> None:
    ImportFactory.create(state=Import.State.FAILED)
    record_backup(target="/backups/monday", size=2048)
    ended = manage(capfdbinary, "status")
    text = ended.out.decode()
    assert ended.status == 1
    assert "! None is running: jobs wait." in text
    assert "/backups/monday" in text
    assert "0 queued, 0 running" in text
    document = json.loads(manage(capfdbinary, "status", "--json").out)
    assert document.keys() == {*(field.name for field in fields(System)), "url"}
    assert document["is_ok"] is False
    assert document["jobs"] == {"queued": 0, "running": 0, "failed": 1}
    assert document["backup"]["size"] == 2048
    assert document["workers"] == []

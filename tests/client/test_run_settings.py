"""Methods of the client for the settings of a run, against the site."""

import json
from pathlib import Path

import pytest

from cognireview.client import Client, Conflict, Invalid, NotFound
from reviews.models import User
from tests.records.test_mapping import MAPPINGS
from tests.support.connected_clients import ClientRun
from tests.support.contexts import task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_run_is_renamed_archived_and_deleted(client: Client, run: ClientRun) -> None:
    assert run.rename("weekly").name == run.name == "weekly"
    assert run.archive().archived_at
    assert [*client.runs()] == []
    assert [one.name for one in client.runs(archived=True)] == ["weekly"]
    assert run.unarchive().archived_at is None
    with pytest.raises(Invalid):
        run.delete(confirmation="nightly")
    run.delete(confirmation="weekly")
    with pytest.raises(NotFound):
        run.details()


def test_members_are_set_and_removed(run: ClientRun, lea: User) -> None:
    assert run.members() is None
    run.set_members(["lea"])
    assert run.members() == ["lea"]
    run.set_members(None)
    assert run.members() is None
    with pytest.raises(Invalid):
        run.set_members(["nobody"])


def test_rubric_is_declared_as_toml_or_members(run: ClientRun, tmp_path: Path) -> None:
    before = run.rubric()
    (tmp_path / "rubric.toml").write_text(before.toml)
    declared = run.set_rubric(tmp_path / "rubric.toml", seen=before.fingerprint)
    assert (before.is_declared, declared.is_declared) == (False, True)
    assert run.set_rubric(before.rubric).rubric == run.set_rubric(before.toml).rubric == before.rubric
    with pytest.raises(Conflict):
        run.set_rubric(before.rubric, seen="another")


def test_guideline_has_versions(run: ClientRun) -> None:
    assert (run.guideline().version, run.guideline().text) == (None, "")
    assert run.set_guideline("Be strict.").version == 1
    assert run.set_guideline("Be fair.", seen=1).text == "Be fair."
    with pytest.raises(Conflict):
        run.set_guideline("Be kind.", seen=1)


def test_mapping_is_set_by_name_or_as_toml(client: Client) -> None:
    assert client.run("tool").set_mapping({"name": "promptfoo"}).run == "tool"
    assert client.run("own").set_mapping(MAPPINGS / "mt-bench.toml").mapping["fields"]
    with pytest.raises(Invalid) as refused:
        client.run("own").set_mapping("[fields]\nx = 1\n")
    assert refused.value.errors


def test_context_is_imported_for_a_run_and_for_all(client: Client, run: ClientRun, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task(task_id="4711")) + "\nno task\n")
    found = run.import_context(tmp_path / "tasks.jsonl")
    assert (found.run, found.tasks, found.rejected, found.exceptions[0].place) == ("nightly", 1, 1, 2)
    context = run.record("a").context
    assert context
    assert context.prompt == task()["prompt"]
    assert client.import_context(json.dumps(task()).encode()).run is None

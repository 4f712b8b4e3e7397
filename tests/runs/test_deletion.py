"""Deletion of runs: everything of the run goes, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from procrastinate.exceptions import JobAborted
from pytest_django import Settings

from cognireview.environment import BASE_DIR
from reviews import tasks
from reviews.audit import decision_check, log
from reviews.audit.hash_chain import ChainVerifier
from reviews.database.statements import execute, fetch_all, fetch_value
from reviews.models import AuditEvent, Review, Run, User
from reviews.runs import changes
from reviews.runs.changes import delete_next_part, request_deletion
from reviews.sampling.draws import draw_sample
from reviews.webhooks import deliveries
from tests.support.commands import Capture, manage
from tests.support.deletions import Running, delete, full_run
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TREE = """
    WITH RECURSIVE tree AS (
        -- No foreign keys protect the entries of the index.
        SELECT unnest('{run,evaluation_facets,evaluation_words}'::regclass[]) AS name
        UNION SELECT conrelid FROM pg_constraint JOIN tree ON confrelid = tree.name
        WHERE contype = 'f' AND conrelid <> 'gold_set'::regclass -- gold sets stay
    )
    SELECT name::text FROM tree
"""


def rows_of(query: str) -> list[str]:
    return [name for (name,) in fetch_all(query)]


def row_counts() -> dict[str, int]:
    """Return the number of rows of each table that refers to a run, directly or not."""
    counts = {}
    for name in rows_of(TREE):
        counts[name] = fetch_value(f"SELECT count(*) FROM {name}")
    return counts


def seal() -> None:
    """Seal the events so far, as the end of a transaction does."""
    execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED")


@pytest.fixture
def run() -> Run:
    """A run with one waiting record."""
    return import_data(file_of(line("e-1")), run="algebra").target_run


class TestEverythingGoes:
    @pytest.mark.slow
    def test_deletion_removes_all_rows_of_the_run_and_no_others(
        self, ana: User, bo: User, lea: User, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(changes, "RECORDS_PER_PART", 5)
        other = full_run("geometry", ana, bo, lea, max)
        before, exported = row_counts(), export_data(run="geometry")
        full = full_run("algebra", ana, bo, lea, max)
        filled = {name for name, count in row_counts().items() if count > before[name]}
        assert filled == set(before)
        delete(full, max)
        assert row_counts() == before
        assert Run.objects.get() == other
        assert export_data(run="geometry") == exported

    def test_sql_deletes_from_every_table_that_refers_to_a_run(self) -> None:
        sql = (BASE_DIR / "reviews/database/sql/run_deletion.sql").read_text()
        assert set(re.findall(r"DELETE FROM (\w+)", sql)) == set(rows_of(TREE))

    @pytest.mark.slow
    def test_audit_log_stays_valid_and_readable(self, full: Run, max: User, capfdbinary: Capture) -> None:
        delete(full, max)
        events = AuditEvent.objects.filter(run=full.pk)
        assert set(events.values_list("run_name", flat=True)) == {"algebra"}
        assert events.filter(action="submit", record="e-1").exists()
        requested = events.get(action="delete run")
        assert requested.actor == max
        assert (requested.detail["records"], requested.detail["claims"]) == (12, 2)
        assert len(requested.detail["files"]) == 2
        assert events.latest("pk").action == "run deleted"
        seal()
        assert list(log.verify(ChainVerifier())) == []
        assert list(decision_check.find_differences()) == []
        assert manage(capfdbinary, "verify_runs").status == 0

    def test_audit_log_of_the_run_is_exported_by_its_name(self, run: Run, capfdbinary: Capture) -> None:
        delete(run)
        seal()
        whole = [
            json.loads(entry)["event"]["action"]
            for entry in manage(capfdbinary, "export_audit", "--run", "algebra").out.splitlines()
            if b'"event"' in entry
        ]
        assert whole[0] == "import"
        assert whole[-3:] == ["delete run", "delete records", "run deleted"]
        assert manage(capfdbinary, "export_audit", "--run", "geometry").status == 2

    @pytest.mark.slow
    def test_half_deleted_run_differs_from_no_log_and_the_interrupted_job_continues(
        self, full: Run, max: User, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture
    ) -> None:
        monkeypatch.setattr(changes, "RECORDS_PER_PART", 5)
        request_deletion(run_id=full.pk, actor=max, confirmation="algebra")
        with pytest.raises(JobAborted):
            tasks.delete_runs.func(_Stopping())  # type: ignore[arg-type]
        assert full.evaluations.count() == 7
        assert list(decision_check.find_differences()) == []
        assert manage(capfdbinary, "verify_runs").status == 0
        tasks.delete_runs.func(Running())  # type: ignore[arg-type]
        assert not Run.objects.exists()

    def test_name_can_be_used_again(self, run: Run) -> None:
        delete(run)
        assert import_data(file_of(line("e-1")), run="algebra").new == 1

    def test_later_jobs_find_no_run_and_end(self, run: Run, max: User) -> None:
        delete(run)
        assert draw_sample(run_id=run.pk) == (0, 0)
        deliveries.attempt_delivery(1, 1)
        assert not delete_next_part()


class _Stopping:
    def should_abort(self) -> bool:
        return True


@pytest.mark.slow
def test_export_of_a_deleted_run_is_verified_with_a_newer_log(
    run: Run, ana: User, tmp_path: Path, capfdbinary: Capture, settings: Settings
) -> None:
    decide(run.evaluations.get(), ana)
    seal()
    (tmp_path / "original.jsonl").write_bytes(file_of(line("e-1")))
    exported = tmp_path / "exported.jsonl"
    manage(capfdbinary, "export_run", "algebra", "-o", str(exported))
    [receipt] = tmp_path.glob("*receipt*")
    assert json.loads(receipt.read_text())["run"] == "algebra"
    delete(run)
    again = import_data(file_of(line("e-1")), run="algebra").target_run
    decide(again.evaluations.get(), ana, comments="Other.")
    seal()
    audit = tmp_path / "audit.jsonl"
    audit.write_bytes(b"".join(log.jsonl_lines(None)))
    checked = manage(
        capfdbinary,
        "verify_export",
        str(tmp_path / "original.jsonl"),
        str(exported),
        "--receipt",
        str(receipt),
        "--audit-log",
        str(audit),
    )
    assert checked.status == 0, (checked.out, checked.err)
    assert Review.objects.count() == 1

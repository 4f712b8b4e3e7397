"""Delete a run: everything about it goes, and the audit log stays."""

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from procrastinate.exceptions import JobAborted
from pytest_django import Settings

from cognireview.environment import BASE_DIR
from reviews import tasks
from reviews.accounts.permissions import Denied
from reviews.audit import decision_check, log
from reviews.audit.hash_chain import ChainVerifier
from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.exports import jobs as export_jobs
from reviews.exports.output import ExportOptions
from reviews.imports import jobs, uploads
from reviews.models import (
    AuditEvent,
    Evaluation,
    Export,
    ExportPart,
    KnownAnswerCheck,
    Notification,
    Review,
    Run,
    UnindexedImport,
    Upload,
    User,
    Webhook,
)
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.review import blind_scoring, decisions, drafts, escalations, independent_reviews, undo
from reviews.rubric.guidelines import write_guideline
from reviews.rubric.run_settings import InvalidSettings, fingerprint
from reviews.runs import deletion
from reviews.runs.changes import ImportUnderWay
from reviews.runs.deletion import ExportUnderWay, delete_next_part, request_deletion
from reviews.sampling.draws import draw_sample
from reviews.search import saved_views
from reviews.search.filters import Filters
from reviews.storage.errors import ImportRefused
from reviews.webhooks import deliveries, signing_secrets
from tests.api.conftest import program_of
from tests.support.commands import manage
from tests.support.contexts import bring, task
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.support.work import agree, decide

pytestmark = pytest.mark.django_db

Capture = pytest.CaptureFixture[bytes]
LINES = [line(f"e-{number}", task_id=str(number)) for number in range(12)]
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
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [name for (name,) in cursor.fetchall()]


def row_counts() -> dict[str, int]:
    """Return the number of rows of each table that refers to a run, directly or not."""
    with connection.cursor() as cursor:
        counts = {}
        for name in rows_of(TREE):
            cursor.execute(f"SELECT count(*) FROM {name}")
            counts[name] = cursor.fetchone()[0]
    return counts


def seal() -> None:
    """Seal the events so far, as the end of a transaction does."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS audit_event_is_sealed DEFERRED")


def record(number: int, run: Run) -> Evaluation:
    return run.evaluations.get(evaluation_id=f"e-{number}")


def full_run(name: str, ana: User, bo: User, lea: User, max: User) -> Run:
    """A run with rows in nearly every table."""
    run = import_data(file_of(*LINES, b"no record"), run=name).target_run
    Run.objects.filter(pk=run.pk).update(blind_share=0)
    run.refresh_from_db()
    answer = {"model_id": "openai/o4-mini", "response_id": "response-1", "response_text": "54"}
    bring(task(task_id=1, model_responses=[answer]), run=name)
    for number in range(3):
        agree(record(number, run), ana, causes={"Clarity": "too strict"})
    undo.undo(run=run, actor=ana)
    agree(record(2, run), ana)
    decisions.reopen(evaluation_id=record(0, run).pk, actor=lea, reason="Wrong.")
    spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
    decide(record(1, run), bo, by=independent_reviews.add)
    KnownAnswerCheck.objects.create(run=run, started_by=lea).answers.create(evaluation=record(1, run))
    theirs = {"human_review_status": "Reviewed", "human_reviewer_id": "eve", "human_corrected_scores": {}}
    newer = file_of(line("e-2", task_id="2", **theirs), line("e-3", task_id="3", x=1))
    upload = uploads.receive(
        file_name="newer.jsonl", run_name=name, strict=False, size=len(newer), parts=[newer], actor=max
    )
    jobs.import_upload(import_id=upload.pk)
    UnindexedImport.objects.create(source=upload, evaluations=1)
    Upload.objects.get(source=upload).parts.create(offset=0, data=b"x")
    claims.skip(evaluation_id=record(4, run).pk, reviewer=ana)
    claimed = claims.claim(evaluation_id=record(5, run).pk, reviewer=ana)
    drafts.save(evaluation_id=claimed.pk, reviewer=ana, fields=[["comments", "Mine."]], revision=1)
    escalated = claims.claim(evaluation_id=record(6, run).pk, reviewer=bo)
    escalations.escalate(
        evaluation_id=escalated.pk, reviewer=bo, kind="question", reason="question", note="?"
    )
    order = bulk_changes.BulkOrder(run, Filters(()), bulk_changes.Kind.PRIORITISE, priority=1)
    bulk_changes.apply(order=order, actor=lea)
    lock_in(run, bo)
    disagree(run, ana, bo)
    saved_views.save(run=run, owner=lea, name="fails", query="verdict=Fail", is_shared=True)
    configure_members(run_id=run.pk, actor=max, members=["ana", "bo"], seen=fingerprint(None))
    write_guideline(run_id=run.pk, actor=lea, text="Be fair.", seen=None)
    webhook = Webhook.objects.create(url="https://hooks.example.org/", run=run, created_by=max)
    signing_secrets.add(webhook=webhook, actor=max)
    delivery = webhook.deliveries.create(message_id=uuid4().hex, event="test", run=run)
    delivery.attempts.create(number=1, reason="No answer.")
    Notification.objects.create(person=lea, event="disagreement", run=run, due_at=timezone.now())
    export = export_jobs.enqueue(options=ExportOptions(run), actor=lea)
    export.parts.create(kind=ExportPart.Kind.FILE, number=0, start=0, size=1, frame=b"x", digest=b"x")
    Export.objects.filter(pk=export.pk).update(state=Export.State.DONE)
    return run


def lock_in(run: Run, reviewer: User) -> None:
    Run.objects.filter(pk=run.pk).update(blind_share=1)
    blind = claims.claim(evaluation_id=record(7, run).pk, reviewer=reviewer)
    scores = {"Clarity": "Yes"}
    blind_scoring.lock_in(
        evaluation_id=blind.pk,
        reviewer=reviewer,
        version=blind.version,
        scores=scores,
        fields=[],
        active_ms=None,
    )
    Run.objects.filter(pk=run.pk).update(blind_share=0)


def disagree(run: Run, *people: User) -> None:
    Run.objects.filter(pk=run.pk).update(overlap_share=1)
    for person, score in zip(people, ("Yes", "No"), strict=True):
        decide(record(8, run), person, scores={"Clarity": {"score": score, "justification": "Right."}})
    Run.objects.filter(pk=run.pk).update(overlap_share=0)


def delete(run: Run, actor: User | None = None) -> None:
    request_deletion(run_id=run.pk, actor=actor, confirmation=run.name)
    while delete_next_part():
        pass


@pytest.fixture
def full(ana: User, bo: User, lea: User, max: User) -> Run:
    return full_run("algebra", ana, bo, lea, max)


@pytest.fixture
def run() -> Run:
    """A run with one waiting record."""
    return import_data(file_of(line("e-1")), run="algebra").target_run


class TestEverythingGoes:
    @pytest.mark.slow
    def test_deletion_removes_all_rows_of_the_run_and_no_others(
        self, ana: User, bo: User, lea: User, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(deletion, "RECORDS_PER_PART", 5)
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
        monkeypatch.setattr(deletion, "RECORDS_PER_PART", 5)
        request_deletion(run_id=full.pk, actor=max, confirmation="algebra")
        with pytest.raises(JobAborted):
            tasks.delete_runs.func(_Stopping())  # type: ignore[arg-type]
        assert full.evaluations.count() == 7
        assert list(decision_check.find_differences()) == []
        assert manage(capfdbinary, "verify_runs").status == 0
        tasks.delete_runs.func(_Running())  # type: ignore[arg-type]
        assert not Run.objects.exists()

    def test_name_can_be_used_again(self, run: Run) -> None:
        delete(run)
        assert import_data(file_of(line("e-1")), run="algebra").new == 1

    def test_later_jobs_find_no_run_and_end(self, run: Run, max: User) -> None:
        delete(run)
        assert draw_sample(run_id=run.pk) == (0, 0)
        deliveries.attempt_delivery(1, 1)
        assert not delete_next_part()


class _Running:
    def should_abort(self) -> bool:
        return False


class _Stopping:
    def should_abort(self) -> bool:
        return True


class TestRequest:
    @pytest.mark.parametrize("confirmation", ["", "Algebra", "algebr"])
    def test_other_names_do_not_confirm(self, confirmation: str, run: Run, max: User) -> None:
        with pytest.raises(InvalidSettings, match="This is not the name of the run"):
            request_deletion(run_id=run.pk, actor=max, confirmation=confirmation)
        assert not delete_next_part()
        assert run.evaluations.exists()

    def test_leads_cannot_delete(self, run: Run, lea: User) -> None:
        with pytest.raises(Denied, match="Only an admin can delete a run"):
            request_deletion(run_id=run.pk, actor=lea, confirmation="algebra")

    def test_requested_run_is_hidden_at_once(self, run: Run, max: User, as_max: Client) -> None:
        request_deletion(run_id=run.pk, actor=max, confirmation="algebra")
        for query in ({}, {"state": "archived"}):
            assert "algebra" not in text(as_max.get(reverse("runs"), query))
        assert as_max.get(reverse("run", args=[run.pk])).status_code == 410
        assert program_of(max, "read").get("runs/algebra").status_code == 404
        with pytest.raises(ImportRefused, match="is being deleted"):
            import_data(file_of(line("e-2")), run="algebra")

    def test_repeated_request_changes_nothing(self, run: Run, max: User) -> None:
        for _ in range(2):
            request_deletion(run_id=run.pk, actor=max, confirmation="algebra")
        assert AuditEvent.objects.filter(action="delete run").count() == 1

    def test_run_with_an_unfinished_job_is_not_deleted(self, run: Run, max: User, lea: User) -> None:
        source = jobs.enqueue_import(
            run_name="algebra", file_name="a.jsonl", blocks=[file_of(line("e-2"))], strict=False, actor=max
        )
        with pytest.raises(ImportUnderWay):
            request_deletion(run_id=run.pk, actor=max, confirmation="algebra")
        jobs.cancel_import(import_id=source.pk, actor=max)
        export_jobs.enqueue(options=ExportOptions(run), actor=lea)
        with pytest.raises(ExportUnderWay):
            request_deletion(run_id=run.pk, actor=max, confirmation="algebra")


class TestDoor:
    """Only a requested deletion removes rows of append-only tables."""

    @pytest.mark.parametrize("function", ["delete_run(%s)", "delete_run_records(%s, 10)"])
    def test_functions_delete_no_other_run(self, function: str, run: Run) -> None:
        refused = pytest.raises(IntegrityError, match="was not requested")
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}", [run.pk])

    @pytest.mark.slow
    def test_rows_of_other_runs_stay(self, full: Run, run_of_others: Run, max: User) -> None:
        request_deletion(run_id=run_of_others.pk, actor=max, confirmation=run_of_others.name)
        for table in ("review", "withdrawal", "blind_scores", "reveal", "overturn"):
            refused = pytest.raises(IntegrityError, match=f"{table} is append-only: DELETE is refused")
            with refused, transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {table}")

    @pytest.fixture
    def run_of_others(self) -> Run:
        return import_data(file_of(line("e-1")), run="geometry").target_run

    def test_audit_log_of_a_deleted_run_cannot_be_removed(self, run: Run, max: User) -> None:
        delete(run, max)
        for table in ("audit_event", "audit_seal"):
            refused = pytest.raises(IntegrityError, match="is append-only: DELETE is refused")
            with refused, transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {table}")

    @pytest.mark.slow
    def test_removed_decision_without_a_request_is_reported(self, full: Run) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("UPDATE run SET deletion_requested_at = now()")
            cursor.execute("DELETE FROM withdrawal")
        assert any("was removed" in found for found in decision_check.find_differences())


class TestClaimsInHand:
    @pytest.mark.slow
    def test_open_page_says_that_the_run_was_deleted(
        self, run: Run, ana: User, as_ana: Client, max: User
    ) -> None:
        claimed = claims.claim(evaluation_id=run.evaluations.get().pk, reviewer=ana)
        delete(run, max)
        for page in ("renew", "draft", "submit", "skip"):
            answer = as_ana.post(reverse(page, args=[claimed.pk]), headers={"hx-request": "true"})
            assert answer.status_code == 410, page
            assert "The run was deleted with its records and decisions." in text(answer)
        shown = as_ana.get(reverse("evaluation", args=[claimed.pk]))
        assert (shown.status_code, "The run was deleted" in text(shown)) == (410, True)
        next_one = as_ana.post(reverse("claim-next", args=[run.pk]))
        assert next_one.status_code == 410
        assert as_ana.get(reverse("evaluation", args=[claimed.pk + 1])).status_code == 404


class TestWays:
    def test_page_deletes_after_the_typed_name(self, run: Run, as_max: Client) -> None:
        page = reverse("delete-run", args=[run.pk])
        assert page in text(as_max.get(reverse("run-name", args=[run.pk])))
        assert "This removes 1 record" in text(as_max.get(page))
        wrong = as_max.post(page, {"confirmation": "geometry"})
        assert (wrong.status_code, "This is not the name of the run." in text(wrong)) == (422, True)
        assert as_max.post(page, {"confirmation": "algebra"})["Location"] == reverse("runs")
        assert "algebra is being deleted." in text(as_max.get(reverse("runs")))
        tasks.delete_runs.func(_Running())  # type: ignore[arg-type]
        assert not Run.objects.exists()

    def test_leads_are_not_offered_deletion(self, run: Run, as_lea: Client) -> None:
        page = text(as_lea.get(reverse("run-name", args=[run.pk])))
        assert reverse("delete-run", args=[run.pk]) not in page

    def test_command_deletes(self, run: Run, capfdbinary: Capture) -> None:
        done = manage(capfdbinary, "delete_run", "algebra", "--confirm", "algebra")
        assert (done.status, done.out) == (0, b"Deleted run 'algebra'.\n")
        assert not Run.objects.exists()

    def test_command_without_the_right_name_deletes_nothing(self, run: Run, capfdbinary: Capture) -> None:
        done = manage(capfdbinary, "delete_run", "algebra", "--confirm", "geometry")
        assert (done.status, "This is not the name of the run." in done.err) == (2, True)
        assert manage(capfdbinary, "delete_run", "geometry", "--confirm", "geometry").status == 2
        assert run.evaluations.exists()

    def test_command_asks_for_the_name(
        self, run: Run, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def answer(question: str) -> str:
            asked.append(question)
            return "algebra"

        monkeypatch.setattr("builtins.input", answer)
        assert manage(capfdbinary, "delete_run", "algebra").status == 0
        assert asked == ["This deletes 1 records and their decisions. Type the name of the run: "]

    def test_api_deletes(self, run: Run, lea: User, max: User) -> None:
        assert (
            program_of(lea, "configure").ask("DELETE", "runs/algebra?confirmation=algebra").status_code == 403
        )
        admin = program_of(max, "configure")
        refused = admin.ask("DELETE", "runs/algebra")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "confirmation")
        assert admin.ask("DELETE", "runs/algebra?confirmation=algebra").status_code == 202
        tasks.delete_runs.func(_Running())  # type: ignore[arg-type]
        assert not Run.objects.exists()


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

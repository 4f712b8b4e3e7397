"""Requests to delete a run: permissions, ways to ask, and deletions that the database refuses."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from reviews import tasks
from reviews.accounts.permissions import Denied
from reviews.audit import decision_check
from reviews.database.statements import execute
from reviews.exports import jobs as export_jobs
from reviews.exports.output import ExportOptions
from reviews.imports import jobs
from reviews.models import AuditEvent, Run, User
from reviews.queue import claims
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import ExportUnderWay, ImportUnderWay, delete_next_part, request_deletion
from reviews.storage.errors import ImportRefused
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.deletions import Running, delete
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """A run with one waiting record."""
    return import_data(file_of(line("e-1")), run="algebra").target_run


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

    @pytest.mark.slow
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
        with refused, transaction.atomic():
            execute(f"SELECT {function}", [run.pk])

    @pytest.mark.slow
    def test_rows_of_other_runs_stay(self, full: Run, run_of_others: Run, max: User) -> None:
        request_deletion(run_id=run_of_others.pk, actor=max, confirmation=run_of_others.name)
        for table in ("review", "withdrawal", "blind_scores", "reveal", "overturn"):
            refused = pytest.raises(IntegrityError, match=f"{table} is append-only: DELETE is refused")
            with refused, transaction.atomic():
                execute(f"DELETE FROM {table}")

    @pytest.fixture
    def run_of_others(self) -> Run:
        return import_data(file_of(line("e-1")), run="geometry").target_run

    def test_audit_log_of_a_deleted_run_cannot_be_removed(self, run: Run, max: User) -> None:
        delete(run, max)
        for table in ("audit_event", "audit_seal"):
            refused = pytest.raises(IntegrityError, match="is append-only: DELETE is refused")
            with refused, transaction.atomic():
                execute(f"DELETE FROM {table}")

    @pytest.mark.slow
    def test_removed_decision_without_a_request_is_reported(self, full: Run) -> None:
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        execute("UPDATE run SET deletion_requested_at = now()")
        execute("DELETE FROM withdrawal")
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
    @pytest.mark.slow
    def test_page_deletes_after_the_typed_name(self, run: Run, as_max: Client) -> None:
        page = reverse("delete-run", args=[run.pk])
        assert page in text(as_max.get(reverse("run-name", args=[run.pk])))
        assert "This removes 1 record" in text(as_max.get(page))
        wrong = as_max.post(page, {"confirmation": "geometry"})
        assert (wrong.status_code, "This is not the name of the run." in text(wrong)) == (422, True)
        assert as_max.post(page, {"confirmation": "algebra"})["Location"] == reverse("runs")
        assert "algebra is being deleted." in text(as_max.get(reverse("runs")))
        tasks.delete_runs.func(Running())  # type: ignore[arg-type]
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

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_api_deletes(self, run: Run, lea: User, max: User) -> None:
        assert (
            program_of(lea, "configure").ask("DELETE", "runs/algebra?confirmation=algebra").status_code == 403
        )
        admin = program_of(max, "configure")
        refused = admin.ask("DELETE", "runs/algebra")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "confirmation")
        assert admin.ask("DELETE", "runs/algebra?confirmation=algebra").status_code == 202
        tasks.delete_runs.func(Running())  # type: ignore[arg-type]
        assert not Run.objects.exists()

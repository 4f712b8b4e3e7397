"""Rename, archive and unarchive a run: on its page, by command and over the API."""

from collections.abc import Callable

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from reviews import metrics
from reviews.accounts.permissions import Denied
from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.bulk_changes import BulkOrder
from reviews.dashboard.selection import WorkSelection
from reviews.exports import jsonl
from reviews.imports import jobs
from reviews.imports.runs import get_or_create_run
from reviews.imports.task_context import import_context
from reviews.models import AuditEvent, BulkChange, Evaluation, Run, User
from reviews.queue import claims
from reviews.records.conflicts import RunArchived
from reviews.review import drafts, escalations
from reviews.review.decisions import reopen
from reviews.review.undo import undo
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import ImportUnderWay, archive_run, rename_run, unarchive_run
from reviews.search.filters import Filters
from reviews.storage.errors import ImportRefused
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def _imported(module_world: None) -> None:
    """Create the run. Tests undo their changes."""
    import_data(file_of(line("e-1")), run="algebra")


@pytest.fixture
def run(_imported: None) -> Run:
    """A run with one waiting record."""
    return Run.objects.get(name="algebra")


@pytest.fixture
def archived(run: Run, lea: User) -> Run:
    return archive_run(run_id=run.pk, actor=lea)


def record_of(run: Run) -> Evaluation:
    return run.evaluations.get()


class TestRename:
    @pytest.mark.slow
    def test_renamed_run_keeps_its_page_and_records(self, run: Run, as_lea: Client) -> None:
        page = reverse("run-name", args=[run.pk])
        assert as_lea.post(page, {"name": " Algebra II "})["Location"] == reverse(
            "run-settings", args=[run.pk]
        )
        run.refresh_from_db()
        assert run.name == "Algebra II"
        assert '<h1 class="run-name">Algebra II</h1>' in text(as_lea.get(reverse("run", args=[run.pk])))
        assert export_data(run="Algebra II") == file_of(line("e-1"))

    def test_rename_leaves_an_audit_event(self, run: Run, lea: User) -> None:
        rename_run(run_id=run.pk, actor=lea, name="geometry")
        event = AuditEvent.objects.get(action="rename run")
        assert (event.run_name, event.detail, event.actor) == (
            "geometry",
            {"before": "algebra", "after": "geometry"},
            lea,
        )

    def test_rename_to_the_same_name_changes_nothing(self, run: Run, lea: User) -> None:
        rename_run(run_id=run.pk, actor=lea, name="algebra")
        assert not AuditEvent.objects.filter(action="rename run").exists()

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("geometry", "There is another run named 'geometry'."),
            (" ", "Enter a name for the run."),
            ("algebra ", "A run's name does not begin or end with a space."),
            ("x" * 201, "at most 200 printable characters"),
            ("a/b", "it contains no slash"),
        ],
    )
    def test_invalid_name_is_refused(self, name: str, sentence: str, run: Run, lea: User) -> None:
        RunFactory.create(name="geometry")
        with pytest.raises(InvalidSettings, match=sentence):
            rename_run(run_id=run.pk, actor=lea, name=name)
        run.refresh_from_db()
        assert run.name == "algebra"

    def test_page_shows_why_a_name_is_refused(self, run: Run, as_lea: Client) -> None:
        RunFactory.create(name="geometry")
        answer = as_lea.post(reverse("run-name", args=[run.pk]), {"name": "geometry"})
        assert answer.status_code == 422
        assert "There is another run named &#x27;geometry&#x27;." in text(answer)

    def test_name_of_a_run_that_is_being_created_is_refused(self, run: Run, lea: User) -> None:
        jobs.enqueue_import(
            run_name="geometry", file_name="a.jsonl", blocks=[file_of(line("e-2"))], strict=False, actor=lea
        )
        with pytest.raises(InvalidSettings, match="A file is being imported into a new run named 'geometry'"):
            rename_run(run_id=run.pk, actor=lea, name="geometry")

    @pytest.mark.slow
    def test_run_with_an_unfinished_import_is_not_renamed(self, run: Run, lea: User) -> None:
        source = jobs.enqueue_import(
            run_name="algebra", file_name="a.jsonl", blocks=[file_of(line("e-2"))], strict=False, actor=lea
        )
        with pytest.raises(ImportUnderWay):
            rename_run(run_id=run.pk, actor=lea, name="geometry")
        jobs.import_upload(import_id=source.pk)
        assert rename_run(run_id=run.pk, actor=lea, name="geometry").evaluations.count() == 2

    @pytest.mark.slow
    def test_import_into_a_renamed_run_needs_the_new_name(self, run: Run, lea: User) -> None:
        rename_run(run_id=run.pk, actor=lea, name="geometry")
        import_data(file_of(line("e-1")), run="algebra")
        import_data(file_of(line("e-2")), run="geometry")
        assert {found.name: found.evaluations.count() for found in Run.objects.all()} == {
            "algebra": 1,
            "geometry": 2,
        }

    def test_reviewers_cannot_rename(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied):
            rename_run(run_id=run.pk, actor=ana, name="geometry")

    def test_command_renames(self, run: Run, capfdbinary: Capture) -> None:
        done = manage(capfdbinary, "rename_run", "algebra", "geometry")
        assert (done.status, done.out) == (0, b"Renamed run 'algebra' to 'geometry'.\n")
        run.refresh_from_db()
        assert run.name == "geometry"

    def test_command_refuses_a_name_in_use(self, run: Run, capfdbinary: Capture) -> None:
        RunFactory.create(name="geometry")
        done = manage(capfdbinary, "rename_run", "algebra", "geometry")
        assert (done.status, "There is another run named 'geometry'." in done.err) == (2, True)

    def test_api_renames(self, run: Run, lea: User) -> None:
        program = program_of(lea, "configure", "read")
        answer = program.ask("PATCH", "runs/algebra", {"name": "geometry"})
        assert (answer.status_code, answer.json()["name"]) == (200, "geometry")
        assert program.get("runs/algebra").status_code == 404
        refused = program.ask("PATCH", "runs/geometry", {"name": "a/b"})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "name")

    @pytest.mark.parametrize("body", [{}, {"name": None}, {"title": "x"}, {"archived": "perhaps"}])
    def test_api_refuses_other_changes(self, body: dict[str, object], run: Run, lea: User) -> None:
        assert program_of(lea, "configure").ask("PATCH", f"runs/{run.name}", body).status_code == 422


class TestArchive:
    @pytest.mark.slow
    def test_archived_run_leaves_the_lists(self, archived: Run, as_ana: Client, ana: User) -> None:
        page = text(as_ana.get(reverse("runs")))
        assert "All runs are archived." in page
        assert f"{reverse('runs')}?state=archived" in page
        assert archived.name in text(as_ana.get(reverse("runs"), {"state": "archived"}))
        program = program_of(ana, "read")
        assert program.get("runs").json() == []
        assert [run["name"] for run in program.get("runs?archived=true").json()] == [archived.name]

    @pytest.mark.slow
    def test_archived_run_is_in_no_other_list(self, archived: Run, as_max: Client) -> None:
        for page in ("task-context", "webhooks", "mappings", "dashboard"):
            table = text(as_max.get(reverse(page))).partition('<select name="run"')[0]
            assert f">{archived.name}<" not in table, page
        assert not [sample for metric in metrics._of_runs() for sample in metric.samples]

    @pytest.mark.slow
    def test_archived_run_can_be_read_and_exported(self, archived: Run, as_lea: Client) -> None:
        page = text(as_lea.get(reverse("run", args=[archived.pk])))
        assert "Records can be read and exported, but not changed." in page
        assert reverse("claim-next", args=[archived.pk]) not in page
        record = text(as_lea.get(reverse("evaluation", args=[record_of(archived).pk])))
        assert "This run is archived: its records are read-only." in record
        assert "Review this" not in record
        assert as_lea.get(reverse("review", args=[archived.pk])).status_code == 200
        assert b"".join(jsonl.export_lines(archived)) == file_of(line("e-1"))

    @pytest.mark.parametrize(
        "change",
        [
            lambda run, ana: claims.claim_next(run=run, reviewer=ana),
            lambda run, ana: claims.prefetch_next(run=run, reviewer=ana, after=[]),
            lambda run, ana: claims.claim(evaluation_id=record_of(run).pk, reviewer=ana),
            lambda run, ana: claims.renew(evaluation_id=record_of(run).pk, reviewer=ana),
            lambda run, ana: claims.skip(evaluation_id=record_of(run).pk, reviewer=ana),
            lambda run, ana: decide(record_of(run), ana),
            lambda run, ana: escalations.escalate(
                evaluation_id=record_of(run).pk, reviewer=ana, kind="question", reason="question", note="?"
            ),
        ],
        ids=["claim next", "prefetch", "claim", "renew", "skip", "submit", "escalate"],
    )
    def test_archived_run_refuses_reviews(
        self, change: Callable[[Run, User], object], archived: Run, ana: User
    ) -> None:
        before = Evaluation.objects.values().get()
        with pytest.raises(RunArchived), transaction.atomic():
            change(archived, ana)
        assert Evaluation.objects.values().get() == before

    def test_archived_run_refuses_changes_of_decisions(self, run: Run, ana: User, lea: User) -> None:
        decide(claims.claim(evaluation_id=record_of(run).pk, reviewer=ana), ana)
        archive_run(run_id=run.pk, actor=lea)
        run.refresh_from_db()
        with pytest.raises(RunArchived):
            undo(run=run, actor=ana)
        with pytest.raises(RunArchived):
            reopen(evaluation_id=record_of(run).pk, actor=lea, reason="Wrong.")
        assert not spot_checks.draw(selection=WorkSelection(reviewer=ana), count=9, actor=lea)

    def test_archived_run_refuses_bulk_changes(self, archived: Run, lea: User) -> None:
        order = BulkOrder(archived, Filters(()), BulkChange.Kind.PRIORITISE, priority=1)
        with pytest.raises(RunArchived):
            bulk_changes.apply(order=order, actor=lea)

    def test_archived_run_refuses_files(self, archived: Run, max: User, as_max: Client) -> None:
        reason = "The run 'algebra' is archived. Unarchive it first, or choose another name."
        with pytest.raises(ImportRefused, match=reason):
            import_data(file_of(line("e-2")), run="algebra")
        with pytest.raises(ImportRefused, match=reason):
            get_or_create_run(name="algebra", actor=max)
        with pytest.raises(ImportRefused, match=reason):
            import_context(
                blocks=[b'[{"task_id": "1", "prompt": "?"}]'], file_name="a", run_name="algebra", actor=max
            )
        answer = program_of(max, "import").ask("POST", "runs/algebra/imports", file_of(line("e-2")))
        assert (answer.status_code, answer.json()["detail"]) == (422, reason)

    def test_claim_ends_and_its_page_says_why(self, run: Run, ana: User, as_ana: Client, lea: User) -> None:
        record = claims.claim(evaluation_id=record_of(run).pk, reviewer=ana)
        archive_run(run_id=run.pk, actor=lea)
        record.refresh_from_db()
        assert (record.claimed_by, record.claimed_until) == (None, None)
        assert AuditEvent.objects.get(action="archive run").detail == {"claims": 1}
        answer = as_ana.post(reverse("renew", args=[record.pk]), headers={"hx-request": "true"})
        assert answer.status_code == 409
        assert "The run algebra is archived, so nothing was changed." in text(answer)

    def test_draft_of_an_archived_run_stays(self, run: Run, ana: User, lea: User) -> None:
        record = claims.claim(evaluation_id=record_of(run).pk, reviewer=ana)
        drafts.save(evaluation_id=record.pk, reviewer=ana, fields=[["comments", "Mine."]], revision=1)
        archive_run(run_id=run.pk, actor=lea)
        assert record.drafts.count() == 1

    def test_run_with_an_unfinished_import_is_not_archived(self, run: Run, lea: User) -> None:
        source = jobs.enqueue_import(
            run_name="algebra", file_name="a.jsonl", blocks=[file_of(line("e-2"))], strict=False, actor=lea
        )
        with pytest.raises(ImportUnderWay):
            archive_run(run_id=run.pk, actor=lea)
        jobs.import_upload(import_id=source.pk)
        assert archive_run(run_id=run.pk, actor=lea).archived_at

    @pytest.mark.slow
    def test_unarchived_run_is_as_before(self, archived: Run, lea: User, ana: User, as_ana: Client) -> None:
        unarchive_run(run_id=archived.pk, actor=lea)
        assert archived.name in text(as_ana.get(reverse("runs")))
        run = Run.objects.get()
        decide(claims.claim(evaluation_id=record_of(run).pk, reviewer=ana), ana)
        assert import_data(file_of(line("e-2")), run="algebra").new == 1
        actions = AuditEvent.objects.filter(action__contains="archive").order_by("pk")
        assert list(actions.values_list("action", flat=True)) == ["archive run", "unarchive run"]

    def test_page_archives_and_unarchives(self, run: Run, as_lea: Client) -> None:
        page = reverse("run-name", args=[run.pk])
        assert reverse("archive-run", args=[run.pk]) in text(as_lea.get(page))
        as_lea.post(reverse("archive-run", args=[run.pk]))
        run.refresh_from_db()
        assert run.archived_at
        assert reverse("unarchive-run", args=[run.pk]) in text(as_lea.get(page))
        as_lea.post(reverse("unarchive-run", args=[run.pk]))
        run.refresh_from_db()
        assert run.archived_at is None

    def test_command_archives_and_unarchives(self, run: Run, capfdbinary: Capture) -> None:
        assert manage(capfdbinary, "archive_run", "algebra").out == b"Run 'algebra' is archived.\n"
        run.refresh_from_db()
        assert run.archived_at
        assert (
            manage(capfdbinary, "archive_run", "algebra", "--undo").out == b"Run 'algebra' is not archived.\n"
        )
        run.refresh_from_db()
        assert run.archived_at is None

    def test_api_archives_and_unarchives(self, run: Run, ana: User, lea: User) -> None:
        leads = program_of(lea, "configure")
        assert leads.ask("PATCH", "runs/algebra", {"archived": True}).json()["archived_at"]
        reviewers = program_of(ana, "review")
        refused = reviewers.ask("POST", "runs/algebra/claims", {})
        assert (refused.status_code, "is archived" in refused.json()["detail"]) == (409, True)
        answer = leads.ask("PATCH", "runs/algebra", {"archived": False, "name": "geometry"}).json()
        assert (answer["archived_at"], answer["name"]) == (None, "geometry")
        assert reviewers.ask("POST", "runs/geometry/claims", {}).status_code == 200

    def test_reviewers_cannot_archive(self, run: Run, ana: User) -> None:
        for change in (archive_run, unarchive_run):
            with pytest.raises(Denied):
                change(run_id=run.pk, actor=ana)


def test_other_runs_stay_open(archived: Run, ana: User) -> None:
    other = EvaluationFactory.create()
    assert archived != other.run
    assert claims.claim_next(run=other.run, reviewer=ana) == other

"""Every write leaves an event, in its own transaction, and nothing takes it away again."""

import inspect
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reviews import audit, exports, import_job, importer, people, queue, uploads, workflow
from reviews.audit import NoTransaction
from reviews.models import AuditEvent, Evaluation, Export, ExportPart, FileConflict, Review, Upload, User
from reviews.record import HUMAN_FIELDS
from tests.factories import PASSWORD, EvaluationFactory, RunFactory
from tests.lines import line
from tests.work import decide

pytestmark = pytest.mark.django_db

Call = Callable[[], Any]


class TestRecord:
    def test_keeps_who_did_what_to_what(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        source = evaluation.first_import
        audit.record(
            "look", actor=ana, run=evaluation.run, source=source, evaluation=evaluation, where=["here", 1]
        )
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.actor_name) == ("look", ana, "ana")
        assert (event.run, event.source, event.evaluation) == (evaluation.run, source, evaluation)
        assert event.detail == {"where": ["here", 1]}
        assert event.at is not None

    def test_without_an_actor_tells_of_the_program_itself(self) -> None:
        event = audit.record("wake up", actor=None)
        assert (event.actor, event.actor_name, event.detail) == (None, "", {})

    def test_keeps_the_name_somebody_had_then(self, ana: User) -> None:
        event = audit.record("look", actor=ana)
        ana.username = "anna"
        ana.save()
        event.refresh_from_db()
        assert (event.actor_name, event.actor) == ("ana", ana)

    def test_goes_with_the_transaction_it_tells_of(self, ana: User) -> None:
        with transaction.atomic():
            audit.record("look", actor=ana)
            transaction.set_rollback(True)
        assert not AuditEvent.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_outside_a_transaction_is_refused(self) -> None:
        with pytest.raises(NoTransaction):
            audit.record("look", actor=None)
        assert not AuditEvent.objects.exists()


@pytest.fixture
def review(ana: User) -> Review:
    """One review, and with it one audit event."""
    review = decide(EvaluationFactory.create(), ana)
    with connection.cursor() as cursor:
        # Else the pending checks of what was just written keep TRUNCATE away, not the trigger.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return review


class TestAppendOnly:
    def refused(self, table: str, operation: str, action: Callable[[], object]) -> None:
        message = f"^{table} is append-only: {operation} is refused"
        with pytest.raises(IntegrityError, match=message), transaction.atomic():
            action()

    @pytest.mark.parametrize("table", ["audit_event", "review"])
    @pytest.mark.parametrize(
        ("operation", "statement"),
        [
            ("UPDATE", "UPDATE {table} SET id = id"),
            ("UPDATE", "UPDATE {table} SET id = id WHERE false"),
            ("UPDATE", "INSERT INTO {table} SELECT * FROM {table} ON CONFLICT (id) DO UPDATE SET id = 0"),
            ("UPDATE", "MERGE INTO {table} USING run ON true WHEN MATCHED THEN UPDATE SET id = 0"),
            ("DELETE", "DELETE FROM {table}"),
            ("DELETE", "WITH gone AS (DELETE FROM {table} RETURNING id) SELECT * FROM gone"),
            ("TRUNCATE", "TRUNCATE {table} CASCADE"),
        ],
    )  # fmt: skip
    def test_tables_refuse_sql_that_changes_them(
        self, review: Review, table: str, operation: str, statement: str
    ) -> None:
        with connection.cursor() as cursor:
            self.refused(table, operation, lambda: cursor.execute(statement.format(table=table)))

    def test_tables_are_not_emptied_by_way_of_what_they_refer_to(self, review: Review) -> None:
        with connection.cursor() as cursor:
            self.refused(
                "audit_event", "TRUNCATE", lambda: cursor.execute("TRUNCATE audit_event, person CASCADE")
            )
            self.refused("(review|audit_event)", "TRUNCATE", lambda: cursor.execute("TRUNCATE run CASCADE"))

    def test_rows_refuse_the_orm(self, review: Review) -> None:
        event = AuditEvent.objects.get()
        self.refused("review", "UPDATE", review.save)
        self.refused("review", "UPDATE", lambda: Review.objects.update(comments="better"))
        self.refused("audit_event", "UPDATE", event.save)
        self.refused("audit_event", "DELETE", event.delete)
        self.refused("audit_event", "DELETE", AuditEvent.objects.all().delete)
        # Django's own guard comes before the trigger, unless nothing refers to the row.
        Evaluation.objects.update(review=None)
        self.refused("review", "DELETE", review.delete)

    def test_tables_take_new_rows(self, review: Review, bo: User) -> None:
        decide(EvaluationFactory.create(), bo)
        assert (Review.objects.count(), AuditEvent.objects.count()) == (2, 2)


# Each public function of the modules that write, and the action of the event it leaves.
WRITING_MODULES = [exports, import_job, importer, people, queue, uploads, workflow]
EVENTS = {
    "exports.ask_for": "export asked for",
    "exports.build": "export",
    "exports.fail": "export failed",
    "exports.remove_expired": "export removed",
    "importer.import_stream": "import",
    "importer.receive_upload": "upload",
    "importer.import_upload": "import",
    "importer.fail_upload": "import failed",
    "import_job.cancel": "import cancelled",
    "import_job.end_cancelled": "import cancelled",
    "uploads.begin": "upload begun",
    "uploads.append": "upload",
    "uploads.drop": "upload dropped",
    "uploads.remove_expired": "upload expired",
    "people.add_user": "user added",
    "people.first_admin": "user added",
    "queue.claim_next": "claim",
    "queue.claim": "claim",
    "queue.release": "release",
    "queue.skip": "skip",
    "queue.take_back_skips": "take back skips",
    "workflow.submit_review": "submit",
    "workflow.settle_conflict": "settle conflict",
}
# These write, and others tell of it.
TOLD_BY = {
    "import_job.reported": "importer.import_upload",
    "importer.run_named": "importer.import_stream",
    "queue.free": "queue.release",
    "queue.renew": "queue.claim",
}
READS_ONLY = {
    "exports.kept_receipt",
    "exports.order_of",
    "exports.stretch",
    "importer.checked_run_name",
    "importer.locked",
    "uploads.check_size",
    "people.needs_first_admin",
    "people.welcome_token",
    "queue.check_free",
    "queue.is_held",
    "queue.locked",
    "queue.page",
    "queue.progress",
    "queue.runs_with_progress",
    "queue.standing",
}


class Calls:
    """`queue_claim()` prepares what `queue.claim` needs and returns the call."""

    def __init__(self, ana: User, lea: User) -> None:
        self.ana = ana
        self.lea = lea
        self.run = RunFactory.create()

    def evaluation(self) -> Evaluation:
        return EvaluationFactory.create(run=self.run)

    def held(self) -> Evaluation:
        return queue.claim(evaluation_id=self.evaluation().pk, reviewer=self.ana)

    def export(self) -> Export:
        return exports.ask_for(exports.Order(self.run), self.lea)

    def exports_ask_for(self) -> Call:
        return self.export

    def exports_build(self) -> Call:
        return partial(exports.build, self.export().pk)

    def exports_fail(self) -> Call:
        return partial(exports.fail, self.export().pk, "the disk is full")

    def exports_remove_expired(self) -> Call:
        long_ago = timezone.now() - timedelta(hours=25)
        Export.objects.filter(pk=self.export().pk).update(finished_at=long_ago)
        return exports.remove_expired

    def exports_order_of(self) -> Call:
        return partial(exports.order_of, self.export())

    def exports_stretch(self) -> Call:
        export = self.export()
        exports.build(export.pk)
        return lambda: list(exports.stretch(export, ExportPart.Kind.RECEIPT, 0, 0))

    def exports_kept_receipt(self) -> Call:
        export = self.export()
        exports.build(export.pk)
        return lambda: list(exports.kept_receipt(export))

    def importer_import_stream(self) -> Call:
        return partial(
            importer.import_stream, [line()], run_name="run", file_name="run.jsonl", actor=self.lea
        )

    def importer_receive_upload(self) -> Call:
        names = {"run_name": "run", "file_name": "run.jsonl"}
        return partial(importer.receive_upload, **names, blocks=[line()], strict=False, actor=self.lea)

    def importer_import_upload(self) -> Call:
        return partial(importer.import_upload, self.importer_receive_upload()().pk)

    def importer_fail_upload(self) -> Call:
        return partial(importer.fail_upload, self.importer_receive_upload()().pk, "the disk is full")

    def importer_checked_run_name(self) -> Call:
        return partial(importer.checked_run_name, "run")

    def importer_locked(self) -> Call:
        return partial(importer.locked, self.importer_receive_upload()().pk)

    def import_job_cancel(self) -> Call:
        return partial(import_job.cancel, self.importer_receive_upload()().pk, self.lea)

    def import_job_end_cancelled(self) -> Call:
        return partial(import_job.end_cancelled, self.importer_receive_upload()().pk)

    def upload(self) -> Upload:
        names = {"run_name": "run", "file_name": "run.jsonl"}
        return uploads.begin(**names, strict=False, size=len(line()), actor=self.lea)

    def uploads_begin(self) -> Call:
        return self.upload

    def uploads_append(self) -> Call:
        return partial(uploads.append, self.upload(), offset=0, data=line())

    def uploads_drop(self) -> Call:
        return partial(uploads.drop, self.upload(), self.lea)

    def uploads_remove_expired(self) -> Call:
        long_ago = timezone.now() - timedelta(hours=25)
        Upload.objects.filter(pk=self.upload().pk).update(changed_at=long_ago)
        return uploads.remove_expired

    def uploads_check_size(self) -> Call:
        return partial(uploads.check_size, 1)

    def people_add_user(self) -> Call:
        return partial(people.add_user, username="bo", password=PASSWORD, role="reviewer", actor=None)

    def people_first_admin(self) -> Call:
        return partial(people.first_admin, username="max", password=PASSWORD, token=people.welcome_token())

    def people_needs_first_admin(self) -> Call:
        return people.needs_first_admin

    def people_welcome_token(self) -> Call:
        return people.welcome_token

    def queue_claim_next(self) -> Call:
        self.evaluation()
        return partial(queue.claim_next, run=self.run, reviewer=self.ana)

    def queue_claim(self) -> Call:
        return partial(queue.claim, evaluation_id=self.evaluation().pk, reviewer=self.ana)

    def queue_release(self) -> Call:
        return partial(queue.release, evaluation_id=self.held().pk, actor=self.ana)

    def queue_skip(self) -> Call:
        return partial(queue.skip, evaluation_id=self.held().pk, reviewer=self.ana)

    def queue_take_back_skips(self) -> Call:
        queue.skip(evaluation_id=self.held().pk, reviewer=self.ana)
        return partial(queue.take_back_skips, run=self.run, reviewer=self.ana)

    def queue_check_free(self) -> Call:
        return partial(queue.check_free, self.held(), self.ana)

    def queue_is_held(self) -> Call:
        return partial(queue.is_held, self.held())

    def queue_locked(self) -> Call:
        return partial(queue.locked, self.held().pk)

    def queue_page(self) -> Call:
        self.held()
        return partial(queue.page, self.run, state="all")

    def queue_progress(self) -> Call:
        return partial(queue.progress, self.run)

    def queue_runs_with_progress(self) -> Call:
        return queue.runs_with_progress

    def queue_standing(self) -> Call:
        return partial(queue.standing, run=self.run, reviewer=self.ana)

    def workflow_submit_review(self) -> Call:
        return partial(decide, self.held(), self.ana)

    def workflow_settle_conflict(self) -> Call:
        reviewed = decide(self.evaluation(), self.ana).evaluation
        conflict = FileConflict.objects.create(
            evaluation=reviewed,
            run=self.run,
            source=reviewed.first_import,
            line=1,
            content_hash=b"",
            human=dict.fromkeys(HUMAN_FIELDS) | {"human_review_status": "Reviewed"},
        )
        version = Evaluation.objects.get(pk=reviewed.pk).version
        return partial(
            workflow.settle_conflict, conflict_id=conflict.pk, version=version, theirs=True, actor=self.lea
        )


class TestEveryFunctionThatWrites:
    @pytest.fixture
    def calls(self, ana: User, lea: User) -> Calls:
        return Calls(ana, lea)

    def test_is_listed(self) -> None:
        public = {
            f"{module.__name__.rpartition('.')[2]}.{name}"
            for module in WRITING_MODULES
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__ and not name.startswith("_")
        }
        assert public == {*EVENTS, *TOLD_BY, *READS_ONLY}
        assert set(TOLD_BY.values()) <= set(EVENTS)

    @pytest.mark.parametrize(("function", "action"), EVENTS.items())
    def test_leaves_its_event(self, calls: Calls, function: str, action: str) -> None:
        call = getattr(calls, function.replace(".", "_"))()
        before = list(AuditEvent.objects.values_list("pk", flat=True))
        call()
        left = AuditEvent.objects.exclude(pk__in=before)
        assert [event.action for event in left] == [action]

    @pytest.mark.parametrize("function", sorted(READS_ONLY))
    def test_is_none_of_those_that_read(self, calls: Calls, function: str) -> None:
        call = getattr(calls, function.replace(".", "_"))()
        with CaptureQueriesContext(connection) as queries:
            call()
        assert [query["sql"] for query in queries if not query["sql"].lstrip().startswith("SELECT")] == []

"""Every write leaves an event, in its own transaction, and nothing takes it away again."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from reviews import audit, importer, people, queue, workflow
from reviews.audit import NoTransaction
from reviews.models import AuditEvent, Evaluation, Import, Review, Run, User
from tests.factories import PASSWORD, EvaluationFactory, ImportFactory, RunFactory
from tests.lines import line
from tests.work import decide

pytestmark = pytest.mark.django_db


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
            ("UPDATE", "MERGE INTO {table} t USING {table} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 0"),
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
            self.refused("audit_event", "TRUNCATE", lambda: cursor.execute("TRUNCATE audit_event, person CASCADE"))
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


@dataclass
class Scene:
    """What the functions below are called with, made when first asked for."""

    ana: User
    lea: User

    @cached_property
    def run(self) -> Run:
        return RunFactory.create()

    @cached_property
    def waiting(self) -> Evaluation:
        return EvaluationFactory.create(run=self.run)

    @cached_property
    def held(self) -> Evaluation:
        return queue.claim(evaluation_id=EvaluationFactory.create(run=self.run).pk, reviewer=self.ana)

    @cached_property
    def upload(self) -> Import:
        return importer.receive_upload(
            run_name="run", file_name="run.jsonl", blocks=[line()], strict=False, actor=self.lea
        )


@pytest.fixture
def scene(ana: User, lea: User) -> Scene:
    return Scene(ana, lea)


Action = Callable[[Scene], object]
WRITING_MODULES = [importer, people, queue, workflow]

# Function -> the action of its event, what must be there before, a call of it.
NOTHING: Action = lambda scene: None  # noqa: E731
WRITES: dict[str, tuple[str, Action, Action]] = {
    "importer.import_stream": (
        "import",
        NOTHING,
        lambda scene: importer.import_stream([line()], run_name="run", file_name="run.jsonl", actor=scene.lea),
    ),
}

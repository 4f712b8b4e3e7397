"""Audit events: their content, their protection from changes, and one event for every write."""

from collections.abc import Callable

import pytest
from allauth.usersessions.models import UserSession
from django.conf import LazySettings
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from reviews.accounts import api_tokens, one_time_links, people, sessions
from reviews.audit import events
from reviews.audit.events import NoTransaction
from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.database.statements import execute
from reviews.exports import jobs, output
from reviews.imports import uploads
from reviews.models import AuditEvent, AuditSeal, Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations
from reviews.runs import changes
from reviews.search import saved_views
from reviews.search.filters import Filters
from reviews.webhooks import deliveries
from tests.support.audit_check import AuditCheck
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


class TestRecord:
    def test_event_keeps_actor_action_and_object(self, ana: User) -> None:
        evaluation = EvaluationFactory.create()
        source = evaluation.first_import
        events.record(
            "look", actor=ana, run=evaluation.run, source=source, evaluation=evaluation, where=["here", 1]
        )
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.actor_name) == ("look", ana, "ana")
        assert (event.run, event.source, event.evaluation) == (evaluation.run, source, evaluation)
        assert event.detail == {"where": ["here", 1]}
        assert event.at is not None

    def test_event_without_actor_is_the_programs_own(self) -> None:
        event = events.record("wake up", actor=None)
        assert (event.actor, event.actor_name, event.detail) == (None, "", {})

    def test_event_is_rolled_back_with_its_transaction(self, ana: User) -> None:
        with transaction.atomic():
            events.record("look", actor=ana)
            transaction.set_rollback(True)
        assert not AuditEvent.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_event_outside_a_transaction_is_refused(self) -> None:
        with pytest.raises(NoTransaction):
            events.record("look", actor=None)
        assert not AuditEvent.objects.exists()


@pytest.fixture
def review(ana: User) -> Review:
    """A review and its one audit event."""
    review = decide(EvaluationFactory.create(), ana)
    # Otherwise pending constraint checks refuse TRUNCATE before the trigger does.
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    return review


class TestAppendOnly:
    def refused(self, table: str, operation: str, action: Callable[[], object]) -> None:
        message = f"^{table} is append-only: {operation} is refused"
        with pytest.raises(IntegrityError, match=message), transaction.atomic():
            action()

    @pytest.mark.parametrize(
        ("table", "key"), [("audit_event", "id"), ("audit_seal", "position"), ("review", "id")]
    )
    @pytest.mark.parametrize(
        ("operation", "statement"),
        [
            ("UPDATE", "UPDATE {table} SET {key} = {key}"),
            ("UPDATE", "UPDATE {table} SET {key} = {key} WHERE false"),
            ("UPDATE", "INSERT INTO {table} TABLE {table} ON CONFLICT ({key}) DO UPDATE SET {key} = 0"),
            ("UPDATE", "MERGE INTO {table} USING run ON true WHEN MATCHED THEN UPDATE SET {key} = 0"),
            ("DELETE", "DELETE FROM {table}"),
            ("DELETE", "WITH gone AS (DELETE FROM {table} RETURNING *) SELECT * FROM gone"),
            ("TRUNCATE", "TRUNCATE {table} CASCADE"),
        ],
    )  # fmt: skip
    def test_append_only_table_refuses_sql_that_changes_it(
        self, review: Review, table: str, key: str, operation: str, statement: str
    ) -> None:
        self.refused(table, operation, lambda: execute(statement.format(table=table, key=key)))

    def test_append_only_table_is_not_truncated_through_a_table_it_refers_to(self, review: Review) -> None:
        self.refused("audit_event", "TRUNCATE", lambda: execute("TRUNCATE audit_event, person CASCADE"))
        self.refused("(review|audit_event|audit_seal)", "TRUNCATE", lambda: execute("TRUNCATE run CASCADE"))

    def test_append_only_row_refuses_the_orm(self, review: Review) -> None:
        event = AuditEvent.objects.get()
        self.refused("review", "UPDATE", review.save)
        self.refused("review", "UPDATE", lambda: Review.objects.update(comments="better"))
        self.refused("audit_event", "UPDATE", event.save)
        seal = AuditSeal.objects.get()
        self.refused("audit_seal", "UPDATE", seal.save)
        self.refused("audit_seal", "DELETE", seal.delete)
        with pytest.raises(ProtectedError):
            event.delete()
        # Django's own guard comes before the trigger, unless nothing refers to the row.
        Evaluation.objects.update(review=None)
        self.refused("review", "DELETE", review.delete)

    def test_append_only_table_takes_new_rows(self, review: Review, bo: User) -> None:
        decide(EvaluationFactory.create(), bo)
        assert (Review.objects.count(), AuditEvent.objects.count()) == (2, 2)


def actions() -> list[str]:
    """Return the actions of all events, in order."""
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


class TestActions:
    """The names of actions that no test of their own package checks."""

    @pytest.fixture
    def run(self) -> Run:
        return RunFactory.create()

    @pytest.fixture
    def claimed(self, run: Run, ana: User) -> Evaluation:
        return claims.claim(evaluation_id=EvaluationFactory.create(run=run).pk, reviewer=ana)

    def test_accounts_name_their_actions(self, ana: User, lea: User) -> None:
        api_tokens.create(person=ana, scopes=["review"], actor=None)
        one_time_links.create_password_link(person=ana, actor=lea)
        people.deactivate(person=ana, actor=lea)
        people.reactivate(person=ana, actor=lea)
        people.reset_second_factor(person=ana, actor=lea)
        assert actions() == [
            "token made",
            "password link",
            "token revoked",
            "person deactivated",
            "person reactivated",
            "second factor reset",
        ]

    def test_sessions_name_their_actions(self, ana: User) -> None:
        values = {"ip": "127.0.0.1", "session_key": "a key", "user_agent": "Firefox"}
        sessions.end(user=ana, session_id=UserSession.objects.create(user=ana, **values).pk)
        sessions.end_others(user=ana, current_key=None)
        assert actions() == ["session ended", "other sessions ended"]

    def test_uploads_and_exports_name_their_actions(self, run: Run, lea: User) -> None:
        upload = uploads.begin(run_name="run", file_name="run.jsonl", strict=False, size=9, actor=lea)
        uploads.discard(upload=upload, actor=lea)
        jobs.fail(
            export_id=jobs.enqueue(options=output.ExportOptions(run), actor=lea).pk, error="the disk is full"
        )
        assert actions() == ["upload begun", "upload dropped", "export asked for", "export failed"]

    def test_webhooks_name_their_actions(self, run: Run, lea: User, settings: LazySettings) -> None:
        settings.WEBHOOK_HOSTS = ["localhost:9"]
        webhook = deliveries.add_webhook(url="http://localhost:9/", run=run, actor=lea).webhook
        deliveries.send_test(webhook=webhook, actor=lea)
        deliveries.remove_webhook(webhook=webhook, actor=lea)
        assert actions() == ["webhook added", "webhook tested", "webhook removed"]

    def test_saved_views_name_their_actions(self, run: Run, ana: User) -> None:
        view = saved_views.save(run=run, owner=ana, name="Fails", query="verdict=Fail", is_shared=False)
        saved_views.remove(view=view, actor=ana)
        assert actions() == ["view saved", "view removed"]

    def test_escalations_name_their_actions(self, claimed: Evaluation, ana: User, lea: User) -> None:
        said = {"kind": "question", "reason": "", "note": ""}
        escalation = escalations.escalate(evaluation_id=claimed.pk, reviewer=ana, **said)
        escalations.withdraw(escalation_id=escalation.pk, actor=ana)
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        escalation = escalations.escalate(evaluation_id=claimed.pk, reviewer=ana, **said)
        escalations.resolve(escalation_id=escalation.pk, actor=lea, outcome="returned", answer="Read it.")
        assert [action for action in actions() if action != "claim"] == [
            "escalate",
            "withdraw escalation",
            "escalate",
            "resolve escalation",
        ]

    @pytest.mark.slow
    def test_dashboard_names_its_actions(self, run: Run, claimed: Evaluation, ana: User, lea: User) -> None:
        order = bulk_changes.BulkOrder(run, Filters(), bulk_changes.Kind.RELEASE)
        bulk_changes.undo(change_id=bulk_changes.apply(order=order, actor=lea).pk, actor=lea)
        decide(Evaluation.objects.get(), ana)
        [check] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
        spot_checks.agree(check_id=check.pk, actor=lea)
        assert actions() == [
            "claim",
            "bulk release",
            "bulk undo release",
            "submit",
            "draw spot checks",
            "agree to spot check",
        ]


class TestAuditCheck:
    """The check of every test's database, by a write of the program whose event is left out."""

    def test_write_without_an_event_is_found(
        self, ana: User, max: User, audit_check: AuditCheck, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        evaluation = EvaluationFactory.create()
        monkeypatch.setattr(events, "record", lambda *_, **__: None)
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        changes.rename_run(run_id=evaluation.run_id, actor=max, name="Geometry")
        assert audit_check.found == [
            "reviews.queue.claims.claim writes to evaluation without an audit event",
            "reviews.runs.changes.rename_run writes to run without an audit event",
        ]
        audit_check.found.clear()

    def test_write_with_its_event_passes(self, ana: User, audit_check: AuditCheck) -> None:
        claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        assert audit_check.found == []

    def test_change_of_a_record_that_no_event_names_is_found(
        self, ana: User, audit_check: AuditCheck, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record, other = evaluations(RunFactory.create(), tasks="12")

        def change_other(*_: object) -> None:
            Evaluation.objects.filter(pk=other.pk).update(human_review_status="Completed")

        monkeypatch.setattr(decisions, "draw_for_spot_check", change_other)
        decide(record, ana)
        [found] = audit_check.found
        assert found.endswith(
            f" changes record {record.run_id}/{other.pk} without an event of it or of its run"
        )
        audit_check.found.clear()

"""Changes of a run that notify its webhooks."""

import json
import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from reviews.imports import importer
from reviews.models import AuditEvent, Evaluation, FileConflict, QueueFilled, Run, User, WebhookDelivery
from reviews.queue import progress
from reviews.review import decisions, escalations, undo
from reviews.sampling import draws
from reviews.webhooks import deliveries
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.threads import together
from tests.support.work import agree, decide, fresh
from tests.webhooks.test_jobs import broken_off

pytestmark = pytest.mark.django_db


def notified_runs() -> list[str]:
    """Return the runs of newly enqueued messages."""
    before = set(WebhookDelivery.objects.values_list("pk", flat=True))
    deliveries.notify_reviewed_runs()
    new = WebhookDelivery.objects.exclude(pk__in=before).select_related("run").order_by("run__name")
    return [delivery.run.name for delivery in new if delivery.run]


class TestRunNotification:
    @pytest.fixture(autouse=True)
    def _webhook(self, made: deliveries.NewWebhook) -> None:
        """A receiver is listening."""

    @pytest.fixture
    def run(self) -> Run:
        return RunFactory.create(name="nightly")

    def test_webhook_is_notified_once_of_the_last_decision(self, run: Run, ana: User) -> None:
        first, last = (EvaluationFactory.create(run=run) for _ in range(2))
        decide(first, ana)
        assert notified_runs() == []
        review = decide(last, ana)
        assert notified_runs() == ["nightly"]
        assert notified_runs() == []
        body = json.loads(WebhookDelivery.objects.get().body)
        counted = {"total": 2, "waiting": 0, "claimed": 0, "escalated": 0, "done": 2, "not_required": 0}
        counted["sampled"] = 0
        completed = AuditEvent.objects.get(action="submit", evaluation=review.evaluation).at
        assert body["type"] == "run.reviewed"
        assert body["data"] == {
            "run": "nightly",
            "counts": counted,
            "completed_at": f"{completed:%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body["timestamp"])

    def test_webhook_is_notified_of_its_own_run_only(self, run: Run, ana: User) -> None:
        decide(EvaluationFactory.create(run=run), ana)
        EvaluationFactory.create(run=RunFactory.create(name="daily"))
        assert notified_runs() == ["nightly"]

    def test_webhook_is_not_notified_while_a_record_is_claimed_or_escalated(
        self, run: Run, ana: User, lea: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        asked: dict[str, Any] = {"kind": "question", "reason": "question", "note": ""}
        raised = escalations.escalate(evaluation_id=record.pk, reviewer=ana, **asked)
        assert notified_runs() == []
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="Nobody can.")
        assert notified_runs() == ["nightly"]

    @pytest.mark.slow
    def test_webhook_is_notified_when_independent_reviews_complete_a_run(
        self, run: Run, ana: User, bo: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        Run.objects.update(overlap_share=1)
        decide(record, ana)
        assert notified_runs() == []
        decide(fresh(record), bo)
        assert notified_runs() == ["nightly"]

    def test_webhook_is_notified_when_a_conflict_is_resolved_for_a_file(
        self, run: Run, ana: User, lea: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        decided = decide(record, ana)
        decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
        conflict = FileConflict.objects.create(
            evaluation=record,
            run=run,
            source=record.first_import,
            line=1,
            content_hash=b"",
            human=decided.evaluation.human | {"human_review_status": "Reviewed"},
        )
        version = fresh(record).version
        decisions.resolve_conflict(
            run=conflict.run, conflict_id=conflict.pk, version=version, theirs=True, actor=lea
        )
        assert notified_runs() == ["nightly"]

    @pytest.mark.slow
    @pytest.mark.parametrize("end", ["confirmed", "put back"])
    def test_webhook_is_notified_when_a_random_sample_is_confirmed_or_returned(
        self, end: str, ana: User
    ) -> None:
        unflagged = {"needs_human_review": False, "human_review_status": "Not Required"}
        import_data(file_of(*(line(f"eval_{number}", **unflagged) for number in range(4))), run="nightly")
        run = Run.objects.get()
        assert notified_runs() == []
        Run.objects.update(sample_share=0.5)
        draws.draw_sample(run_id=run.pk)
        assert notified_runs() == []
        if end == "confirmed":
            for record in Evaluation.objects.filter(is_sampled=True):
                agree(record, ana)
        else:
            Run.objects.update(sample_share=0)
            draws.draw_sample(run_id=run.pk)
        assert set(Evaluation.objects.values_list("human_review_status", flat=True)) == {"Not Required"}
        assert notified_runs() == ["nightly"]

    @pytest.mark.slow
    @pytest.mark.parametrize("again", ["reopen", "undo"])
    def test_webhook_is_notified_again_after_an_undone_decision(
        self, again: str, run: Run, ana: User
    ) -> None:
        record = EvaluationFactory.create(run=run)
        decide(record, ana)
        assert notified_runs() == ["nightly"]
        if again == "reopen":
            decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
        else:
            undo.undo(run=run, actor=ana)
        # Also if it is decided again before the job runs.
        decide(fresh(record), ana)
        assert notified_runs() == ["nightly"]
        assert notified_runs() == []

    @pytest.mark.slow
    def test_webhook_is_notified_again_after_the_run_has_grown(self, ana: User) -> None:
        import_data(file_of(line("eval_1")), run="nightly")
        decide(Evaluation.objects.get(), ana)
        assert notified_runs() == ["nightly"]
        import_data(file_of(line("eval_1"), line("eval_2", human_review_status="Completed")), run="nightly")
        assert notified_runs() == []
        import_data(file_of(line("eval_1", aggregated_score="Fail")), run="nightly")
        assert notified_runs() == []
        decide(Evaluation.objects.get(evaluation_id="eval_1"), ana)
        assert notified_runs() == ["nightly"]

    def test_webhook_is_not_notified_of_a_run_without_queue(self) -> None:
        import_data(file_of(line("eval_1", human_review_status="Reviewed")), run="nightly")
        RunFactory.create(name="empty")
        assert notified_runs() == []

    def test_webhook_is_not_notified_of_a_refused_file(self) -> None:
        with pytest.raises(importer.NothingImported):
            import_data(file_of(line("eval_1"), b"no record"), run="nightly", strict=True)
        assert notified_runs() == []

    def test_webhook_costs_a_decision_nothing(self, run: Run, ana: User) -> None:
        EvaluationFactory.create(run=run)
        record = EvaluationFactory.create(run=run)
        deliveries.notify_reviewed_runs()
        before = QueueFilled.objects.count()
        with CaptureQueriesContext(connection) as queries:
            decide(record, ana)
        assert QueueFilled.objects.count() == before
        assert not [query for query in queries if "webhook" in query["sql"] or "queue_filled" in query["sql"]]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
class TestConcurrency:
    @pytest.mark.slow
    def test_two_workers_notify_of_a_run_once(self, made: deliveries.NewWebhook, ana: User) -> None:
        for _ in range(3):
            decide(EvaluationFactory.create(), ana)
        together(
            deliveries.notify_reviewed_runs, deliveries.notify_reviewed_runs, deliveries.notify_reviewed_runs
        )
        assert WebhookDelivery.objects.count() == 3
        assert WebhookDelivery.objects.values("run").distinct().count() == 3

    def test_record_queued_concurrently_is_not_forgotten(
        self, made: deliveries.NewWebhook, ana: User
    ) -> None:
        """The record is reopened in a transaction that commits only after the notification."""
        record = EvaluationFactory.create()
        decide(record, ana)
        with transaction.atomic():
            decisions.reopen(evaluation_id=record.pk, actor=ana, reason="Step two.")
            together(deliveries.notify_reviewed_runs)
        assert WebhookDelivery.objects.count() == 1
        deliveries.notify_reviewed_runs()
        assert WebhookDelivery.objects.count() == 1
        decide(fresh(record), ana)
        deliveries.notify_reviewed_runs()
        assert WebhookDelivery.objects.count() == 2

    def test_notifications_are_recorded_completely_or_not_at_all(
        self, made: deliveries.NewWebhook, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        with monkeypatch.context() as broken:
            broken.setattr(progress, "run_progress", broken_off)
            with pytest.raises(ZeroDivisionError):
                deliveries.notify_reviewed_runs()
        assert QueueFilled.objects.count() == 1
        assert deliveries.notify_reviewed_runs() == 1


class TestRecipients:
    def test_webhooks_of_the_run_and_of_all_runs_are_notified(
        self, made: deliveries.NewWebhook, ana: User, max: User
    ) -> None:
        one, other = (EvaluationFactory.create() for _ in range(2))
        for record in (one, other):
            deliveries.add_webhook(url=made.webhook.url, run=record.run, actor=max)
        decide(one, ana)
        deliveries.notify_reviewed_runs()
        sent = WebhookDelivery.objects.order_by("pk")
        assert {delivery.webhook.run for delivery in sent} == {None, one.run}
        assert len({delivery.message_id for delivery in sent}) == 2

    def test_removed_and_later_webhooks_are_not_notified(
        self, made: deliveries.NewWebhook, ana: User, max: User
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        deliveries.remove_webhook(webhook=made.webhook, actor=max)
        assert deliveries.notify_reviewed_runs() == 0
        deliveries.add_webhook(url=made.webhook.url, run=None, actor=max)
        assert deliveries.notify_reviewed_runs() == 0

    def test_webhooks_that_are_off_are_never_notified(
        self, made: deliveries.NewWebhook, ana: User, settings: LazySettings
    ) -> None:
        decide(EvaluationFactory.create(), ana)
        hosts, settings.WEBHOOK_HOSTS = settings.WEBHOOK_HOSTS, []
        assert deliveries.notify_reviewed_runs() == 0
        settings.WEBHOOK_HOSTS = hosts
        assert deliveries.notify_reviewed_runs() == 0

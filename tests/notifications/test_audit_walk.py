"""Notifications from the audit log: who is notified of what, once."""

import datetime as dt
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.utils import timezone
from pytest_django import Settings

from reviews import days
from reviews.audit import events
from reviews.dashboard import bulk_changes
from reviews.dashboard.splitting import Share, Split
from reviews.exports import downloads
from reviews.exports import jobs as export_jobs
from reviews.exports.output import ExportOptions
from reviews.models import (
    AuditEvent,
    Escalation,
    Evaluation,
    Notification,
    Run,
    User,
    Webhook,
    WebhookDelivery,
)
from reviews.notifications import audit_walk, event_types
from reviews.notifications.audit_walk import notify_of_next_events
from reviews.notifications.event_types import EVENTS, WEBHOOK_EVENTS, When
from reviews.queue import due_dates
from reviews.queue.members import configure_members
from reviews.review import decisions, escalations
from reviews.sampling import planned_shares
from reviews.search.filters import Filters
from reviews.webhooks import deliveries
from tests.runs.test_deletion import seal
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_data
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mailboxes(settings: Settings, ana: User, bo: User, lea: User, max: User) -> None:
    """A site that sends mail, and an address for everybody."""
    settings.SENDS_MAIL = True
    for person in (ana, bo, lea, max):
        person.email = f"{person.username}@example.org"
        person.save()


def notified(event: str = "") -> list[tuple[str, str]]:
    """Notify of all events so far. Return who is notified of what."""
    seal()
    while notify_of_next_events():
        pass
    rows = Notification.objects.select_related("person").order_by("pk")
    return [(row.person.username, row.text) for row in rows if event in {"", row.event}]


def asked(run: Run, reviewer: User) -> Escalation:
    record = EvaluationFactory.create(run=run, task_id="7", model_id="o1")
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=reviewer, kind="question", reason="question", note="Is 54\nright?"
    )


def test_question_notifies_leads_and_the_answer_its_reviewer(run: Run, ana: User, lea: User) -> None:
    raised = asked(run, ana)
    title = raised.evaluation.title
    sentence = f"ana has a question about {title} in Algebra: “Is 54 right?”"
    assert notified() == [("lea", sentence), ("max", sentence)]
    escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="It is.")
    assert notified("escalation.answered") == [("ana", f"lea answered your question about {title}: “It is.”")]


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["closed", "decided"])
def test_question_settled_otherwise_notifies_its_reviewer_once(
    outcome: str, run: Run, ana: User, lea: User
) -> None:
    raised = asked(run, ana)
    if outcome == "closed":
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="Broken.")
    else:
        decide(Evaluation.objects.get(), lea)
    assert [name for name, _ in notified("escalation.answered")] == ["ana"]


def test_events_are_notified_once(run: Run, ana: User) -> None:
    asked(run, ana)
    assert len(notified()) == 2
    assert len(notified()) == 2


def test_disagreement_notifies_leads(run: Run, ana: User, bo: User) -> None:
    record = EvaluationFactory.create(run=run)
    Run.objects.update(overlap_share=1, overlap=2)
    decide(Evaluation.objects.get(), ana)
    no = {"Clarity": {"score": "No", "justification": ""}}
    decide(Evaluation.objects.get(), bo, scores=SCORES | no)
    assert notified() == [
        (lead, f"Reviewers disagree on {record.title} in Algebra.") for lead in ("lea", "max")
    ]


def test_assigned_records_notify_their_reviewer(run: Run, ana: User, lea: User) -> None:
    EvaluationFactory.create_batch(2, run=run)
    order = bulk_changes.BulkOrder(run, Filters(()), bulk_changes.Kind.ASSIGN, assigned_to=ana)
    bulk_changes.apply(order=order, actor=lea)
    assert notified() == [("ana", "lea assigned 2 records of Algebra to you.")]


def test_split_notifies_each_person_of_their_part(run: Run, ana: User, bo: User, lea: User) -> None:
    EvaluationFactory.create_batch(3, run=run)
    split = Split((Share(ana, 2), Share(bo, 1)), keeps_tasks=False)
    bulk_changes.apply(
        order=bulk_changes.BulkOrder(run, Filters(()), bulk_changes.Kind.SPLIT, split=split), actor=lea
    )
    assert sorted(notified()) == [
        ("ana", "lea assigned 2 records of Algebra to you."),
        ("bo", "lea assigned 1 record of Algebra to you."),
    ]


def test_records_due_tomorrow_notify_their_reviewer(run: Run, ana: User) -> None:
    tomorrow = days.today() + dt.timedelta(days=1)
    EvaluationFactory.create_batch(2, run=run, assigned_to=ana, due_on=tomorrow)
    due_dates.announce_due_records()
    assert notified() == [("ana", f"2 records of Algebra assigned to you are due on {tomorrow}.")]


def test_failed_jobs_notify_their_owner_and_admins(run: Run, lea: User) -> None:
    export = export_jobs.enqueue(options=ExportOptions(run), actor=lea)
    export_jobs.fail(export_id=export.pk, error="The disk is full.")
    sentence = "An export of Algebra failed: “The disk is full.”"
    assert notified() == [("lea", sentence), ("max", sentence)]


def test_import_notifies_of_conflicts_and_of_an_inferred_rubric(run: Run, lea: User) -> None:
    Run.objects.update(rubric=rubric_data("Clarity"))
    for number in (1, 2):
        source = ImportFactory.create(run=run, created_by=lea, sequence=number)
        events.record("import", actor=lea, run=run, source=source, counts={"conflicts": number - 1})
    assert notified("rubric.inferred") == [
        ("max", "The rubric of Algebra was inferred from its file. Confirm it or change it.")
    ]
    assert notified("conflicts.found") == [("max", "A file imported into Algebra conflicts with 1 decision.")]


def test_reviewed_plan_notifies_leads(run: Run) -> None:
    Run.objects.update(review_plan={"target": 0.05, "aim": "run", "filters": {}, "is_drawn": True})
    assert [planned_shares.report_finished_plans() for _ in range(2)] == [1, 0]
    sentence = "The planned records of Algebra are reviewed. Plan the next ones, or end the plan."
    assert notified("plan.reviewed") == [("lea", sentence), ("max", sentence)]


def test_reviewed_run_notifies_leads(run: Run, ana: User) -> None:
    record = EvaluationFactory.create(run=run)
    decide(record, ana)
    assert deliveries.notify_reviewed_runs() == 0
    assert notified() == [(lead, "Algebra is reviewed: nothing is left.") for lead in ("lea", "max")]


def test_person_without_access_is_not_notified(run: Run, ana: User) -> None:
    configure_members(run_id=run.pk, actor=None, members=["ana"])
    asked(run, ana)
    assert [name for name, _ in notified()] == ["max"]


def test_events_of_a_deleted_run_are_left_out(run: Run, ana: User) -> None:
    asked(run, ana)
    Run.objects.update(deletion_requested_at=timezone.now())
    assert notified() == []


def test_choices_decide_who_is_mailed_when(run: Run, ana: User, lea: User, max: User) -> None:
    event_types.choose(person=lea, choices={"escalation.opened": When.OFF})
    event_types.choose(person=max, choices={"escalation.opened": When.DAILY})
    asked(run, ana)
    assert [name for name, _ in notified()] == ["max"]
    due = Notification.objects.get().due_at
    assert due > timezone.now()
    assert due.hour == event_types.DIGEST_HOUR


def test_without_mail_and_webhooks_events_are_passed_over(
    run: Run, ana: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker would import all pages for the links to them."""
    composed: list[AuditEvent] = []
    with monkeypatch.context() as patch:
        patch.setattr(audit_walk, "_notify", composed.append)
        asked(run, ana)
        notified()
        assert [event.action for event in composed] == ["escalate"]
        settings.SENDS_MAIL = False
        asked(run, ana)
        notified()
        assert len(composed) == 1
    settings.SENDS_MAIL = True
    assert notified() == []


def test_person_without_an_address_has_no_notifications(run: Run, ana: User) -> None:
    User.objects.filter(username="lea").update(email="")
    asked(run, ana)
    assert [name for name, _ in notified()] == ["max"]


def test_webhooks_get_the_events_that_they_chose(run: Run, ana: User, max: User, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    for address, its_run, chosen in (
        ("every", None, ["escalation.opened"]),
        ("this", run, [*WEBHOOK_EVENTS]),
        ("other-run", RunFactory.create(), [*WEBHOOK_EVENTS]),
        ("other-event", None, ["run.reviewed"]),
    ):
        deliveries.add_webhook(
            url=f"https://hooks.example.org/{address}", run=its_run, actor=max, events=chosen
        )
    raised = asked(run, ana)
    notified()
    sent = WebhookDelivery.objects.select_related("webhook").order_by("webhook")
    assert [one.webhook.url.rpartition("/")[2] for one in sent] == ["every", "this"]
    message = orjson.loads(sent[0].body)
    assert message["type"] == "escalation.opened"
    assert message["data"]["record"] == raised.evaluation.evaluation_id
    assert message["data"]["run"] == "Algebra"
    assert Webhook.objects.count() == 4


class TestEventsOfWebhooks:
    """Events of which programs are notified, and people are not."""

    @pytest.fixture(autouse=True)
    def _webhook(self, run: Run, max: User, settings: Settings) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org"]
        url = "https://hooks.example.org/"
        deliveries.add_webhook(url=url, run=run, actor=max, events=[*WEBHOOK_EVENTS])

    def messages(self) -> list[tuple[str, dict[str, Any]]]:
        """Notify of all events so far. Return the messages without text and path."""
        notified()
        assert not Notification.objects.filter(event__in=WEBHOOK_EVENTS.keys() - EVENTS.keys()).exists()
        bodies = [orjson.loads(one.body) for one in WebhookDelivery.objects.order_by("pk")]
        hidden = ("text", "path")
        return [
            (body["type"], {name: value for name, value in body["data"].items() if name not in hidden})
            for body in bodies
        ]

    def test_every_new_current_decision_is_reported(self, run: Run, ana: User, bo: User, lea: User) -> None:
        record = EvaluationFactory.create(run=run)
        decide(record, ana)
        record.refresh_from_db()
        decide(record, lea, by=decisions.revise)
        decisions.restore(
            evaluation_id=record.pk,
            actor=lea,
            version=Evaluation.objects.get(pk=record.pk).version,
            submission=uuid4(),
            restored=1,
            reason="A typo.",
        )
        decided = {"run": "Algebra", "record": record.evaluation_id}
        assert self.messages() == [
            ("record.decided", decided | {"version": version, "decided_by": name})
            for version, name in ((1, "ana"), (2, "lea"), (3, "lea"))
        ]

    @pytest.mark.slow
    def test_open_independent_review_is_not_reported(self, run: Run, ana: User, bo: User) -> None:
        Run.objects.update(overlap_share=1, overlap=2)
        record = EvaluationFactory.create(run=run)
        decide(record, ana)
        assert self.messages() == []
        decide(Evaluation.objects.get(pk=record.pk), bo)
        data = {"run": "Algebra", "record": record.evaluation_id, "version": 2, "decided_by": "bo"}
        assert self.messages() == [("record.decided", data)]

    def test_finished_import_is_reported_with_its_counts(self, run: Run) -> None:
        source = import_data(file_of(line("a"), b"no record"), run=run.name)
        data = {
            "run": "Algebra",
            "import_id": source.pk,
            "file_name": "Algebra.jsonl",
            "counts": source.counts,
        }
        assert self.messages()[0] == ("import.finished", data)
        assert source.counts["rejected"] == 1

    @pytest.mark.slow
    def test_ready_export_is_reported_and_a_streamed_one_is_not(self, run: Run, lea: User) -> None:
        import_data(file_of(line("a")), run=run.name)
        list(downloads.stream_export(options=ExportOptions(run), actor=lea))
        export = export_jobs.enqueue(options=ExportOptions(run), actor=lea)
        export_jobs.build(export_id=export.pk, check_in=lambda: None)
        export.refresh_from_db()
        data = {"run": "Algebra", "export_id": export.pk, "sha256": export.sha256}
        found = [one for one in self.messages() if one[0].startswith("export")]
        assert found == [("export.ready", data)]

"""Items of the inbox: their order, and the people for whom each one waits."""

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.database.statements import execute
from reviews.inbox import jobs
from reviews.inbox.items import Inbox, count_up_to
from reviews.inbox.place import Place
from reviews.models import (
    AuditEvent,
    Escalation,
    Evaluation,
    Export,
    Import,
    Notification,
    Run,
    User,
    Webhook,
)
from reviews.queue.members import configure_members
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, ExportFactory, ImportFactory, RunFactory, UserFactory
from tests.support.plans import rows_read_by
from tests.support.rubrics import rubric_data
from tests.support.work import SCORES, agree, decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", overlap_share=0, rubric=rubric_data("Clarity"))


@pytest.fixture
def everything(run: Run, ana: User, bo: User, lea: User, max: User) -> Run:
    """A run with an item of each kind."""
    asked = EvaluationFactory.create(run=run)
    escalations.escalate(
        evaluation_id=asked.pk, reviewer=ana, kind="question", reason="question", note="Why?"
    )
    disputed = EvaluationFactory.create(run=run)
    Run.objects.update(overlap_share=1, overlap=2)
    no = {"Clarity": {"score": "No", "justification": ""}}
    decide(Evaluation.objects.get(pk=disputed.pk), ana)
    decide(Evaluation.objects.get(pk=disputed.pk), bo, scores=SCORES | no)
    Run.objects.update(overlap_share=0)
    checked = EvaluationFactory.create(run=run)
    agree(Evaluation.objects.get(pk=checked.pk), ana)
    spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=max)
    ImportFactory.create(run=run, state=Import.State.FAILED, error="It broke.")
    ExportFactory.create(run=run, created_by=lea, state=Export.State.FAILED, error="It broke.")
    in_conflict(run)
    Run.objects.filter(pk=run.pk).update(
        review_plan={"target": 0.05, "aim": "run", "filters": {}, "is_drawn": True}
    )
    Notification.objects.create(
        person=ana, event="run.reviewed", due_at=timezone.now(), state="failed", error="Refused."
    )
    webhook = Webhook.objects.create(url="https://example.org/hook", created_by=max)
    for number, dismissed_at in enumerate([None, None, timezone.now()]):
        webhook.deliveries.create(
            message_id=f"msg_{number}", event="test", body="", state="given up", dismissed_at=dismissed_at
        )
    return run


def in_conflict(run: Run) -> None:
    record = EvaluationFactory.create(run=run, human_review_status="Reviewed")
    record.conflicts.create(run=run, source=record.first_import, line=1, content_hash=b"", human={})


def kinds(inbox: Inbox) -> list[str]:
    return [group.kind.name for group in inbox.groups() for _ in group.items]


ALL = [
    "question",
    "disagreement",
    "conflict",
    "check",
    "import",
    "export",
    "mail",
    "webhook",
    "plan",
    "rubric",
]


@pytest.mark.slow
def test_admin_sees_items_of_every_kind(everything: Run, max: User) -> None:
    inbox = Inbox(max)
    assert kinds(inbox) == ALL
    assert inbox.total == len(ALL)
    points = {group.kind.name: group.items[0].point for group in inbox.groups()}
    assert points["question"] == "Why?"
    assert points["disagreement"] == "ana Yes, bo No on Clarity"
    assert (points["import"], points["mail"], points["plan"]) == ("It broke.", "Refused.", "±5 points")


def test_failed_messages_of_a_webhook_are_one_item(everything: Run, max: User) -> None:
    webhook = Webhook.objects.get()
    found = Inbox(max).find(Place("webhook", webhook.pk))
    assert found is not None
    assert (found.row, found.count) == (webhook, 2)
    jobs.retry(item=found, actor=max)
    assert Inbox(max).find(found.place) is None
    assert webhook.deliveries.filter(state="waiting").count() == 2
    webhook.deliveries.filter(state="waiting").update(state="given up")
    jobs.dismiss(item=found, actor=max)
    assert Inbox(max).find(found.place) is None
    event = AuditEvent.objects.get(action="dismiss failure")
    assert (event.actor, event.detail) == (max, {"webhook": webhook.pk, "messages": 2})


def test_lead_sees_neither_imports_nor_mail_nor_checks_of_others(everything: Run, lea: User) -> None:
    assert kinds(Inbox(lea)) == ["question", "disagreement", "conflict", "export", "plan", "rubric"]


def test_items_of_hidden_and_archived_runs_are_left_out(everything: Run, lea: User, max: User) -> None:
    configure_members(run_id=everything.pk, actor=None, members=["ana"])
    assert kinds(Inbox(lea)) == []
    Run.objects.update(archived_at=timezone.now())
    assert kinds(Inbox(max)) == ["mail", "webhook"]


def test_each_lead_has_the_numbers_of_their_own_runs(everything: Run, run: Run, lea: User) -> None:
    other, apart = UserFactory.create(role="lead"), RunFactory.create(is_restricted=True)
    in_conflict(apart)
    apart.members.add(other)
    for person, conflicts in ((lea, 1), (other, 2), (lea, 1)):
        assert Inbox(person).counts["conflict"] == conflicts
        assert Inbox(person, run).counts["conflict"] == 1
        assert Inbox(person, apart).counts["conflict"] == conflicts - 1


def test_items_are_filtered_by_run(everything: Run, max: User) -> None:
    other = RunFactory.create()
    in_conflict(other)
    assert kinds(Inbox(max, other)) == ["conflict"]
    assert "mail" not in kinds(Inbox(max, everything))


@pytest.mark.slow
def test_next_items_go_through_the_inbox_and_begin_again(everything: Run, max: User) -> None:
    inbox, place, seen = Inbox(max), None, []
    for _ in ALL:
        found = inbox.next_item(place)
        assert found is not None
        place = found.place
        seen.append(place.kind)
    assert seen == ALL
    again = inbox.next_item(place)
    assert again is not None
    assert again.place.kind == "question"


def test_settled_item_leads_to_the_one_after_it(run: Run, ana: User, lea: User) -> None:
    asked = [
        escalations.escalate(
            evaluation_id=EvaluationFactory.create(run=run).pk,
            reviewer=ana,
            kind="question",
            reason="",
            note=str(number),
        )
        for number in range(3)
    ]
    escalations.resolve(escalation_id=asked[1].pk, actor=lea, outcome="returned", answer="Yes.")
    found = Inbox(lea).next_item(Place("question", asked[1].pk))
    assert found is not None
    assert found.point == "2"


def test_conflicts_are_one_item_per_run_with_their_number(run: Run, lea: User) -> None:
    first = RunFactory.create()
    in_conflict(first)
    for _ in range(2):
        in_conflict(run)
    found = [item for group in Inbox(lea).groups() if group.kind.name == "conflict" for item in group.items]
    assert [(item.row, item.count) for item in found] == [(first, 1), (run, 2)]


def test_counting_takes_one_query(everything: Run, max: User, django_assert_num_queries: Any) -> None:
    assert max.has_perm("reviews.see_every_run")  # loads the permissions
    with django_assert_num_queries(1):
        assert Inbox(max).total == len(ALL)
    with django_assert_num_queries(1):
        assert count_up_to(1, max).number == len(ALL)


@pytest.mark.slow
def test_bounded_count_reads_no_further_rows(run: Run, ana: User, lea: User) -> None:
    records = EvaluationFactory.create_batch(40, run=run)
    Escalation.objects.bulk_create(
        Escalation(evaluation=record, run=run, kind=kind, raised_by=ana)
        for record, kind in zip(records, ["question", "disagreement"] * 20, strict=True)
    )
    execute("ANALYZE run, escalation")  # the plan does not depend on what other tests left
    assert count_up_to(40, lea).number == Inbox(lea).total == 41  # with the rubric
    assert count_up_to(5, lea).number == 11
    assert rows_read_by(lambda: count_up_to(5, lea))["escalation"] <= 20


@pytest.mark.parametrize("text", ["question-17", "conflict-1-2"])
def test_place_is_read_as_written(text: str) -> None:
    assert str(Place.parse(text)) == text


@pytest.mark.slow
def test_count_reads_few_rows_among_thousands_of_runs_and_jobs(everything: Run, lea: User, max: User) -> None:
    totals = [Inbox(person).total for person in (lea, max)]
    runs = Run.objects.bulk_create(
        Run(name=f"Run {number}", is_rubric_declared=True, rubric=rubric_data("Clarity"))
        for number in range(400)
    )
    Import.objects.bulk_create(Import(run=run, file_name="a.jsonl", state="done") for run in runs)
    Export.objects.bulk_create(
        Export(run=run, only="all", with_rejected=True, format="jsonl", created_by=lea, state="done")
        for run in runs
    )
    execute("ANALYZE run, import, export")
    for person, total in zip((lea, max), totals, strict=True):
        assert Inbox(person).total == total
        read = rows_read_by(partial(getattr, Inbox(person), "total"))
        assert {"run", "export"} <= read.keys()
        assert read.most_common(1)[0][1] < 100

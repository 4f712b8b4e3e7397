"""Runs with rows in every table, and their deletion."""

from uuid import uuid4

from django.utils import timezone

from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.exports import jobs as export_jobs
from reviews.exports.output import ExportOptions
from reviews.imports import jobs, uploads
from reviews.models import (
    Evaluation,
    Export,
    ExportPart,
    KnownAnswerCheck,
    Notification,
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
from reviews.rubric.run_settings import fingerprint
from reviews.runs.changes import delete_next_part, request_deletion
from reviews.search import saved_views
from reviews.search.filters import Filters
from reviews.webhooks import signing_secrets
from tests.support.contexts import bring, task
from tests.support.lines import file_of, import_data, line
from tests.support.work import agree, decide

LINES = [line(f"e-{number}", task_id=str(number)) for number in range(12)]


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


class Running:
    def should_abort(self) -> bool:
        return False

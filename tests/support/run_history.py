"""A history of a run, and the places where the numbers of its records must agree."""

import datetime as dt
import io
import json
from collections.abc import Callable
from contextlib import suppress

from django.core.management import call_command
from django.db import transaction
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from cognireview.types.runs import SamplingSettings
from reviews import metrics
from reviews.accounts.permissions import Denied
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, Kind
from reviews.judge import planning, review_plan
from reviews.judge.sampling_settings import configure
from reviews.models import (
    BulkChange,
    Escalation,
    Evaluation,
    RecordDay,
    Review,
    Run,
    User,
    WebhookDelivery,
)
from reviews.models.evaluations import CLAIMED_IN_QUEUE, DONE, ESCALATED, NOT_FLAGGED, WAITING
from reviews.queue import claims
from reviews.queue.progress import Progress, run_progress
from reviews.records.conflicts import Conflict
from reviews.review import (
    blind_scoring,
    decisions,
    escalations,
    independent_reviews,
    known_answer_rows,
    known_answers,
    undo,
)
from reviews.rubric.run_settings import InvalidSettings, current_settings, fingerprint
from reviews.runs.changes import archive_run, unarchive_run
from reviews.sampling.planned_shares import DEFERRED, NORMAL
from reviews.search.filters import Filters
from reviews.webhooks import deliveries
from tests.support.api_requests import program_of
from tests.support.lines import file_of, import_data, line
from tests.support.sampled_runs import set_share, unflagged
from tests.support.work import SCORES, agree, decide, lock_in_scores

RUN = "evaluations"

REFUSALS = (Conflict, Denied, InvalidSettings, bulk_changes.UndoRefused, undo.UndoRefused)


class History:
    """A run, and the steps that change it. A step that is not possible is refused and changes nothing."""

    def __init__(self, people: list[User]) -> None:
        self.people = people
        self.lead = people[-1]
        lines = [line(f"f{number}", task_id=str(number)) for number in range(5)]
        lines += [unflagged(f"u{number}", task_id=str(number)) for number in range(5)]
        lines.append(line("done", human_review_status="Completed", human_reviewer_id="x"))
        import_data(file_of(*lines), run=RUN)
        self.imported = 0

    @property
    def run(self) -> Run:
        return Run.objects.get(name=RUN)

    def record(self, number: int) -> Evaluation:
        """Return one of the records, as loaded by a page."""
        rows = Evaluation.objects.select_related("run", "review").filter(run__name=RUN).order_by("pk")
        return rows[number % rows.count()]

    def step(self, name: str, who: int, number: int) -> None:
        person = self.people[who % len(self.people)]
        action: Callable[[User, int], object] = getattr(self, f"do_{name}")
        with suppress(*REFUSALS), transaction.atomic():
            action(person, number)

    # The steps. They take a person and a number that selects a record or a variant.

    def do_claim(self, person: User, number: int) -> None:
        claims.claim(evaluation_id=self.record(number).pk, reviewer=person)

    def do_claim_next(self, person: User, number: int) -> None:
        found = claims.claim_next(run=self.run, reviewer=person)
        if found:
            claims.prefetch_next(run=self.run, reviewer=person, after=[found.pk])

    def do_expire(self, person: User, number: int) -> None:
        # Earlier than the start of the test's transaction, which `now()` returns.
        expired = timezone.now() - dt.timedelta(hours=1)
        Evaluation.objects.filter(pk=self.record(number).pk).update(claimed_until=expired)

    def do_release(self, person: User, number: int) -> None:
        claims.release(evaluation_id=self.record(number).pk, actor=person)

    def do_skip(self, person: User, number: int) -> None:
        claims.skip(evaluation_id=self.record(number).pk, reviewer=person)

    def do_submit(self, person: User, number: int) -> None:
        record = self.record(number)
        claims.claim(evaluation_id=record.pk, reviewer=person)
        # A served plan makes records blind.
        if blind_scoring.is_hidden(record, person):
            lock_in_scores(record, person, dict.fromkeys(SCORES, "Yes"))
        (agree if number % 2 else decide)(self.record(number), person)

    def do_review_independently(self, person: User, number: int) -> None:
        decide(self.record(number), person, by=independent_reviews.add)

    def do_revise(self, person: User, number: int) -> None:
        (agree if number % 2 else decide)(self.record(number), person, by=decisions.revise)

    def do_undo(self, person: User, number: int) -> None:
        if undo.last_action(run=self.run, actor=person):
            undo.undo(run=self.run, actor=person)

    def do_reopen(self, person: User, number: int) -> None:
        decisions.reopen(evaluation_id=self.record(number).pk, actor=self.lead, reason="Look again.")

    def do_escalate(self, person: User, number: int) -> None:
        record = self.record(number)
        claims.claim(evaluation_id=record.pk, reviewer=person)
        escalations.escalate(
            evaluation_id=record.pk, reviewer=person, kind="question", reason="question", note="Why?"
        )

    def do_answer(self, person: User, number: int) -> None:
        found = Escalation.objects.filter(outcome=Escalation.Outcome.OPEN).order_by("pk").first()
        if found:
            outcome = ("returned", "closed")[number % 2]
            escalations.resolve(escalation_id=found.pk, actor=self.lead, outcome=outcome, answer="So.")

    def do_adjudicate(self, person: User, number: int) -> None:
        independent_reviews.take_over(evaluation_id=self.record(number).pk, actor=self.lead)

    def do_sample(self, person: User, number: int) -> None:
        set_share(self.run, (0, 0.3, 1)[number % 3])

    def do_overlap(self, person: User, number: int) -> None:
        run = self.run
        seen = current_settings(SamplingSettings, run)
        wanted = SamplingSettings(0, seen.sample_share, (0, 1)[number % 2], 2, None, 0)
        configure(run_id=run.pk, actor=self.lead, settings=wanted, seen=fingerprint(seen))

    def do_serve_plan(self, person: User, number: int) -> None:
        target = (0.02, 0.2, 0.4)[number % 3]
        review_plan.serve_plan(run_id=self.run.pk, actor=self.lead, target=target, aim="run")

    def do_stop_plan(self, person: User, number: int) -> None:
        review_plan.stop_plan(run_id=self.run.pk, actor=self.lead)

    def do_start_check(self, person: User, number: int) -> None:
        known_answers.start(run_id=self.run.pk, actor=self.lead, count=number + 1)

    def do_end_check(self, person: User, number: int) -> None:
        running = known_answer_rows.running_check(self.run)
        if running:
            known_answers.end(check_id=running.pk, actor=self.lead)

    def do_change_all(self, person: User, number: int) -> None:
        kind = (Kind.ASSIGN, Kind.PRIORITISE, Kind.RELEASE)[number % 3]
        assigned_to = person if kind == Kind.ASSIGN else None
        bulk_changes.apply(order=BulkOrder(self.run, Filters(), kind, assigned_to), actor=self.lead)

    def do_undo_change(self, person: User, number: int) -> None:
        last = BulkChange.objects.order_by("-pk").first()
        if last:
            bulk_changes.undo(change_id=last.pk, actor=self.lead)

    def do_import(self, person: User, number: int) -> None:
        self.imported += 1
        text = f"Another verification {self.imported}"
        changed = line(f"f{number % 5}", task_id=str(number % 5), verification_message=text)
        added = (line, unflagged)[number % 2](f"new {self.imported}")
        decided = line("u1", task_id="1", human_review_status="Completed", human_reviewer_id="x")
        import_data(file_of(changed, added, *([decided] if number % 3 == 0 else [])), run=RUN)

    def do_archive(self, person: User, number: int) -> None:
        archive_run(run_id=self.run.pk, actor=self.lead)
        unarchive_run(run_id=self.run.pk, actor=self.lead)

    def finish(self) -> None:
        """Empty the queue: claims expire, and the lead closes every record without scores."""
        expired = timezone.now() - dt.timedelta(hours=1)
        self.run.evaluations.filter(claimed_until__gt=expired).update(claimed_until=expired)
        for key in self.run.evaluations.in_queue().values_list("pk", flat=True):
            decisions.close(evaluation_id=key, actor=self.lead, comments="Nobody can judge this.")


STEPS = [name.removeprefix("do_") for name in dir(History) if name.startswith("do_")]


def check_sums(run: Run) -> Progress:
    """Compare the counts with the records, row by row."""
    progress = run_progress(run)
    rows = run.evaluations
    assert progress == Progress(
        total=rows.count(),
        waiting=rows.filter(WAITING).count(),
        claimed=rows.filter(CLAIMED_IN_QUEUE).count(),
        escalated=rows.filter(ESCALATED).count(),
        done=rows.filter(DONE).count(),
        not_required=rows.filter(NOT_FLAGGED).count(),
        sampled=rows.filter(is_sampled=True).count(),
    )
    assert progress.total == (
        progress.waiting + progress.claimed + progress.escalated + progress.done + progress.not_required
    )
    # Each record by its own properties, which the pages of single records use.
    decided = sum(record.is_decided for record in rows.select_related("run"))
    assert (decided, sum(record.in_queue for record in rows.all())) == (progress.done, progress.left)
    asked = Escalation.objects.filter(evaluation__run=run, outcome=Escalation.Outcome.OPEN)
    assert asked.filter(evaluation__human_review_status__in=("Needs Review", "Pending")).count() == (
        progress.escalated
    )
    check_plan(run)
    return progress


def check_plan(run: Run) -> None:
    """Compare the answer whether a served plan is finished with the records of the plan."""
    run.refresh_from_db()
    served = planning.served_plan(run)
    if served:
        planned = run.evaluations.in_queue().filter(is_escalated=False, priority__gte=NORMAL)
        assert served["is_finished"] == (not planned.exists())
        # Deferred records are flagged ones of this plan.
        deferred = run.evaluations.filter(priority=DEFERRED)
        assert not deferred.filter(needs_human_review=False).exists()
    else:
        assert not run.evaluations.in_queue().filter(priority=DEFERRED).exists()


def check_places(run: Run, progress: Progress, lead: User) -> None:
    """Compare the counts with those of each page, the API and the metrics."""
    states = {state: getattr(progress, state) for state in ("waiting", "claimed", "escalated", "done")}
    client = Client()
    client.force_login(lead)
    [row] = client.get(reverse("runs")).context["rows"]
    at_home = row.progress
    page = client.get(reverse("run", args=[run.pk])).context
    tabs = {tab.title.lower(): tab.size for tab in page["tabs"] if tab.size is not None}
    assert (at_home, page["progress"]) == (progress, progress)
    assert {state: tabs[state] for state in states} == states
    for state, number in (states | {"not-required": progress.not_required}).items():
        listed = client.get(reverse("run", args=[run.pk]), {"status": state}).context
        assert listed["page"].total == number, state
        assert listed["rows"].count("<tr ") == number, state
    api = program_of(lead).get(f"runs/{RUN}").json()
    assert {name: api[name] for name in Progress._fields} == progress._asdict()
    samples = [
        sample
        for metric in metrics.DatabaseCollector().collect()
        for sample in metric.samples
        if sample.name == "cognireview_records"
    ]
    measured = {sample.labels["state"]: sample.value for sample in samples if sample.labels["run"] == RUN}
    assert measured == states | {"not_required": progress.not_required}
    assert sum(measured.values()) == progress.total
    output = io.StringIO()
    call_command("list_runs", "--json", stdout=output)
    [row] = json.loads(output.getvalue())
    assert {name: row[name] for name in Progress._fields} == progress._asdict()
    check_dashboard(client, run, progress)


def check_dashboard(client: Client, run: Run, progress: Progress) -> None:
    """Compare the figures and tables of the dashboard with the counts, and with the decisions one by one."""
    page = client.get(reverse("dashboard"), {"run": str(run.pk), "days": "all"}).context
    figures = {figure.name: figure.cell for figure in page["figures"]}
    made = Review.objects.by_reviewers().filter(run=run, withdrawal=None)
    assert (figures["left"].value, figures["done_today"].value) == (progress.left, made.count())
    assert figures["left"].note == f"of {progress.to_review:,} records to review"
    [[_, *cells]] = page["runs"].table.rows
    states = [column.name for column in page["runs"].table.columns][1:]
    shown = {state: cell.value for state, cell in zip(states, cells, strict=True)}
    for state in ("waiting", "claimed", "escalated", "done", "not_required", "total"):
        assert shown[state] == getattr(progress, state), state
    reviewers = {one.reviewer: one.done for one in page["scope"].team.reviewers if one.done}
    assert sum(reviewers.values()) == made.count()
    for person, done in reviewers.items():
        assert made.filter(reviewer=person).count() == done
    decided = run.evaluations.filter(review__origin="reviewer").count()
    assert (RecordDay.objects.filter(run=run).aggregate(Sum("records"))["records__sum"] or 0) == decided


def check_webhook(history: History) -> None:
    """Compare the counts of the message about a reviewed run with those of the run."""
    history.finish()
    progress = check_sums(history.run)
    assert progress.left == 0
    assert deliveries.notify_reviewed_runs() == 1
    body = json.loads(WebhookDelivery.objects.get(event=deliveries.REVIEWED).body)
    assert body["data"]["counts"] == progress._asdict()

"""Methods of the client for assigned records, checks, conflicts and drafts, against the site."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from cognireview.client import Client, Conflict
from cognireview.types.leading import BulkChange, Share
from cognireview.types.records import DraftEntry
from reviews.models import Export, Run, User
from tests.support.factories import ExportFactory
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def decide(client: Client, record: str, score: str = "No") -> None:
    run = client.run("nightly")
    run.claim_record(record)
    run.decide(record, {"Clarity": score})


def test_records_are_assigned_split_and_restored(of_max: Client, ana: User) -> None:
    bulk = of_max.run("nightly").bulk
    change = BulkChange(kind="assign", assigned_to="ana", filters={"model": ["openai/o4-mini"]})
    assert bulk.preview(change).evaluations == 2
    applied = bulk.apply(change)
    assert (applied.evaluations, applied.assigned_to) == (2, "ana")
    due = BulkChange(kind="due", due_on=dt.date(2030, 1, 31), evaluation_ids=["a"])
    assert bulk.apply(due).due_on == dt.date(2030, 1, 31)
    assert [one.kind for one in bulk.all()] == ["due", "assign"]
    assert bulk.undo(applied.id).restored == 2
    release = BulkChange(kind="release", filters={"claimed_by": "ana"})
    assert bulk.preview(release).evaluations == 0
    split = BulkChange(kind="split", shares=[Share("ana", 1)], keeps_tasks=False)
    assert bulk.preview(split).given == {"ana": 1}


def test_inbox_lists_and_dismisses_a_failed_job(of_max: Client, of_ana: Client, max: User) -> None:
    of_ana.run("nightly").escalate("a", kind="question", note="Is it 2?")
    failed = ExportFactory.create(state="failed", error="It broke.", created_by=max)
    overview = of_max.inbox.overview(run="nightly")
    assert (overview.counts["question"], overview.items[0].point) == (1, "Is it 2?")
    [item] = of_max.inbox.all("export")
    assert (item.id, item.can_retry) == (failed.pk, True)
    of_max.inbox.retry(item.place)
    Export.objects.update(state="failed")
    of_max.inbox.dismiss(item.place)
    assert [*of_max.inbox.all("export")] == []
    [question] = of_max.escalations.all(run="nightly")
    of_max.escalations.resolve(question.id, "returned", answer="Yes.")
    of_ana.escalations.mark_read(question.id)
    assert next(of_ana.escalations.own()).answer_read_at is not None


def test_spot_checks_are_drawn_and_completed(of_max: Client, of_ana: Client) -> None:
    decide(of_ana, "a")
    decide(of_ana, "b")
    first, second = of_max.spot_checks.draw("ana", 2, run="nightly", first=dt.date(2020, 1, 1))
    assert [one.id for one in of_max.spot_checks.all()] == [first.id, second.id]
    assert of_max.spot_checks.agree(first.id, note="Well done.").outcome == "agreed"
    corrected = of_max.spot_checks.correct(second.id, {"Clarity": "Yes"}, reason="It is.", comments="Clear.")
    assert corrected.outcome == "corrected"
    assert of_max.run("nightly").decisions(second.evaluation_id)[0].comments == "Clear."
    assert of_max.spot_checks.get(first.id).note == "Well done."
    import_data(file_of(line("c")), run="nightly")
    decide(of_ana, "c")
    [third] = of_max.spot_checks.select("nightly", ["a", "c"])
    assert of_max.spot_checks.reopen(third.id, reason="Look again.").outcome == "reopened"


def test_check_with_known_answers_is_started_and_ended(of_max: Client, of_ana: Client) -> None:
    Run.objects.update(overlap_share=1, overlap=2)
    checks = of_max.run("nightly").known_answers
    started = checks.start(1)
    assert (started.records, [one.id for one in checks.all()]) == (1, [started.id])
    assert checks.end(started.id).ended_at


def test_conflicts_with_a_file_are_resolved(of_max: Client, of_ana: Client) -> None:
    decide(of_ana, "a")
    theirs: dict[str, Any] = {"human_review_status": "Reviewed", "human_reviewer_id": "eva"}
    theirs |= {"human_corrected_scores": {"Clarity": {"score": "Yes"}}}
    import_data(file_of(line("a", **theirs)), run="nightly")
    run = of_max.run("nightly")
    [conflict] = run.conflicts()
    assert (conflict.ours.reviewer, conflict.theirs.reviewer) == ("ana", "eva")
    again = dataclasses.replace(conflict, id=conflict.id + 1)
    resolved = run.resolve_conflicts("theirs", [conflict, again])
    assert (resolved.resolved, [one.id for one in resolved.refused]) == (1, [again.id])
    assert [*run.conflicts()] == []


def test_draft_is_saved_read_and_discarded(of_max: Client, of_ana: Client) -> None:
    run = of_ana.run("nightly")
    run.claim_record("a")
    assert run.draft("a") is None
    saved = run.save_draft("a", [DraftEntry("Clarity", score="No")], revision=1, comments="Perhaps.")
    assert run.draft("a") == saved
    with pytest.raises(Conflict):
        run.save_draft("a", [], revision=1)
    run.discard_draft("a")
    assert run.draft("a") is None
    run.skip("a")
    action = run.last_action()
    assert action
    assert (action.action, action.evaluation_id) == ("skip", "a")

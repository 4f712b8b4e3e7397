"""Conflicts between a decision made here and one in a file: detection and resolution."""

import json

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from reviews.accounts.permissions import Denied
from reviews.history import file_conflicts
from reviews.models import AuditEvent, Review, Run, User
from reviews.records.conflicts import Conflict
from reviews.records.schema import HUMAN_FIELDS
from reviews.review import decisions
from tests.support.disputed_records import CARLA, OneConflict, Outcome, disputed, evaluation, open_conflict
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def _disputed(class_world: None) -> None:
    """Create a run with one conflict for the tests of a class, which undo their changes."""
    disputed(UserFactory.create(username="ana", role="reviewer"), "eval_1")


def resolve(actor: User, *, theirs: bool, version: int | None = None) -> None:
    decisions.resolve_conflict(
        run=open_conflict().run,
        conflict_id=open_conflict().pk,
        version=evaluation().version if version is None else version,
        theirs=theirs,
        actor=actor,
    )


class TestOpenConflict(OneConflict):
    def test_open_conflict_keeps_line_and_human_values(self, run: Run) -> None:
        conflict = open_conflict()
        assert (conflict.source, conflict.line) == (run.imports.latest("pk"), 1)
        assert conflict.human == CARLA | {"human_review_timestamp": "2026-11-19T10:00:00+00:00"}

    def test_open_conflict_leaves_the_current_decision(self, run: Run) -> None:
        assert evaluation().human_reviewer_id == "ana"
        assert b'"human_reviewer_id": "ana"' in export_data()

    def test_open_conflict_is_unchanged_by_the_same_file(self, run: Run) -> None:
        before = open_conflict()
        assert import_data(file_of(line(**CARLA))).conflicts == 1
        assert open_conflict() == before

    def test_newer_file_replaces_an_open_conflict(self, run: Run) -> None:
        before = open_conflict()
        import_data(file_of(b"", line(**CARLA | {"human_review_comments": "Seen again."})))
        before.refresh_from_db()
        assert before.outcome == Outcome.REPLACED
        assert open_conflict().human["human_review_comments"] == "Seen again."
        assert open_conflict().line == 2


class TestImportedDecisionKept(OneConflict):
    @pytest.mark.slow
    def test_kept_imported_decision_is_current(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        exported = json.loads(export_data())
        assert {name: exported[name] for name in HUMAN_FIELDS} == CARLA
        assert export_data() == file_of(line(**CARLA))

    def test_kept_imported_decision_is_a_version_by_the_lead(self, run: Run, lea: User) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=True)
        review = Review.objects.get(version=2)
        assert (review.reviewer, review.conflict, evaluation().review) == (lea, conflict, review)
        assert review.corrected_scores == CARLA["human_corrected_scores"]
        assert review.origins == {"Clarity": "file"}

    def test_same_file_is_unchanged_after_its_decision_was_kept(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        assert import_data(file_of(line(**CARLA))).unchanged == 1
        assert file_conflicts.count_open(run) == 0

    @pytest.mark.slow
    def test_new_evidence_makes_a_kept_imported_decision_outdated(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=True)
        import_data(file_of(line(task_id="4712")))
        assert (evaluation().is_outdated, evaluation().human_reviewer_id) == (True, "carla")


class TestOtherDecisions:
    @pytest.mark.slow
    def test_export_older_than_a_decision_opens_a_conflict(self, ana: User, bo: User) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        exported = export_data()
        import_data(file_of(line(task_id="4712")))
        decide(evaluation(), bo)
        assert import_data(exported).conflicts == 1
        assert evaluation().human_reviewer_id == "bo"

    @pytest.mark.slow
    def test_outdated_imported_decision_without_reviewer_is_readable(
        self, ana: User, lea: User, client: Client
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        import_data(file_of(line(human_review_status="Reviewed")))
        resolve(lea, theirs=True)
        assert json.loads(export_data())["human_review_timestamp"] is None
        again = import_data(file_of(line(task_id="4712")))
        [exception] = again.listed_exceptions()
        assert exception["reason"] == "taken from the file: the review by nobody named is kept, but outdated"
        client.force_login(ana)
        page = text(client.get(reverse("evaluation", args=[evaluation().pk])))
        assert "Changed since the decision<" in page

    @pytest.mark.slow
    def test_file_that_undoes_its_kept_decision_returns_the_record_to_the_queue(
        self, ana: User, lea: User
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        import_data(file_of(line(human_review_comments="Not so.")))
        resolve(lea, theirs=True)
        assert evaluation().in_queue
        assert export_data() == file_of(line(human_review_comments="Not so."))


class TestOwnDecisionKept(OneConflict):
    @pytest.mark.slow
    def test_keeping_own_decision_changes_nothing(self, run: Run, lea: User) -> None:
        before = export_data()
        resolve(lea, theirs=False)
        assert export_data() == before
        assert Review.objects.count() == 1

    def test_same_file_is_no_conflict_after_own_decision_was_kept(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=False)
        again = import_data(file_of(line(**CARLA)))
        [exception] = again.listed_exceptions()
        assert exception["reason"] == "has a decision that a lead has rejected: the review made here is kept"
        assert (again.unchanged, file_conflicts.count_open(run)) == (1, 0)

    def test_other_decision_in_a_file_is_a_new_conflict(self, run: Run, lea: User) -> None:
        resolve(lea, theirs=False)
        again = import_data(file_of(line(**CARLA | {"human_reviewer_id": "kim"})))
        assert (again.conflicts, file_conflicts.count_open(run)) == (1, 1)


class TestResolution(OneConflict):
    @pytest.mark.slow
    @pytest.mark.parametrize(("theirs", "kept"), [(True, "theirs"), (False, "ours")])
    def test_resolution_records_an_event_with_both_decisions(
        self, run: Run, lea: User, theirs: bool, kept: str
    ) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=theirs)
        event = AuditEvent.objects.get(action="resolve conflict")
        assert (event.actor, event.source, event.evaluation) == (lea, conflict.source, evaluation())
        assert (event.detail["kept"], event.detail["line"]) == (kept, 1)
        assert event.detail["theirs"]["human_reviewer_id"] == "carla"
        assert event.detail["human"]["before"]["human_corrected_scores"] == SCORES

    def test_second_resolution_is_refused(self, run: Run, lea: User) -> None:
        conflict = open_conflict()
        resolve(lea, theirs=False)
        with pytest.raises(Conflict, match="no longer open"):
            decisions.resolve_conflict(
                run=conflict.run,
                conflict_id=conflict.pk,
                version=evaluation().version,
                theirs=True,
                actor=lea,
            )
        assert evaluation().human_reviewer_id == "ana"

    def test_resolution_is_refused_if_the_record_has_changed(self, run: Run, lea: User) -> None:
        version = evaluation().version
        import_data(file_of(line(task_id="4712", **CARLA)))
        with pytest.raises(Conflict, match="has changed since"):
            resolve(lea, theirs=True, version=version)
        assert evaluation().human_reviewer_id == "ana"

    def test_resolution_is_for_leads(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied, match="Only a lead or an admin can resolve conflicts"):
            resolve(ana, theirs=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_import_that_waits_for_a_lead_sees_the_resolution(ana: User, lea: User) -> None:
    run = disputed(ana, "eval_1")
    with transaction.atomic():
        resolve(lea, theirs=False)
        waiting = start_and_wait_for_lock(lambda: import_data(file_of(line(**CARLA))))
    assert waiting.result().unchanged == 1
    assert file_conflicts.count_open(run) == 0


@pytest.mark.slow
def test_judge_of_a_conflict_has_extracted_scores_and_their_verdict(ana: User) -> None:
    raw = {"raw_content": '```json\n{"Clarity": {"score": "No", "justification": "Skips a step."}}\n```'}
    judged = {"raw_judge_output": raw, "parsed_rubric_scores": {}, "aggregated_score": None}
    import_data(file_of(line(**judged)))
    decide(evaluation(), ana)
    import_data(file_of(line(**judged, **CARLA)))
    [shown] = file_conflicts.load_page(Run.objects.get()).rows
    assert shown.judge_verdict == "Fail"
    assert [one.judge for one in shown.criteria if one.title == "Clarity"] == ["No"]

"""Decisions on records that a file changes."""

import pytest
from django.db import transaction

from reviews.imports import importer
from reviews.models import Evaluation, User
from reviews.queue import claims, progress
from reviews.records.conflicts import Conflict
from reviews.review import decisions, escalations, undo
from tests.review.test_decisions import escalate
from tests.support.factories import EvaluationFactory
from tests.support.lines import export_data, line
from tests.support.work import SCORES, decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def evaluation(ana: User) -> Evaluation:
    """A record that ana has claimed."""
    return claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)


class TestReimport:
    """While ana has the record open, the pipeline's file comes in once more."""

    def imported(self, text: bytes) -> Evaluation:
        with transaction.atomic():
            importer.import_stream(blocks=[text], run_name="run", file_name="run.jsonl", actor=None)
        return Evaluation.objects.get()

    def test_same_line_keeps_the_decision(self, ana: User) -> None:
        opened = self.imported(line())
        self.imported(line())
        assert decide(opened, ana).version == 1

    def test_changed_line_is_a_conflict_until_the_record_is_reloaded(self, ana: User) -> None:
        opened = self.imported(line())
        changed = self.imported(line(aggregated_score="Fail"))
        with pytest.raises(Conflict, match=r"^This record was re-imported at "):
            decide(opened, ana)
        assert decide(changed, ana).version == 1

    def test_changed_human_values_leave_the_current_decision(self, ana: User) -> None:
        decide(self.imported(line()), ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert evaluation.human_corrected_scores == SCORES
        assert evaluation.human_reviewer_id == "ana"

    @pytest.mark.slow
    def test_undone_record_is_reimported_as_undecided(self, ana: User) -> None:
        opened = self.imported(line())
        decide(opened, ana)
        undo.undo(run=opened.run, actor=ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert (evaluation.aggregated_score, evaluation.is_outdated) == ("Fail", False)
        assert export_data(run="run") == line(aggregated_score="Fail")

    @pytest.mark.slow
    def test_reopened_record_stays_in_the_queue_with_its_decision(self, ana: User) -> None:
        opened = self.imported(line())
        decide(opened, ana)
        decisions.reopen(evaluation_id=opened.pk, actor=ana, reason="")
        same = self.imported(line())
        assert (same.human_review_status, same.is_outdated, same.review_id is None) == (
            "Needs Review",
            False,
            False,
        )
        assert self.imported(line(aggregated_score="Fail")).is_outdated

    def test_escalated_record_stays_escalated(self, ana: User) -> None:
        raised = escalate(self.imported(line()), ana)
        evaluation = self.imported(line(aggregated_score="Fail"))
        assert evaluation.is_escalated
        assert escalations.find_open(evaluation) == raised

    def test_decision_in_a_file_leaves_the_escalation_open(self, ana: User, lea: User) -> None:
        raised = escalate(self.imported(line()), ana)
        decided = self.imported(line(human_review_status="Completed", human_reviewer_id="ann"))
        assert (decided.is_done, progress.run_progress(decided.run).escalated) == (True, 0)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        decided.refresh_from_db()
        assert (decided.is_done, decided.is_escalated) == (True, False)

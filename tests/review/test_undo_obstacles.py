"""Actions that cannot be undone, because somebody has changed the record since."""

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Evaluation, FileConflict, Run, User
from reviews.queue import claims
from reviews.records.conflicts import RunArchived
from reviews.review import decisions, drafts, escalations
from reviews.review.undo import UndoRefused, undo
from reviews.runs.changes import archive_run
from tests.support.undone_actions import KINDS, ask, claim, record_in, release, skip, submit
from tests.support.work import decide, end_claim, fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(run: Run, ana: User) -> Evaluation:
    """A record that ana has claimed, with a draft."""
    record = claims.claim(evaluation_id=record_in(run, "7").pk, reviewer=ana)
    drafts.save(evaluation_id=record.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
    return record


class TestObstacles:
    """Actions that can no longer be undone: nothing changes, and the sentence says why."""

    def refused(self, evaluation: Evaluation, actor: User) -> str:
        before = AuditEvent.objects.count()
        with pytest.raises(UndoRefused) as refusal:
            undo(run=evaluation.run, actor=actor)
        assert AuditEvent.objects.count() == before
        assert refusal.value.action.record == evaluation
        return refusal.value.reason

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_claimed_by_another_stays_theirs(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        claim(evaluation, bo)
        reason = self.refused(evaluation, ana)
        assert reason.startswith(f"Can't undo: {KINDS[kind][1]}. bo has been reviewing this since ")
        assert fresh(evaluation).claimed_by == bo
        end_claim(evaluation)
        assert undo(run=evaluation.run, actor=ana).is_claimed

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_decided_by_another_stays_decided(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        decide(fresh(evaluation), bo)
        assert ". bo submitted this at " in self.refused(evaluation, ana)

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_record_assigned_to_another_stays_theirs(
        self, evaluation: Evaluation, ana: User, bo: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        Evaluation.objects.update(assigned_to=bo)
        assert self.refused(evaluation, ana).endswith("This record is assigned to bo.")

    @pytest.mark.parametrize("kind", ["question", "cannot judge"])
    def test_answered_escalation_stays_answered(
        self, evaluation: Evaluation, ana: User, lea: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        raised = evaluation.escalations.get()
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="Yes.")
        reason = self.refused(evaluation, ana)
        assert ". lea resolved this escalation at " in reason
        assert reason.endswith(" UTC: back to the queue.")

    @pytest.mark.slow
    def test_escalation_that_a_lead_has_claimed_stays_open(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        ask(evaluation, ana)
        claim(evaluation, lea)
        assert ". lea has been reviewing this since " in self.refused(evaluation, ana)
        assert fresh(evaluation).is_escalated

    @pytest.mark.slow
    def test_revised_decision_stays(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        submit(evaluation, ana)
        decide(fresh(evaluation), lea, by=decisions.revise)
        assert ". lea decided this again at " in self.refused(evaluation, ana)

    def test_release_of_anothers_claim_stays(self, evaluation: Evaluation, lea: User) -> None:
        release(evaluation, lea)
        reason = self.refused(evaluation, lea)
        assert reason.endswith("The claim was ana's, who can claim the record again.")

    def test_reopened_record_stays_reopened(self, evaluation: Evaluation, ana: User) -> None:
        submit(evaluation, ana)
        decisions.reopen(evaluation_id=evaluation.pk, actor=ana, reason="Too fast.")
        reason = self.refused(evaluation, ana)
        assert reason == "Can't undo: reopened Task 7 · o1. Review the record to decide it again."

    def test_resolved_conflict_stays_resolved(self, evaluation: Evaluation, lea: User) -> None:
        conflict = FileConflict.objects.create(
            evaluation=evaluation,
            run=evaluation.run,
            source=evaluation.source_import,
            line=1,
            content_hash=b"",
            human=evaluation.human,
        )
        decisions.resolve_conflict(
            run=evaluation.run, conflict_id=conflict.pk, version=evaluation.version, theirs=False, actor=lea
        )
        assert self.refused(evaluation, lea).startswith("Can't undo: resolved a conflict on Task 7 · o1. ")

    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_is_undone_in_an_archived_run(
        self, evaluation: Evaluation, ana: User, lea: User, kind: str
    ) -> None:
        KINDS[kind][0](evaluation, ana)
        archive_run(run_id=evaluation.run_id, actor=lea)
        with pytest.raises(RunArchived):
            undo(run=fresh(evaluation).run, actor=ana)

    def test_undo_needs_a_role(self, evaluation: Evaluation, ana: User) -> None:
        skip(evaluation, ana)
        ana.groups.clear()
        with pytest.raises(Denied):
            undo(run=evaluation.run, actor=User.objects.get(pk=ana.pk))

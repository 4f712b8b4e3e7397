"""Repeated imports of sampled records."""

import json
from typing import Any

import pytest

from reviews.models import AuditEvent, Evaluation, FileConflict, Run, User
from reviews.review import decisions
from reviews.sampling import draws
from tests.support.lines import export_data, file_of, import_data
from tests.support.sampled_runs import (
    CORRECTED,
    count_sampled_verdicts,
    one_drawn,
    reload,
    run_with_sample,
    unflagged,
)
from tests.support.work import agree, decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestReimports:
    @pytest.fixture
    def run(self) -> Run:
        return run_with_sample(1, count=1)[0]

    def bring(self, **changes: Any) -> Evaluation:
        import_data(file_of(unflagged("u0", **changes)))
        return reload(Evaluation.objects.get(evaluation_id="u0"))

    def outcome(self, run: Run) -> tuple[str, str]:
        latest = run.imports.order_by("-pk")[0].exceptions.get()
        return latest.outcome, latest.reason

    def test_same_line_again_changes_nothing(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        before = Evaluation.objects.filter(evaluation_id="u0").values().get()
        self.bring()
        assert self.outcome(run) == ("unchanged", "the same bytes as before")
        assert Evaluation.objects.filter(evaluation_id="u0").values().get() == before

    def test_import_of_an_export_changes_nothing(self, run: Run, ana: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        exported = export_data()
        import_data(exported)
        assert not FileConflict.objects.exists()
        assert reload(one_drawn()).human_review_status == "Completed"
        assert export_data() == exported

    def test_new_evidence_reopens_a_confirmed_record(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        opened = self.bring(verification_message="Match")
        assert (opened.human_review_status, opened.review) == ("Needs Review", None)
        assert opened.is_sampled
        assert not opened.is_outdated
        assert count_sampled_verdicts(run) == 0
        assert AuditEvent.objects.get(action="new evidence").detail["human"]["keeps_line"] is True
        assert json.loads(export_data().splitlines()[1])["human_review_status"] == "Not Required"

    def test_new_evidence_leaves_an_open_record_open(self, run: Run) -> None:
        opened = self.bring(verification_message="Match")
        assert opened.is_sampled
        assert opened.human_review_status == "Needs Review"
        assert not AuditEvent.objects.filter(action="new evidence").exists()

    def test_new_evidence_makes_an_override_outdated(self, run: Run, ana: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        stale = self.bring(verification_message="Match")
        assert (stale.is_outdated, stale.is_sampled, stale.human_review_status) == (
            True,
            True,
            "Needs Review",
        )
        assert stale.human_corrected_scores == CORRECTED

    def test_other_spelling_of_a_line_leaves_it_confirmed(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        other = unflagged("u0").replace(b'"task_id": ', b'"task_id":  ')
        import_data(file_of(other))
        assert reload(one_drawn()).is_confirmed
        assert other in export_data()

    @pytest.mark.slow
    def test_new_comment_in_a_file_leaves_a_record_confirmed(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        kept = self.bring(human_review_comments="From the pipeline.")
        assert kept.is_confirmed
        assert kept.human_review_comments == "From the pipeline."
        assert unflagged("u0", human_review_comments="From the pipeline.") in export_data()

    @pytest.mark.parametrize("is_confirmed", [True, False])
    def test_flag_in_a_file_removes_a_record_from_the_sample(
        self, run: Run, ana: User, is_confirmed: bool
    ) -> None:
        if is_confirmed:
            agree(one_drawn(), ana)
        flagged = self.bring(
            needs_human_review=True, human_review_status="Needs Review", review_reasons=["x"]
        )
        assert (flagged.is_sampled, flagged.human_review_status, flagged.review) == (
            False,
            "Needs Review",
            None,
        )

    @pytest.mark.parametrize("is_confirmed", [True, False])
    def test_decision_in_a_file_removes_a_record_from_the_sample(
        self, run: Run, ana: User, is_confirmed: bool
    ) -> None:
        if is_confirmed:
            agree(one_drawn(), ana)
        decided = self.bring(human_review_status="Reviewed", human_reviewer_id="somebody")
        assert (decided.human_review_status, decided.human_reviewer_id) == ("Reviewed", "somebody")
        assert (decided.is_sampled, decided.review) == (False, None)
        assert not FileConflict.objects.exists()

    @pytest.mark.slow
    def test_file_that_contradicts_an_override_opens_a_conflict(self, run: Run, ana: User, lea: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        disputed = self.bring(human_review_comments="No.")
        conflict = FileConflict.objects.get()
        decisions.resolve_conflict(
            run=conflict.run, conflict_id=conflict.pk, version=disputed.version, theirs=True, actor=lea
        )
        resolved = reload(disputed)
        assert (resolved.human_review_status, resolved.human_review_comments) == ("Not Required", "No.")
        assert not resolved.is_sampled
        assert json.loads(export_data().splitlines()[1])["human_review_comments"] == "No."
        assert draws.draw_sample(run_id=run.pk) == (0, 0)

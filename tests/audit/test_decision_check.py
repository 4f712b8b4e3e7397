"""Decisions altered past the triggers differ from the audit log, and `verify_audit` names each of them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from reviews.audit import decision_check
from reviews.database.statements import execute
from reviews.models import Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.review import blind_scoring, decisions, escalations, independent_reviews, undo
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import SCORES, agree, decide, fresh, restore_version

pytestmark = pytest.mark.django_db
Tamper = Callable[[str], None]
OTHER = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}
PROTECTED = ("audit_event", "audit_seal", "review", "withdrawal", "blind_scores", "evaluation")


def found() -> list[str]:
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    return list(decision_check.find_differences())


@pytest.fixture
def tamper() -> Tamper:
    """Run SQL as somebody who may switch the triggers off."""

    def run(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for table in PROTECTED:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(statement)
            assert cursor.rowcount == 1

    return run


@pytest.fixture
def decided(ana: User) -> Evaluation:
    """A record that ana decided, as `SCORES` says."""
    evaluation = EvaluationFactory.create(run=RunFactory.create(name="one"), evaluation_id="eval_a")
    decide(evaluation, ana, comments="Half of it.", causes={"Conclusion Accuracy": "calculation error"})
    return fresh(evaluation)


class TestUntouchedHistories:
    """Every kind of write leaves the database and the log in agreement."""

    @pytest.mark.slow
    def test_decisions_match_the_log(self, decided: Evaluation, ana: User, lea: User) -> None:
        assert found() == []
        decide(decided, lea, by=decisions.revise, scores=OTHER)
        assert found() == []
        restore_version(fresh(decided), lea, 1)
        assert found() == []
        undo.undo(run=decided.run, actor=lea)
        assert found() == []
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Look again.")
        assert found() == []
        decide(fresh(decided), lea)
        undo.undo(run=decided.run, actor=lea)
        assert found() == []

    @pytest.mark.slow
    def test_undone_decision_matches_the_log(self, decided: Evaluation, ana: User) -> None:
        undo.undo(run=decided.run, actor=ana)
        assert found() == []

    @pytest.mark.slow
    def test_independent_reviews_match_the_log(self, ana: User, bo: User, lea: User) -> None:
        run = RunFactory.create(name="one", overlap_share=1, overlap=2)
        one, other = EvaluationFactory.create_batch(2, run=run)
        decide(one, ana)
        decide(one, bo)
        assert found() == []
        decide(other, ana)
        undo.undo(run=run, actor=ana)
        decide(fresh(other), ana)
        decide(fresh(other), bo, scores=OTHER)
        decide(fresh(other), lea)
        assert found() == []
        decide(fresh(one), lea, by=independent_reviews.add, scores=OTHER)
        assert found() == []

    def test_random_sample_matches_the_log(self, ana: User) -> None:
        evaluation = EvaluationFactory.create(needs_human_review=False, review_reasons=[], is_sampled=True)
        agree(evaluation, ana, comments="I agree.")
        assert fresh(evaluation).is_confirmed
        assert found() == []

    def test_closed_record_matches_the_log(self, ana: User, lea: User) -> None:
        evaluation = EvaluationFactory.create()
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        escalations.escalate(
            evaluation_id=evaluation.pk,
            reviewer=ana,
            kind="cannot judge",
            reason="expertise",
            note="No idea.",
        )
        decisions.close(evaluation_id=evaluation.pk, actor=lea, comments="Nobody can.")
        assert found() == []

    def test_imported_decision_matches_the_log(self, ana: User, lea: User) -> None:
        evaluation = EvaluationFactory.create(
            human_review_status="Completed",
            human_reviewer_id="zoe",
            human_review_timestamp="2025-04-12T03:55:23+02:00",
            human_corrected_scores={"Clarity": {"score": 1.0, "justification": "É"}},
        )
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        assert found() == []


class TestAlteredRecords:
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ("human_reviewer_id = 'bo'", "human_reviewer_id"),
            ("human_review_comments = NULL", "human_review_comments"),
            (
                "human_review_timestamp = human_review_timestamp + interval '1 microsecond'",
                "human_review_timestamp",
            ),
            ("human_review_timestamp = NULL", "human_review_timestamp"),
            ("human_corrected_scores = NULL", "human_corrected_scores"),
            (
                """human_corrected_scores = jsonb_set(human_corrected_scores, '{Clarity,score}', '"No"')""",
                "human_corrected_scores",
            ),
            ("human_review_status = 'Needs Review'", "human_review_status"),
        ],
    )
    def test_altered_field_of_record_is_named(
        self, change: str, field: str, decided: Evaluation, tamper: Tamper
    ) -> None:
        tamper(f"UPDATE evaluation SET {change}")
        [problem] = found()
        assert problem.startswith(f"eval_a of run 'one': {field} changed since event ")
        assert problem.endswith("(submit by ana)")

    def test_equal_number_of_other_type_is_found(self, ana: User, tamper: Tamper) -> None:
        decide(EvaluationFactory.create(), ana, scores={"Clarity": {"score": 1, "justification": ""}})
        tamper("""UPDATE evaluation SET human_corrected_scores = jsonb_set(
                   human_corrected_scores, '{Clarity,score}', '1.0')""")
        assert len(found()) == 1

    def test_removed_current_decision_is_found(self, decided: Evaluation, tamper: Tamper) -> None:
        tamper("UPDATE evaluation SET review_id = NULL, human_review_status = 'Needs Review'")
        [problem] = found()
        assert problem.startswith("eval_a of run 'one': the decision of event ")
        assert problem.endswith("(submit by ana) is not the current one")

    def test_older_version_as_current_decision_is_found(
        self, decided: Evaluation, lea: User, tamper: Tamper
    ) -> None:
        decide(decided, lea, by=decisions.revise, scores=OTHER)
        tamper("UPDATE evaluation SET review_id = (SELECT id FROM review WHERE version = 1)")
        [problem] = found()
        assert "the current version 1 is not the one of event" in problem

    @pytest.mark.slow
    def test_undone_version_as_current_decision_is_found(
        self, decided: Evaluation, ana: User, tamper: Tamper
    ) -> None:
        undo.undo(run=decided.run, actor=ana)
        tamper("UPDATE evaluation SET review_id = (SELECT id FROM review)")
        assert any("is not the one of event" in problem for problem in found())

    def test_decision_missing_in_the_log_is_found(self, ana: User, tamper: Tamper) -> None:
        evaluation = EvaluationFactory.create(run=RunFactory.create(name="two"), evaluation_id="eval_b")
        decide(EvaluationFactory.create(run=evaluation.run), ana)
        tamper("UPDATE evaluation SET review_id = (SELECT id FROM review) WHERE evaluation_id = 'eval_b'")
        assert found() == ["eval_b of run 'two': has a current decision, but the audit log has none"]


class TestAlteredVersions:
    @pytest.mark.parametrize(
        "change",
        [
            "comments = 'All of it.'",
            "corrected_scores = NULL",
            """causes = '{"Conclusion Accuracy": "leniency"}'""",
            "version = 7",
            "reviewer_id = (SELECT id FROM person WHERE username = 'bo')",
        ],
    )
    def test_altered_version_is_found(
        self, change: str, decided: Evaluation, bo: User, tamper: Tamper
    ) -> None:
        tamper(f"UPDATE review SET {change}")
        assert any(problem.startswith("eval_a of run 'one': version ") for problem in found())

    def test_altered_independent_review_is_found(self, ana: User, tamper: Tamper) -> None:
        run = RunFactory.create(name="one", overlap_share=1, overlap=2)
        decide(EvaluationFactory.create(run=run, evaluation_id="eval_b"), ana)
        tamper("UPDATE review SET comments = 'Another one.'")
        assert found() == ["eval_b of run 'one': version 1 by ana differs from the audit log"]

    def test_altered_confirmation_of_random_sample_is_found(self, ana: User, tamper: Tamper) -> None:
        evaluation = EvaluationFactory.create(needs_human_review=False, review_reasons=[], is_sampled=True)
        agree(evaluation, ana)
        tamper("UPDATE review SET corrected_scores = NULL")
        assert len(found()) == 1

    def test_inserted_version_is_found(self, decided: Evaluation, ana: User) -> None:
        Review.objects.create(
            evaluation=decided,
            run=decided.run,
            version=2,
            reviewer=ana,
            submitted_at="2025-04-12T03:55:23Z",
        )
        assert found() == ["eval_a of run 'one': version 2 by ana differs from the audit log"]

    def test_removed_version_is_found(self, decided: Evaluation, lea: User, tamper: Tamper) -> None:
        decide(decided, lea, by=decisions.revise)
        tamper("DELETE FROM review WHERE version = 1")
        [problem] = found()
        assert problem.startswith("eval_a of run 'one': the decision of version 1 in event ")

    def test_forged_undo_is_found(self, decided: Evaluation, ana: User, tamper: Tamper) -> None:
        tamper("INSERT INTO withdrawal (review_id, actor_id) SELECT id, reviewer_id FROM review")
        assert found() == [
            "eval_a of run 'one': version 1 is marked as undone, but the audit log has no such undo"
        ]

    def test_removed_undo_is_found(self, decided: Evaluation, ana: User, tamper: Tamper) -> None:
        undo.undo(run=decided.run, actor=ana)
        tamper("DELETE FROM withdrawal")
        [problem] = found()
        assert problem.startswith("eval_a of run 'one': the undo of version 1 in event ")


def test_altered_blind_scores_are_found(ana: User, tamper: Tamper) -> None:
    run: Run = RunFactory.create(name="one", blind_share=1)
    evaluation = EvaluationFactory.create(
        run=run, evaluation_id="eval_b", structured_model_response={"final_answer": "1/2"}
    )
    claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
    given: dict[str, Any] = {"scores": {"Clarity": "Yes"}, "fields": [], "active_ms": 1}
    blind_scoring.lock_in(evaluation_id=evaluation.pk, reviewer=ana, version=evaluation.version, **given)
    assert found() == []
    tamper("""UPDATE blind_scores SET scores = '{"Clarity": "No"}'""")
    assert found() == ["eval_b of run 'one': the blind scores of ana differ from the audit log"]


def test_verify_audit_reports_altered_decision(
    decided: Evaluation, tamper: Tamper, capsysbinary: Capture
) -> None:
    tamper("UPDATE evaluation SET human_review_comments = 'All of it.'")
    finished = manage(capsysbinary, "verify_audit")
    assert finished.status == 1
    assert "eval_a of run 'one': human_review_comments changed since event" in finished.err
    assert finished.err.endswith("Differences: 1\n")

"""Blind scoring: selection of records and reviewers, and the stored blind scores."""

from dataclasses import replace
from typing import Any

import pytest

from cognireview.types.runs import SamplingSettings
from reviews.accounts.permissions import Denied
from reviews.exports import jobs
from reviews.exports.output import ExportOptions
from reviews.judge import sampling_settings
from reviews.models import (
    AuditEvent,
    BlindScores,
    Draft,
    Escalation,
    Evaluation,
    Rating,
    Reveal,
    Review,
    Run,
    User,
)
from reviews.queue import claims
from reviews.records import responses
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import blind_scoring, decisions, drafts, escalations, undo
from reviews.review.blind_scoring import BlindFeasibility
from reviews.rubric.run_settings import current_settings, fingerprint
from tests.support.contexts import bring, task
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.threads import together
from tests.support.work import decide, end_claim

pytestmark = pytest.mark.django_db

ANSWER = {"response": {"final_answer": "54"}}
GIVEN = {"Clarity": "Yes", "Conclusion Accuracy": "Yes"}
JUDGED = {"Clarity": "Yes", "Conclusion Accuracy": "No"}


@pytest.fixture
def run(db: None) -> Run:
    """A run of which every record is scored blind."""
    return RunFactory.create(blind_share=1)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, structured_model_response=ANSWER)


@pytest.fixture
def claimed(record: Evaluation, ana: User) -> Evaluation:
    return claims.claim(evaluation_id=record.pk, reviewer=ana)


def lock_in(record: Evaluation, reviewer: User, **other: Any) -> BlindScores:
    sent: dict[str, Any] = {"version": record.version, "scores": GIVEN, "fields": [], "active_ms": 4_000}
    return blind_scoring.lock_in(evaluation_id=record.pk, reviewer=reviewer, **(sent | other))


class TestHidden:
    @pytest.mark.slow
    def test_judge_output_is_hidden_for_the_blind_share(self, run: Run, ana: User) -> None:
        records = [EvaluationFactory.create(run=run, structured_model_response=ANSWER) for _ in range(40)]
        assert all(blind_scoring.is_hidden(record, ana) for record in records)
        run.blind_share = 0.4
        some = {record.pk for record in records if blind_scoring.is_hidden(record, ana)}
        assert 0 < len(some) < 40
        run.blind_share = 0.3
        assert {record.pk for record in records if blind_scoring.is_hidden(record, ana)} <= some
        run.blind_share = 0
        assert not any(blind_scoring.is_hidden(record, ana) for record in records)

    def test_judge_output_is_hidden_from_leads(self, record: Evaluation, lea: User, max: User) -> None:
        assert blind_scoring.is_hidden(record, lea)
        assert blind_scoring.is_hidden(record, max)

    def test_record_without_answer_hides_nothing(self, run: Run, ana: User) -> None:
        assert not blind_scoring.is_hidden(EvaluationFactory.create(run=run), ana)
        empty = EvaluationFactory.create(run=run, structured_model_response={"model": "o1", "response": {}})
        assert not blind_scoring.is_hidden(empty, ana)

    def test_record_with_answer_in_task_context_hides_judge_output(self, run: Run, ana: User) -> None:
        record = EvaluationFactory.create(run=run, task_id="7", model_id="o1")
        another = EvaluationFactory.create(run=run, task_id="7", model_id="o3")
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        assert blind_scoring.is_hidden(record, ana)
        assert not blind_scoring.is_hidden(another, ana)

    def test_decision_reveals_judge_output_for_good(
        self, claimed: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        lock_in(claimed, ana)
        decided = decide(claimed, ana).evaluation
        assert not blind_scoring.is_hidden(decided, bo)
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Look again.")
        assert not blind_scoring.is_hidden(Evaluation.objects.get(), bo)

    def test_record_outside_the_queue_hides_nothing(self, run: Run, ana: User) -> None:
        record = EvaluationFactory.create(
            run=run, structured_model_response=ANSWER, human_review_status="Not Required"
        )
        assert not blind_scoring.is_hidden(record, ana)

    @pytest.mark.slow
    def test_undone_decision_reveals_judge_output_to_everybody(
        self, run: Run, claimed: Evaluation, ana: User, bo: User
    ) -> None:
        lock_in(claimed, ana)
        decide(claimed, ana)
        undo.undo(run=run, actor=ana)
        drafts.discard(evaluation_id=claimed.pk, reviewer=ana)
        claimed.refresh_from_db()
        assert (claimed.in_queue, claimed.review) == (True, None)
        assert not blind_scoring.is_hidden(claimed, ana)
        assert not blind_scoring.is_hidden(claimed, bo)

    @pytest.mark.slow
    def test_record_reopened_by_a_file_hides_nothing(self, ana: User) -> None:
        Run.objects.create(name="algebra", blind_share=1)
        import_data(file_of(line("eval_1", human_review_status="Completed")), run="algebra")
        import_data(file_of(line("eval_1", human_review_status="Needs Review")), run="algebra")
        record = Evaluation.objects.get()
        assert record.in_queue
        assert not blind_scoring.is_hidden(record, ana)

    def test_draft_does_not_reveal_judge_output(self, claimed: Evaluation, ana: User) -> None:
        drafts.save(evaluation_id=claimed.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
        assert blind_scoring.is_hidden(claimed, ana)

    @pytest.mark.slow
    def test_lead_who_takes_over_a_disagreement_sees_judge_output(
        self, record: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        Run.objects.update(overlap_share=1)
        for person, scores in ((ana, GIVEN), (bo, JUDGED)):
            lock_in(claims.claim(evaluation_id=record.pk, reviewer=person), person, scores=scores)
            entries = {name: {"score": score, "justification": "So."} for name, score in scores.items()}
            decide(Evaluation.objects.get(), person, scores=entries)
        record = Evaluation.objects.get()
        assert record.is_escalated
        assert blind_scoring.is_hidden(record, lea)
        claims.claim(evaluation_id=record.pk, reviewer=lea)
        assert not blind_scoring.is_hidden(record, lea)
        # The lead returns it for one more independent review, and cannot give that independent review.
        escalations.resolve(
            escalation_id=Escalation.objects.get().pk, actor=lea, outcome="returned", answer="One more."
        )
        with pytest.raises(RecordUnavailable, match="You have read the reviews of others"):
            claims.claim(evaluation_id=record.pk, reviewer=lea)
        assert claims.claim_next(run=record.run, reviewer=lea) is None

    def test_check_shown_names_the_reason(self, claimed: Evaluation, ana: User) -> None:
        with pytest.raises(Denied, match="Lock in your scores first"):
            blind_scoring.check_shown(claimed, ana)
        lock_in(claimed, ana)
        blind_scoring.check_shown(claimed, ana)


class TestLockIn:
    def test_lock_in_saves_scores_and_reveals_judge_scores_to_the_reviewer(
        self, claimed: Evaluation, ana: User, bo: User
    ) -> None:
        given = lock_in(claimed, ana)
        assert (given.scores, given.active_ms) == (GIVEN, 4_000)
        assert blind_scoring.find_locked_in(claimed, ana) == given
        assert not blind_scoring.is_hidden(claimed, ana)
        assert blind_scoring.is_hidden(claimed, bo)

    def test_lock_in_records_an_event_with_the_scores(self, claimed: Evaluation, ana: User) -> None:
        lock_in(claimed, ana)
        event = AuditEvent.objects.get(action="blind scores")
        assert (event.actor, event.evaluation, event.detail) == (ana, claimed, {"scores": GIVEN})

    def test_lock_in_makes_a_draft_with_judge_justifications(self, claimed: Evaluation, ana: User) -> None:
        typed = [["comments", "Hm."]]
        drafts.save(evaluation_id=claimed.pk, reviewer=ana, fields=typed, revision=4)
        lock_in(claimed, ana, fields=[["comments", "Hm!"]])
        draft = Draft.objects.get()
        assert (draft.fields, draft.revision) == ([["comments", "Hm!"]], 5)

    def test_repeated_lock_in_changes_nothing(self, claimed: Evaluation, ana: User) -> None:
        first = lock_in(claimed, ana)
        drafts.save(evaluation_id=claimed.pk, reviewer=ana, fields=[["comments", "On."]], revision=2)
        assert lock_in(claimed, ana) == first
        assert Draft.objects.get().fields == [["comments", "On."]]
        assert AuditEvent.objects.filter(action="blind scores").count() == 1

    def test_second_lock_in_with_other_scores_is_refused(self, claimed: Evaluation, ana: User) -> None:
        lock_in(claimed, ana)
        with pytest.raises(Conflict, match="You locked in other scores at"):
            lock_in(claimed, ana, scores=JUDGED)
        assert BlindScores.objects.get().scores == GIVEN

    def test_lock_in_needs_the_claim(self, record: Evaluation, ana: User, bo: User) -> None:
        with pytest.raises(Conflict, match="Your claim on this record has ended"):
            lock_in(record, ana)
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        with pytest.raises(Conflict, match="bo has been reviewing this since"):
            lock_in(record, ana)
        assert not BlindScores.objects.exists()

    def test_lock_in_accepts_an_expired_claim_that_nobody_took(self, claimed: Evaluation, ana: User) -> None:
        end_claim(claimed)
        assert lock_in(claimed, ana)

    def test_lock_in_refuses_a_changed_record(self, claimed: Evaluation, ana: User) -> None:
        with pytest.raises(Conflict, match="has changed since you opened it"):
            lock_in(claimed, ana, version=claimed.version + 1)

    def test_lock_in_refuses_a_record_with_visible_scores(
        self, run: Run, claimed: Evaluation, ana: User
    ) -> None:
        Run.objects.update(blind_share=0)
        with pytest.raises(Conflict, match="no longer hidden"):
            lock_in(claimed, ana)

    def test_lock_in_is_only_for_reviewers(self, record: Evaluation, eve: User) -> None:
        with pytest.raises(Denied):
            lock_in(record, eve)

    def test_lock_in_records_the_reveal_with_an_event(self, claimed: Evaluation, ana: User) -> None:
        lock_in(claimed, ana)
        shown = Reveal.objects.get()
        assert (shown.run, shown.evaluation, shown.reviewer, shown.how) == (
            claimed.run,
            claimed,
            ana,
            "locked in",
        )
        event = AuditEvent.objects.get(action="reveal")
        assert (event.actor, event.evaluation, event.detail) == (ana, claimed, {"how": "locked in"})

    @pytest.mark.slow
    def test_locked_in_scores_belong_to_their_evidence(self, ana: User, bo: User) -> None:
        Run.objects.create(name="algebra", blind_share=1)
        import_data(file_of(line("eval_1")), run="algebra")
        record = claims.claim(evaluation_id=Evaluation.objects.get().pk, reviewer=ana)
        lock_in(record, ana)
        import_data(file_of(line("eval_1", aggregated_score="Fail")), run="algebra")
        record.refresh_from_db()
        # Ana knows the judge's earlier scores, so her review now is assisted.
        assert not blind_scoring.is_hidden(record, ana)
        assert blind_scoring.is_hidden(record, bo)
        with pytest.raises(Conflict, match="no longer hidden"):
            lock_in(record, ana, scores=JUDGED)
        assert decide(record, ana).blind_scores is None


class TestHidingChanges:
    """A reviewer who claimed a record while it was shown has seen it, even if it would be hidden later."""

    def served(self, run: Run, ana: User, **values: Any) -> Evaluation:
        record = EvaluationFactory.create(run=run, **values)
        return claims.claim(evaluation_id=record.pk, reviewer=ana)

    def test_larger_blind_share_hides_nothing_from_reviewers_with_claims(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        Run.objects.update(blind_share=0)
        run.refresh_from_db()
        record = self.served(run, ana, structured_model_response=ANSWER)
        other = EvaluationFactory.create(run=run, structured_model_response=ANSWER)
        before = current_settings(SamplingSettings, run)
        larger = replace(before, blind_share=1)
        sampling_settings.configure(run_id=run.pk, actor=lea, settings=larger, seen=fingerprint(before))
        record, other = (Evaluation.objects.get(pk=one.pk) for one in (record, other))
        assert [blind_scoring.is_hidden(record, person) for person in (ana, bo)] == [False, True]
        assert blind_scoring.is_hidden(other, ana)
        assert Reveal.objects.get().how == "shown"
        with pytest.raises(Conflict, match="no longer hidden"):
            lock_in(record, ana)

    def test_answer_in_task_context_hides_nothing_from_reviewers_with_claims(
        self, run: Run, ana: User, bo: User
    ) -> None:
        record = self.served(run, ana, task_id="7", model_id="o1")
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        assert [blind_scoring.is_hidden(record, person) for person in (ana, bo)] == [False, True]

    def test_repeated_task_context_records_no_reveal(self, run: Run, ana: User) -> None:
        answered = task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}])
        bring(answered)
        record = self.served(run, ana, task_id="7", model_id="o1")
        bring(answered)
        assert blind_scoring.is_hidden(record, ana)

    @pytest.mark.slow
    def test_answer_in_a_newer_file_hides_nothing_from_reviewers_with_claims(
        self, ana: User, bo: User
    ) -> None:
        Run.objects.create(name="algebra", blind_share=1)
        import_data(file_of(line("eval_1", structured_model_response=None)), run="algebra")
        claims.claim(evaluation_id=Evaluation.objects.get().pk, reviewer=ana)
        import_data(file_of(line("eval_1")), run="algebra")
        record = Evaluation.objects.get()
        assert [blind_scoring.is_hidden(record, person) for person in (ana, bo)] == [False, True]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
class TestConcurrentLockIn:
    def test_concurrent_lock_ins_of_same_scores_save_once(self, claimed: Evaluation, ana: User) -> None:
        first, second = together(lambda: lock_in(claimed, ana), lambda: lock_in(claimed, ana))
        assert first == second == BlindScores.objects.get()

    def test_second_of_concurrent_lock_ins_with_other_scores_is_refused(
        self, claimed: Evaluation, ana: User
    ) -> None:
        done = together(
            lambda: lock_in(claimed, ana), lambda: lock_in(claimed, ana, scores=JUDGED), expecting=Conflict
        )
        assert sorted(type(one).__name__ for one in done) == ["BlindScores", "Conflict"]
        assert BlindScores.objects.get() in done


class TestBlindDecision:
    def test_decision_stores_blind_scores_and_current_scores(self, claimed: Evaluation, ana: User) -> None:
        lock_in(claimed, ana)
        review = decide(claimed, ana, judged=JUDGED)
        assert review.blind_scores == GIVEN
        assert (review.blind_verdict, review.verdict) == ("Pass", "Fail")
        [rating] = Rating.objects.filter(cell__criterion="Conclusion Accuracy")
        cell = rating.cell
        assert (cell.is_blind, cell.judge, cell.human, rating.final) == (True, '"No"', '"Yes"', '"No"')

    def test_decision_without_lock_in_is_refused(self, record: Evaluation, bo: User) -> None:
        with pytest.raises(Conflict, match="lock in your scores first"):
            decide(record, bo)
        assert not Review.objects.exists()

    def test_decision_after_a_download_counts_as_assisted(self, record: Evaluation, lea: User) -> None:
        jobs.enqueue(options=ExportOptions(record.run), actor=lea)
        with pytest.raises(Conflict, match="no longer hidden"):
            lock_in(claims.claim(evaluation_id=record.pk, reviewer=lea), lea)
        assert decide(record, lea).blind_scores is None

    def test_decision_after_lock_in_and_download_counts_as_blind(
        self, claimed: Evaluation, lea: User
    ) -> None:
        claims.release(evaluation_id=claimed.pk, actor=lea)
        lock_in(claims.claim(evaluation_id=claimed.pk, reviewer=lea), lea)
        jobs.enqueue(options=ExportOptions(claimed.run), actor=lea)
        assert decide(claimed, lea).blind_scores == GIVEN

    @pytest.mark.slow
    def test_undone_blind_decision_shows_judge_scores(self, run: Run, claimed: Evaluation, ana: User) -> None:
        lock_in(claimed, ana)
        decide(claimed, ana)
        record = undo.undo(run=run, actor=ana).evaluation
        assert not blind_scoring.is_hidden(record, ana)
        assert blind_scoring.find_locked_in(record, ana)


class TestBlindFeasibility:
    def test_run_with_answers_can_be_scored_blind(self) -> None:
        made = import_data(
            file_of(line("a"), line("b", structured_model_response=None), line("c", aggregated_score="Fail"))
        )
        assert blind_scoring.blind_feasibility(made.target_run) == BlindFeasibility(
            answered=2, by_context=False
        )
        assert blind_scoring.blind_feasibility(made.target_run).sentence == ""

    def test_run_without_answers_cannot_be_scored_blind(self) -> None:
        run = import_data(file_of(line("a", structured_model_response=None))).target_run
        found = blind_scoring.blind_feasibility(run)
        assert (found.answered, found.is_possible) == (0, False)
        assert "neither the records nor their task context have an answer" in found.sentence

    def test_run_with_answers_in_task_context_can_be_scored_blind(self) -> None:
        run = import_data(
            file_of(line("a", structured_model_response=None, task_id="7", model_id="o1"))
        ).target_run
        bring(task(model_responses=[{"model_id": "o3", "response_text": "It is 54."}]))
        assert not blind_scoring.blind_feasibility(run).is_possible
        bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
        assert blind_scoring.blind_feasibility(run) == BlindFeasibility(answered=0, by_context=True)

    def test_uncounted_run_may_be_scored_blind(self, record: Evaluation) -> None:
        assert blind_scoring.blind_feasibility(record.run) == BlindFeasibility(
            answered=None, by_context=False
        )
        assert blind_scoring.blind_feasibility(record.run).is_possible


@pytest.mark.parametrize(
    ("response", "holds"),
    [
        (None, False),
        ("", False),
        ("It is 54.", True),
        ({}, False),
        ({"final_answer": "54"}, True),
        ({"model": "o1", "response": ""}, False),
        ({"model": "o1", "response": "54"}, True),
        ({"steps": [], "final_answer": None}, False),
    ],
)
def test_answer_needs_content(response: Any, holds: bool) -> None:
    assert responses.has_answer(response) == holds

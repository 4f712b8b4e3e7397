"""Independent reviews: agreement, disagreement, adjudication and visibility."""

import json
from functools import partial
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from reviews.accounts.permissions import Denied
from reviews.dashboard import daily_counts, drilldown, reviewer_activity
from reviews.dashboard.selection import WorkSelection
from reviews.exports import independent_reviews as exports_independent_reviews
from reviews.history import recent, timeline, versions
from reviews.models import (
    AuditEvent,
    Escalation,
    Evaluation,
    IndependentReview,
    Rating,
    Review,
    Run,
    User,
)
from reviews.queue import claims, progress
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.review import (
    adjudication,
    decisions,
    drafts,
    escalations,
    independent_reviews,
    undo,
)
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.commands import manage
from tests.support.factories import EvaluationFactory, RunFactory, UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.threads import together
from tests.support.work import SCORES, decide, fresh

pytestmark = pytest.mark.django_db

OTHER = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}


@pytest.fixture
def run() -> Run:
    """Each record is for two people."""
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


@pytest.fixture
def evaluation(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run)


@pytest.fixture
def cy() -> User:
    """A third reviewer."""
    return UserFactory.create(username="cy", role="reviewer")


def differ(evaluation: Evaluation, ana: User, bo: User) -> Escalation:
    """Ana and bo give independent reviews that differ on one criterion."""
    decide(evaluation, ana)
    decide(evaluation, bo, scores=OTHER, comments="It is right.")
    return Escalation.objects.get(outcome="open")


def add(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    """The independent review of somebody who came too late."""
    return decide(fresh(evaluation), reviewer, by=independent_reviews.add, **other)


def actions(evaluation: Evaluation) -> list[str]:
    return list(evaluation.events.order_by("pk").values_list("action", flat=True))


class TestFirstReview:
    def test_first_review_is_not_the_current_decision(self, evaluation: Evaluation, ana: User) -> None:
        before = fresh(evaluation).human
        review = decide(evaluation, ana)
        after = fresh(evaluation)
        assert (after.review, after.human, after.version) == (None, before, evaluation.version)
        assert (review.version, review.independent_review.is_open) == (1, True)
        assert not Rating.objects.exists()

    def test_first_review_releases_the_record_and_deletes_the_draft(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        drafts.save(evaluation_id=evaluation.pk, reviewer=ana, fields=[["comments", "Hm."]], revision=1)
        decide(evaluation, ana)
        assert fresh(evaluation).claimed_by is None
        assert drafts.find_draft(evaluation, ana) is None

    def test_record_with_first_review_is_offered_to_others(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        assert claims.claim_next(run=evaluation.run, reviewer=ana) is None
        assert claims.claim_next(run=evaluation.run, reviewer=ana, condition=Q(pk=evaluation.pk)) is None
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_first_review_removes_the_assignment(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        Evaluation.objects.update(assigned_to=ana)
        decide(fresh(evaluation), ana)
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_reviewer_cannot_review_the_record_twice(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        said = r"^You submitted your review at \d\d:\d\d UTC\. Waiting for the other reviewers\.$"
        with pytest.raises(RecordUnavailable, match=said):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(RecordUnavailable, match=said):
            claims.skip(evaluation_id=evaluation.pk, reviewer=ana)
        with pytest.raises(Conflict, match=said):
            decide(evaluation, ana)

    def test_first_review_sent_twice_is_saved_once(self, evaluation: Evaluation, ana: User) -> None:
        review = decide(evaluation, ana)
        assert decide(evaluation, ana, submission=review.submission) == review
        assert IndependentReview.objects.count() == 1

    def test_first_review_is_in_the_audit_log_with_its_scores(
        self, evaluation: Evaluation, ana: User
    ) -> None:
        decide(evaluation, ana, comments="Step 2.", causes={"Clarity": "misread"})
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.detail["version"]) == ("independent review", ana, 1)
        assert event.detail["scores"] == SCORES
        assert (event.detail["comments"], event.detail["causes"]) == ("Step 2.", {"Clarity": "misread"})
        assert "human" not in event.detail

    def test_first_review_counts_as_activity(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        assert [
            (one.reviewer, one.done) for one in reviewer_activity.team_figures(WorkSelection()).reviewers
        ] == [(ana, 1)]

    def test_open_review_is_in_no_override_metric(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        def figures() -> list[Any]:
            selection = WorkSelection(run=evaluation.run)
            by_criterion = (
                daily_counts.criterion_overrides(selection),
                daily_counts.criterion_overrides_by_reviewer(selection),
            )
            worked = [
                (one.compared, one.judged, one.longest_agreement)
                for one in reviewer_activity.team_figures(selection).reviewers
            ]
            return [*by_criterion, worked, [one.changed for one in daily_counts.day_figures(selection)]]

        judged = {"Clarity": "No", "Conclusion Accuracy": "No"}
        decide(evaluation, ana, judged=judged)
        assert figures() == [[], [], [(0, 0, 0)], [0]]
        decide(fresh(evaluation), bo, judged=judged)
        criteria, by_reviewer, worked, changed = figures()
        assert [(one.criterion, one.judged, one.overridden) for one in criteria] == [
            ("Clarity", 2, 2),
            ("Conclusion Accuracy", 2, 0),
        ]
        assert len(by_reviewer) == 4
        assert worked == [(1, 2, 0), (1, 2, 0)]
        assert changed == [1, 1]

    def test_record_with_first_review_counts_in_queues_of_others_only(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        mine, of_bo = (
            progress.reviewer_progress(run=evaluation.run, reviewer=person) for person in (ana, bo)
        )
        assert (mine.left, mine.reviewed_by_you) == (0, 1)
        assert (of_bo.left, of_bo.reviewed_by_you) == (1, 0)

    def test_review_outside_the_overlap_share_is_a_decision(self, evaluation: Evaluation, ana: User) -> None:
        Run.objects.update(overlap_share=0)
        decide(evaluation, ana)
        assert fresh(evaluation).human_review_status == "Completed"
        assert not IndependentReview.objects.exists()


class TestAgreement:
    def test_last_agreeing_review_is_the_current_decision(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana, comments="Mine.")
        last = decide(evaluation, bo, comments="And mine.")
        after = fresh(evaluation)
        assert (after.review, after.human_review_status, after.human_reviewer_id) == (last, "Completed", "bo")
        assert (after.human_review_comments, after.version) == ("And mine.", evaluation.version + 1)
        assert not IndependentReview.objects.filter(is_open=True).exists()
        assert actions(evaluation) == ["independent review", "independent review", "resolve"]
        detail = AuditEvent.objects.get(action="resolve").detail
        assert (detail["version"], detail["independent_reviews"]) == (2, [1, 2])
        assert detail["human"]["after"]["human_reviewer_id"] == "bo"

    def test_reviews_with_other_justifications_agree(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo, scores={name: {"score": one["score"]} for name, one in SCORES.items()})
        assert fresh(evaluation).is_done

    def test_equal_numbers_agree_but_a_number_and_a_text_differ(self, run: Run, ana: User, bo: User) -> None:
        for other, agrees in ((4.0, True), ("4", False), (True, False)):
            record = EvaluationFactory.create(run=run)
            decide(record, ana, scores={"Clarity": {"score": 4}}, origins={})
            decide(record, bo, scores={"Clarity": {"score": other}}, origins={})
            assert fresh(record).is_done is agrees

    def test_agreeing_reviews_wait_for_the_required_number(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User
    ) -> None:
        Run.objects.update(overlap=3)
        for person in (ana, bo):
            decide(fresh(evaluation), person)
            assert fresh(evaluation).review is None
        decide(fresh(evaluation), cy)
        assert fresh(evaluation).human_reviewer_id == "cy"

    def test_agreeing_reviews_do_not_wait_after_the_number_is_reduced(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        Run.objects.update(overlap_share=0)
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).is_done

    def test_agreement_closes_the_reviews_for_later_decisions(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        decisions.reopen(evaluation_id=evaluation.pk, actor=bo, reason="Again.")
        review = decide(fresh(evaluation), ana, scores=OTHER)
        assert fresh(evaluation).review == review


class TestDisagreement:
    @pytest.mark.parametrize(
        "scores", [OTHER, {"Clarity": SCORES["Clarity"]}, SCORES | {"Rigor": {"score": "Yes"}}]
    )
    def test_disagreement_is_escalated(
        self, evaluation: Evaluation, ana: User, bo: User, scores: dict[str, Any]
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo, scores=scores)
        after = fresh(evaluation)
        assert (after.review, after.is_escalated, after.human_review_status) == (None, True, "Needs Review")
        raised = Escalation.objects.get()
        assert (raised.kind, raised.outcome, raised.raised_by) == ("disagreement", "open", bo)
        assert actions(evaluation) == ["independent review", "independent review", "disagreement"]

    def test_disagreement_cannot_be_claimed_by_reviewers(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        differ(evaluation, ana, bo)
        for person in (ana, bo, cy, lea):
            assert claims.claim_next(run=evaluation.run, reviewer=person) is None
        with pytest.raises(
            RecordUnavailable,
            match=r"^Reviewers disagree: this was sent to a lead at \d\d:\d\d UTC\.$",
        ):
            claims.claim(evaluation_id=evaluation.pk, reviewer=cy)

    def test_lead_decides_a_disagreement(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        review = decide(claims.claim(evaluation_id=evaluation.pk, reviewer=lea), lea, scores=OTHER)
        after = fresh(evaluation)
        assert (after.review, after.is_escalated, after.human_reviewer_id) == (review, False, "lea")
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("decided", lea)
        assert list(IndependentReview.objects.values_list("is_open", flat=True)) == [False, False]
        assert not hasattr(review, "independent_review")

    def test_undone_lead_decision_reopens_the_disagreement(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        decide(fresh(evaluation), lea)
        undo.undo(run=evaluation.run, actor=lea)
        assert [one.reviewer for one in independent_reviews.open_reviews(fresh(evaluation))] == [ana, bo]
        raised.refresh_from_db()
        assert (raised.outcome, fresh(evaluation).is_escalated) == ("open", True)

    def test_lead_who_submitted_a_review_may_decide(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        differ(evaluation, ana, lea)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        decide(fresh(evaluation), lea)
        assert fresh(evaluation).is_done

    def test_returned_disagreement_takes_one_more_review(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) is None
        assert claims.claim_next(run=evaluation.run, reviewer=cy) == evaluation
        assert escalations.find_answer(evaluation) is None
        decide(fresh(evaluation), cy)
        assert [one.reviewer for one in independent_reviews.open_reviews(fresh(evaluation))] == [ana, bo, cy]
        assert fresh(evaluation).is_escalated

    def test_disagreement_can_be_closed_without_scores(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        raised = differ(evaluation, ana, bo)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="No reference.")
        assert (fresh(evaluation).human_review_status, independent_reviews.open_reviews(evaluation)) == (
            "Completed",
            [],
        )

    def test_disagreement_cannot_be_withdrawn(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        raised = differ(evaluation, ana, bo)
        with pytest.raises(Denied, match="Use Undo to withdraw your own review"):
            escalations.withdraw(escalation_id=raised.pk, actor=bo)
        assert recent.load_page(reviewer=bo, run=evaluation.run).escalations == []

    def test_disagreement_is_not_listed_as_a_question(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        differ(evaluation, ana, bo)
        assert {one.escalated for one in reviewer_activity.team_figures(WorkSelection()).reviewers} == {0}


class TestUndo:
    def test_undone_independent_review_returns_the_record(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana, comments="Hm.")
        taken = undo.undo(run=evaluation.run, actor=ana).evaluation
        assert (taken, taken.claimed_by) == (evaluation, ana)
        draft = drafts.find_draft(evaluation, ana)
        assert draft
        assert ["comments", "Hm."] in draft.fields
        assert independent_reviews.open_reviews(evaluation) == []
        assert actions(evaluation) == ["independent review", "undo independent review"]
        decide(fresh(evaluation), ana)
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).review == Review.objects.get(version=3)

    def test_undone_independent_review_keeps_the_claim_of_another(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        undo.undo(run=evaluation.run, actor=ana)
        assert fresh(evaluation).claimed_by == bo
        decide(fresh(evaluation), bo)
        assert fresh(evaluation).review is None

    @pytest.mark.parametrize("who", ["ana", "bo"])
    def test_undone_review_of_a_disagreement_ends_the_escalation(
        self, evaluation: Evaluation, ana: User, bo: User, who: str
    ) -> None:
        raised = differ(evaluation, ana, bo)
        person = {"ana": ana, "bo": bo}[who]
        undo.undo(run=evaluation.run, actor=person)
        raised.refresh_from_db()
        assert (raised.outcome, raised.resolved_by) == ("withdrawn", person)
        assert (fresh(evaluation).is_escalated, fresh(evaluation).claimed_by) == (False, person)

    def test_undo_is_refused_while_a_lead_adjudicates(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        differ(evaluation, ana, bo)
        claims.claim(evaluation_id=evaluation.pk, reviewer=lea)
        with pytest.raises(Conflict, match=r"lea has been reviewing this since"):
            undo.undo(run=evaluation.run, actor=ana)

    def test_undone_last_review_reopens_the_others(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        undo.undo(run=evaluation.run, actor=bo)
        after = fresh(evaluation)
        assert (after.review, after.human_review_status, after.claimed_by) == (None, "Needs Review", bo)
        assert [one.reviewer for one in independent_reviews.open_reviews(after)] == [ana]
        claims.release(evaluation_id=evaluation.pk, actor=bo)
        decide(fresh(evaluation), cy)
        assert fresh(evaluation).human_reviewer_id == "cy"

    def test_undo_of_a_review_that_others_completed_is_refused(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        decide(evaluation, bo)
        with pytest.raises(
            Conflict, match=r"bo decided this after the independent reviews at \d\d:\d\d UTC\.$"
        ):
            undo.undo(run=evaluation.run, actor=ana)

    def test_undone_review_does_not_count_as_activity(self, evaluation: Evaluation, ana: User) -> None:
        decide(evaluation, ana)
        undo.undo(run=evaluation.run, actor=ana)
        assert reviewer_activity.team_figures(WorkSelection()).reviewers == []


class TestTakeOver:
    def test_lead_who_takes_over_decides_with_the_submitted_reviews(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        assert (fresh(evaluation).claimed_by, fresh(evaluation).is_escalated) == (lea, True)
        review = decide(fresh(evaluation), lea)
        assert fresh(evaluation).review == review
        assert actions(evaluation) == ["independent review", "take over", "reveal", "adjudicate"]

    def test_decision_of_a_lead_records_whose_scores_and_words_it_has(
        self, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        own = {"Clarity": {"score": "No", "justification": "It jumps."}}
        decide(evaluation, ana, scores=SCORES | own)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        other = {"Clarity": {"score": "No", "justification": "It jumps a step."}}
        decide(fresh(evaluation), lea, scores=SCORES | other)
        event = AuditEvent.objects.get(action="adjudicate", evaluation=evaluation)
        assert event.detail["same_scores"] == {name: ["ana"] for name in SCORES if name != "Clarity"}

    def test_lead_may_return_a_record_after_taking_over(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        raised = Escalation.objects.get()
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        assert claims.claim_next(run=evaluation.run, reviewer=bo) == evaluation

    def test_take_over_is_for_leads(self, evaluation: Evaluation, ana: User, bo: User) -> None:
        decide(evaluation, ana)
        with pytest.raises(Denied):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=bo)

    def test_take_over_needs_an_open_review_and_no_claim(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        with pytest.raises(Conflict, match=r"^This record has no open independent reviews\.$"):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)
        decide(evaluation, ana)
        claims.claim(evaluation_id=evaluation.pk, reviewer=bo)
        with pytest.raises(RecordUnavailable, match=r"^bo has been reviewing this since"):
            independent_reviews.take_over(evaluation_id=evaluation.pk, actor=lea)

    def test_lead_submits_an_independent_review_without_taking_over(
        self, evaluation: Evaluation, lea: User
    ) -> None:
        decide(evaluation, lea)
        assert fresh(evaluation).review is None

    def test_lead_decides_an_escalated_record_at_once(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        escalations.escalate(
            evaluation_id=evaluation.pk, reviewer=bo, kind="question", reason="question", note="Why?"
        )
        decide(fresh(evaluation), lea)
        assert (fresh(evaluation).human_reviewer_id, independent_reviews.open_reviews(evaluation)) == (
            "lea",
            [],
        )


class TestLateReview:
    @pytest.fixture(autouse=True)
    def _single(self, run: Run) -> None:
        Run.objects.update(overlap_share=0)

    @pytest.fixture
    def decided(self, evaluation: Evaluation, ana: User) -> Evaluation:
        decide(evaluation, ana)
        return fresh(evaluation)

    def test_late_review_that_agrees_keeps_the_decision(self, decided: Evaluation, bo: User) -> None:
        review = add(decided, bo)
        after = fresh(decided)
        assert (after.review, after.human, after.is_escalated) == (decided.review, decided.human, False)
        assert review.version == 2
        assert list(IndependentReview.objects.values_list("is_open", flat=True)) == [False, False]
        assert actions(decided) == ["submit", "independent review"]

    def test_late_review_that_differs_is_escalated(self, decided: Evaluation, bo: User) -> None:
        add(decided, bo, scores=OTHER)
        after = fresh(decided)
        assert (after.review, after.human, after.is_escalated) == (decided.review, decided.human, True)
        assert Escalation.objects.get().kind == "disagreement"
        assert progress.run_progress(decided.run).escalated == 0
        assert progress.run_progress(decided.run).done == 1

    def test_revision_by_the_lead_closes_a_late_review(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        decide(fresh(decided), lea, by=decisions.revise, scores=OTHER)
        assert (fresh(decided).human_reviewer_id, fresh(decided).is_escalated) == ("lea", False)
        assert Escalation.objects.get().outcome == "decided"
        assert independent_reviews.open_reviews(decided) == []

    def test_upheld_decision_closes_a_late_review(self, decided: Evaluation, bo: User, lea: User) -> None:
        add(decided, bo, scores=OTHER)
        raised = Escalation.objects.get()
        with pytest.raises(Conflict, match="Uphold the decision, or revise it"):
            escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="upheld", answer="")
        after = fresh(decided)
        assert (after.human, after.is_escalated, independent_reviews.open_reviews(after)) == (
            decided.human,
            False,
            [],
        )

    def test_late_review_that_differs_blocks_changes_by_others(
        self, decided: Evaluation, ana: User, bo: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        said = r"A later review disagrees with this decision\. A lead will decide\.$"
        with pytest.raises(Conflict, match=said):
            decide(fresh(decided), ana, by=decisions.revise)
        with pytest.raises(Conflict, match=said):
            undo.undo(run=decided.run, actor=ana)

    @pytest.mark.parametrize("scores", [SCORES, OTHER])
    def test_late_review_can_be_undone(self, decided: Evaluation, bo: User, scores: dict[str, Any]) -> None:
        add(decided, bo, scores=scores)
        undo.undo(run=decided.run, actor=bo)
        after = fresh(decided)
        assert (after.human, after.is_escalated, independent_reviews.open_reviews(after)) == (
            decided.human,
            False,
            [],
        )
        assert not Escalation.objects.filter(outcome="open").exists()
        add(decided, bo)

    def test_late_review_is_by_another_reviewer_and_only_once(
        self, decided: Evaluation, ana: User, bo: User
    ) -> None:
        with pytest.raises(Conflict, match="The current decision is yours"):
            add(decided, ana)
        review = add(decided, bo)
        assert add(decided, bo, submission=review.submission) == review
        with pytest.raises(Conflict, match="You have already reviewed this record"):
            add(decided, bo)

    def test_late_review_needs_an_unchanged_decision_made_here(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        version = decided.version
        decide(decided, ana, by=decisions.revise)
        with pytest.raises(Conflict, match=r"^ana submitted this at .* You agree on every criterion\.$"):
            add(decided, bo, version=version)
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Again.")
        with pytest.raises(Conflict, match="This record is no longer decided"):
            add(decided, bo)

    def test_reopened_record_with_a_late_review_stays_escalated(
        self, decided: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        add(decided, bo, scores=OTHER)
        decisions.reopen(evaluation_id=decided.pk, actor=lea, reason="Both again.")
        assert claims.claim_next(run=decided.run, reviewer=ana) is None
        decide(fresh(decided), lea)
        assert (fresh(decided).human_reviewer_id, fresh(decided).is_escalated) == ("lea", False)

    def test_late_review_does_not_change_an_export(self, ana: User, bo: User) -> None:
        import_data(file_of(line("eval_a"), line("eval_b")))
        record = Evaluation.objects.get(evaluation_id="eval_a")
        decide(record, ana)
        before = export_data()
        add(record, bo, scores=OTHER)
        assert export_data() == before
        assert export_data(only="reviewed").count(b"\n") == 1


def readable_reviewers(evaluation: Evaluation, reader: User) -> list[str]:
    """List the authors whose decisions the reader sees in the history of the record."""
    page = timeline.load_page(evaluation, reader=reader)
    return [entry.version.review.reviewer.username for entry in page.entries if entry.version]


class TestVisibility:
    @pytest.mark.slow
    def test_open_reviews_of_others_are_hidden(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        assert [readable_reviewers(fresh(evaluation), reader) for reader in (ana, bo, lea)] == [
            ["ana"],
            [],
            [],
        ]
        differ_too = decide(evaluation, bo, scores=OTHER).evaluation
        assert [readable_reviewers(fresh(differ_too), reader) for reader in (ana, bo, lea)] == [
            ["ana"],
            ["bo"],
            [],
        ]

    @pytest.mark.slow
    def test_history_of_a_waiting_record_hides_who_reviews_it(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
        decide(fresh(evaluation), ana)

        def seen(reader: User) -> list[str]:
            page = timeline.load_page(fresh(evaluation), reader=reader)
            return [entry.what for entry in page.entries if entry.who == "ana"]

        submitted = ["submitted an independent review", "claimed it"]
        assert [seen(reader) for reader in (ana, bo, lea)] == [submitted, [], []]
        decide(fresh(evaluation), bo)
        assert seen(bo) == seen(lea) == submitted

    def test_metrics_do_not_reveal_open_reviews(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        review = decide(evaluation, ana)
        selection = WorkSelection(reviewer=ana)
        assert drilldown.list_decisions(selection, reader=lea).rows == []
        assert drilldown.list_decisions(selection, reader=ana).rows == [review]

    def test_export_has_no_open_reviews(self, ana: User, bo: User) -> None:
        file = file_of(line("eval_a"), line("eval_b"))
        import_data(file)
        Run.objects.update(overlap_share=1)
        decide(Evaluation.objects.get(evaluation_id="eval_a"), ana)
        assert export_data() == file
        assert export_data(only="reviewed") == b""

    @pytest.mark.slow
    def test_all_reviews_are_visible_after_the_decision(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        differ(evaluation, ana, bo)
        decide(fresh(evaluation), lea)
        assert readable_reviewers(fresh(evaluation), ana) == ["lea", "bo", "ana"]
        known = run_rubric(evaluation.run)
        made = versions.list_versions(fresh(evaluation), read_proposals(evaluation, known), known, reader=ana)
        assert [version.state for version in made] == ["current", "independent review", "independent review"]

    def test_recent_work_shows_the_state_of_own_reviews(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        (mine,) = recent.load_page(reviewer=ana, run=evaluation.run).decisions
        assert mine.state == "independent review"
        decide(evaluation, bo)
        (mine,) = recent.load_page(reviewer=ana, run=evaluation.run).decisions
        assert mine.state == "independent review"


class TestNewEvidence:
    @pytest.fixture
    def record(self, ana: User) -> Evaluation:
        """With ana's independent review."""
        import_data(line("eval_a"))
        Run.objects.update(overlap_share=1)
        record = Evaluation.objects.get()
        decide(record, ana)
        return record

    @pytest.mark.slow
    def test_new_evidence_requires_new_reviews(self, record: Evaluation, ana: User, bo: User) -> None:
        import_data(line("eval_a", aggregated_score="Fail"))
        assert independent_reviews.open_reviews(record) == []
        decide(fresh(record), bo)
        assert claims.claim_next(run=record.run, reviewer=ana) == record
        decide(fresh(record), ana)
        assert fresh(record).human_reviewer_id == "ana"

    @pytest.mark.slow
    def test_new_evidence_keeps_an_adjudicated_disagreement(self, record: Evaluation, bo: User) -> None:
        decide(record, bo, scores=OTHER)
        import_data(line("eval_a", aggregated_score="Fail"))
        assert len(independent_reviews.open_reviews(record)) == 2

    @pytest.mark.slow
    def test_other_spelling_of_a_line_keeps_the_reviews(self, record: Evaluation) -> None:
        import_data(line("eval_a").replace(b"{", b"{ ", 1))
        assert len(independent_reviews.open_reviews(record)) == 1


class TestReviewerShortage:
    def test_shortage_is_explained_if_there_are_too_few_reviewers(self, run: Run, ana: User) -> None:
        assert independent_reviews.reviewer_shortage(run).startswith(
            "2 people are to review the same record and only 1 person can."
        )

    def test_enough_reviewers_are_no_shortage(self, run: Run, ana: User, lea: User, eve: User) -> None:
        assert independent_reviews.reviewer_shortage(run) == ""
        lea.is_active = False
        lea.save()
        assert independent_reviews.reviewer_shortage(run)

    def test_run_without_overlap_has_no_shortage(self, run: Run) -> None:
        run.overlap_share = 0
        assert independent_reviews.reviewer_shortage(run) == ""


class TestComparison:
    @pytest.fixture
    def beside(self, evaluation: Evaluation, ana: User, bo: User, lea: User) -> adjudication.ReviewComparison:
        differ(evaluation, ana, bo)
        known = run_rubric(evaluation.run)
        given = independent_reviews.open_reviews(evaluation)
        return adjudication.compare_reviews(given, read_proposals(evaluation, known), known, lea)

    def test_comparison_has_scores_by_reviewer(self, beside: adjudication.ReviewComparison) -> None:
        assert [(voice.reviewer, voice.verdict, voice.comments) for voice in beside.reviewers] == [
            ("ana", "Fail", ""),
            ("bo", "Pass", "It is right."),
        ]
        row = next(row for row in beside.criteria if row.title == "Conclusion Accuracy")
        assert [(said.reviewer, said.score, said.counts) for said in row.scores] == [
            ("ana", "No", "no"),
            ("bo", "Yes", "yes"),
        ]
        assert (row.judge, row.scores[1].text) == ("No", "One half it is.")

    def test_comparison_marks_criteria_that_differ(self, beside: adjudication.ReviewComparison) -> None:
        assert {row.title: row.differs for row in beside.criteria} == {
            "Problem Understanding": False,
            "Conclusion Accuracy": True,
            "Clarity": False,
        }
        assert beside.sentence == "2 independent reviews differ on 1 of 3 criteria."

    def test_agreed_scores_are_those_of_all_reviewers(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        differ(evaluation, ana, bo)
        known = read_proposals(evaluation, run_rubric(evaluation.run))
        agreed = adjudication.agreed_scores(independent_reviews.open_reviews(evaluation), known)
        assert (agreed["Clarity"].score, agreed["Clarity"].justification) == ("Yes", "Each step follows.")
        assert agreed["Conclusion Accuracy"].score is None
        assert (agreed["Conclusion Accuracy"].is_excluded, agreed["Conclusion Accuracy"].cause) == (False, "")
        # Both reviewers excluded it.
        assert (agreed["Problem Understanding"].score, agreed["Problem Understanding"].is_excluded) == (
            None,
            True,
        )


class TestExport:
    def lines(self, run: Run) -> list[dict[str, Any]]:
        return [json.loads(one) for one in exports_independent_reviews.independent_review_lines(run)]

    def test_export_of_reviews_marks_the_current_decision(
        self, run: Run, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana, causes={"Clarity": "misread"})
        review = decide(evaluation, bo, comments="Yes.")
        first, last = self.lines(run)
        assert list(first) == [
            "evaluation_id",
            "reviewer",
            "submitted_at",
            "scores",
            "comments",
            "causes",
            "is_current",
            "withheld",
        ]
        assert [(one["reviewer"], one["is_current"]) for one in (first, last)] == [
            ("ana", False),
            ("bo", True),
        ]
        assert (first["scores"], first["causes"]) == (SCORES, {"Clarity": "misread"})
        assert last["comments"] == "Yes."
        assert last["submitted_at"] == review.submitted_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert timezone.is_aware(review.submitted_at)

    def test_export_of_reviews_has_the_lead_decision_and_no_undone_review(
        self, run: Run, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        decide(evaluation, ana)
        undo.undo(run=run, actor=ana)
        differ(fresh(evaluation), ana, bo)
        decide(fresh(evaluation), lea)
        said = [(one["reviewer"], one["is_current"]) for one in self.lines(run)]
        assert said == [("ana", False), ("bo", False), ("lea", True)]

    def test_export_of_reviews_excludes_records_for_one_reviewer(self, run: Run, ana: User) -> None:
        Run.objects.update(overlap_share=0)
        decide(EvaluationFactory.create(run=run), ana)
        assert self.lines(run) == []

    def test_command_exports_reviews(
        self, run: Run, evaluation: Evaluation, ana: User, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        decide(evaluation, ana)
        assert (
            json.loads(manage(capfdbinary, "export_independent_reviews", "algebra").out)["reviewer"] == "ana"
        )
        unknown = manage(capfdbinary, "export_independent_reviews", "geometry")
        assert (unknown.status, unknown.err) == (2, "No run 'geometry'. Runs: algebra.")


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_last_reviews_give_one_resolution(
    evaluation: Evaluation, ana: User, bo: User, cy: User
) -> None:
    decide(evaluation, ana)
    outcomes = together(partial(decide, evaluation, bo), partial(decide, evaluation, cy), expecting=Conflict)
    (review,) = [outcome for outcome in outcomes if isinstance(outcome, Review)]
    (refused,) = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert refused.reason.startswith(f"{review.reviewer.name} submitted this at")
    assert fresh(evaluation).review == review
    assert AuditEvent.objects.filter(action="resolve").count() == 1

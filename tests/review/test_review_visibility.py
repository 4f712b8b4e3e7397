"""Visibility of independent reviews on pages, in metrics and in exports."""

import json
from typing import Any

import pytest
from django.utils import timezone

from reviews.dashboard import drilldown
from reviews.dashboard.selection import WorkSelection
from reviews.exports import independent_reviews as exports_independent_reviews
from reviews.history import recent, timeline, versions
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import adjudication, independent_reviews, undo
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.independent_reviews import OTHER, differ
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import SCORES, decide, fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """Each record is for two people."""
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


def readable_reviewers(evaluation: Evaluation, reader: User) -> list[str]:
    """List the authors whose decisions the reader sees in the history of the record."""
    page = timeline.load_page(evaluation, reader=reader)
    return [entry.version.review.reviewer.username for entry in page.rows if entry.version]


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
            return [entry.what for entry in page.rows if entry.who == "ana"]

        submitted = ["submitted an independent review", "claimed it"]
        assert [seen(reader) for reader in (ana, bo, lea)] == [submitted, [], []]
        decide(fresh(evaluation), bo)
        assert seen(bo) == seen(lea) == submitted

    def test_metrics_do_not_reveal_open_reviews(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        review = decide(evaluation, ana)
        selection = WorkSelection(reviewer=ana)
        assert drilldown.list_decisions(selection, reader=lea).rows == []
        assert drilldown.list_decisions(selection, reader=ana).rows == [review]

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_recent_work_shows_the_state_of_own_reviews(
        self, evaluation: Evaluation, ana: User, bo: User
    ) -> None:
        decide(evaluation, ana)
        (mine,) = recent.load_page(reviewer=ana, run=evaluation.run).decisions
        assert mine.state == "independent review"
        decide(evaluation, bo)
        (mine,) = recent.load_page(reviewer=ana, run=evaluation.run).decisions
        assert mine.state == "independent review"


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

    @pytest.mark.slow
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
        self, run: Run, evaluation: Evaluation, ana: User, capfdbinary: Capture
    ) -> None:
        decide(evaluation, ana)
        assert (
            json.loads(manage(capfdbinary, "export_independent_reviews", "algebra").out)["reviewer"] == "ana"
        )
        unknown = manage(capfdbinary, "export_independent_reviews", "geometry")
        assert (unknown.status, unknown.err) == (2, "No run 'geometry'. Runs: algebra.")

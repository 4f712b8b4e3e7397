"""Independent reviews of records that are decided already, on the review screen."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Draft, Escalation, Evaluation, IndependentReview, Run, User
from reviews.review import decisions, independent_reviews
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.independent_pages import DEEP, SCORES
from tests.support.pages import HTMX, filled_in, form_of, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra", overlap_share=1)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


@pytest.mark.slow
class TestLateReview:
    @pytest.fixture
    def decided(self, record: Evaluation, ana: User) -> Evaluation:
        Run.objects.update(overlap_share=0)
        decide(record, ana, scores=DEEP)
        return record

    def test_late_review_is_offered_next_to_the_decision(self, as_bo: Client, decided: Evaluation) -> None:
        response = as_bo.post(url("submit", decided), form_of(decided), headers=HTMX)
        page = text(response)
        assert response.status_code == 409
        assert "ana submitted this at" in page
        assert "You differ on 1 criterion." in page
        assert "Your entries" in page
        assert "Submit as independent review" in page
        assert url("independent-review", decided) in page

    def test_late_review_is_offered_when_a_draft_is_saved(self, as_bo: Client, decided: Evaluation) -> None:
        draft = form_of(decided, revision=1)
        response = as_bo.post(url("draft", decided), draft, headers=HTMX)
        assert response.status_code == 409
        assert "Submit as independent review" in text(response)

    def test_draft_of_a_decided_record_is_offered_and_opened(
        self, as_bo: Client, decided: Evaluation, bo: User
    ) -> None:
        Draft.objects.create(evaluation=decided, reviewer=bo, fields=[["comments", "Half done."]])
        place = f"{url('evaluation', decided)}?draft=open"
        assert f'href="{place}' in text(as_bo.get(url("evaluation", decided)))
        opened = as_bo.get(place)
        assert "Submit as independent review" in text(opened)
        assert "Your entries" in text(opened)
        assert filled_in(opened)["comments"] == "Half done."
        as_bo.post(url("draft", decided), {"action": "discard"})
        page = text(as_bo.get(url("evaluation", decided)))
        assert re.search(r'id="kept" hidden', page)

    def test_own_decision_has_no_late_draft(self, as_ana: Client, decided: Evaluation) -> None:
        page = text(as_ana.get(f"{url('evaluation', decided)}?draft=open"))
        assert 'id="kept"' not in page
        assert 'id="review-form"' not in page

    def test_second_submit_of_the_same_reviewer_can_be_saved_as_a_new_version(
        self, as_ana: Client, decided: Evaluation
    ) -> None:
        posted = form_of(decided) | {"comments": "From the other tab."}
        refused = as_ana.post(url("submit", decided), posted, headers=HTMX)
        assert refused.status_code == 409
        assert "You submitted this at " in text(refused)
        assert "Save as new version" in text(refused)
        as_ana.post(url("revise", decided), filled_in(refused))
        review = Evaluation.objects.get().review
        assert review
        assert (review.version, review.comments) == (2, "From the other tab.")

    def test_differing_late_review_goes_to_a_lead(self, as_bo: Client, decided: Evaluation) -> None:
        refused = as_bo.post(url("submit", decided), form_of(decided), headers=HTMX)
        response = as_bo.post(url("independent-review", decided), filled_in(refused), follow=True)
        assert "Your independent review of Task 7 · o1 is saved. It differs from the decision" in text(
            response
        )
        after = Evaluation.objects.get()
        assert (after.human_reviewer_id, after.is_escalated) == ("ana", True)

    def test_agreeing_late_review_is_saved(self, as_bo: Client, decided: Evaluation) -> None:
        refused = as_bo.post(url("submit", decided), form_of(decided), headers=HTMX)
        posted = filled_in(refused) | {"criteria-1-score": "Yes"}
        response = as_bo.post(url("independent-review", decided), posted, follow=True)
        assert "It agrees with the current decision." in text(response)
        assert IndependentReview.objects.count() == 2

    def test_late_review_is_resolved_by_a_lead(
        self, as_bo: Client, as_lea: Client, decided: Evaluation, bo: User
    ) -> None:
        decide(Evaluation.objects.get(), bo, by=independent_reviews.add, scores=SCORES)
        page = text(as_lea.get(url("evaluation", decided)))
        assert "A review came in after the decision" in page
        assert "2 independent reviews differ on 1 of 2 criteria." in page
        raised = Escalation.objects.get()
        as_lea.post(url("resolve-escalation", raised), {"outcome": "upheld"})
        assert not Evaluation.objects.get().is_escalated
        assert "independent review" in text(as_bo.get(url("evaluation", decided)))

    def test_late_disagreement_is_counted_in_the_inbox(
        self, as_lea: Client, decided: Evaluation, bo: User
    ) -> None:
        place = reverse("inbox", query={"run": decided.run_id})
        assert "Needs attention (0)" in text(as_lea.get(place))
        decide(Evaluation.objects.get(), bo, by=independent_reviews.add, scores=SCORES)
        assert "Needs attention (1)" in text(as_lea.get(place))

    def test_late_review_is_shown_next_to_the_revision(
        self, as_lea: Client, decided: Evaluation, bo: User
    ) -> None:
        decide(Evaluation.objects.get(), bo, by=independent_reviews.add, scores=SCORES)
        response = as_lea.get(url("revise", decided))
        assert "2 independent reviews differ on 1 of 2 criteria." in text(response)
        posted = filled_in(response)
        assert posted["criteria-0-score"] == ""  # not that of ana's decision
        as_lea.post(url("revise", decided), posted | {"criteria-0-score": "No"})
        after = Evaluation.objects.get()
        assert (after.is_escalated, after.human_reviewer_id) == (False, "lea")

    def test_late_review_is_not_offered_to_the_author_of_the_decision(
        self, as_ana: Client, decided: Evaluation
    ) -> None:
        page = text(as_ana.post(url("submit", decided), form_of(decided), headers=HTMX))
        assert "Submit as independent review" not in page

    def test_incomplete_late_review_is_rejected(self, as_bo: Client, decided: Evaluation) -> None:
        response = as_bo.post(url("independent-review", decided), {}, headers=HTMX)
        assert response.status_code == 422
        assert "Your independent review was not saved" in text(response)

    def test_late_review_on_changed_decision_is_a_conflict(
        self, as_bo: Client, decided: Evaluation, ana: User
    ) -> None:
        refused = as_bo.post(url("submit", decided), form_of(decided), headers=HTMX)
        decide(Evaluation.objects.get(), ana, by=decisions.revise, scores=SCORES)
        response = as_bo.post(url("independent-review", decided), filled_in(refused), headers=HTMX)
        assert response.status_code == 409
        assert "ana submitted this at" in text(response)
        again = as_bo.post(url("independent-review", decided), filled_in(response), follow=True)
        assert "It agrees with the current decision." in text(again)

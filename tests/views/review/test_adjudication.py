"""Pages on which a lead adjudicates independent reviews."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Escalation, Evaluation, Review, Run, User
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.independent_pages import SCORES, SECRET
from tests.support.pages import HTMX, filled_in, text, url
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra", overlap_share=1)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


class TestAdjudication:
    def test_adjudication_shows_independent_reviews_side_by_side(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        before = text(as_lea.get(url("evaluation", record)))
        assert "Claim the record to read the reviews and decide." in before
        assert SECRET not in before
        page = text(as_lea.post(url("claim", record), headers=HTMX))
        assert "2 independent reviews differ on 1 of 2 criteria." in page
        assert page.count("differs</span>") == 2  # depth, and the verdict
        for said in (SECRET, "A word of ana.", "A word of bo.", "Too strict"):
            assert said in page
        assert "Return to the queue for another review" in page

    @pytest.mark.slow
    def test_adjudication_form_is_prefilled_with_agreed_scores(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        as_lea.post(url("claim", record))
        response = as_lea.get(url("evaluation", record))
        assert "<h2>Your decision</h2>" in text(response)
        assert "1 score missing" in text(response)
        posted = filled_in(response)
        # PostgreSQL has the shorter name first.
        assert [posted[f"criteria-{number}-name"] for number in (0, 1)] == ["depth", "clarity"]
        assert [posted[f"criteria-{number}-score"] for number in (0, 1)] == ["", "Yes"]
        assert as_lea.post(url("submit", record), posted).status_code == 422
        as_lea.post(url("submit", record), posted | {"criteria-0-score": "Yes"})
        decided = Evaluation.objects.get()
        assert (decided.human_reviewer_id, decided.is_escalated) == ("lea", False)

    def test_adjudication_offers_each_side_with_its_words_and_cause(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        page = text(as_lea.post(url("claim", record), headers=HTMX))
        assert "Take ana's" in page
        taken = re.search(r'data-who="ana" data-score="Yes" data-cause="([^"]*)" data-reason="([^"]*)"', page)
        assert taken
        assert taken.groups() == ("too strict", SECRET)
        assert 'data-who="bo" data-score="No" data-cause="" data-reason=""' in page

    @pytest.mark.slow
    def test_adjudication_keeps_blank_scores_and_authors_after_an_error(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        posted = filled_in(as_lea.post(url("claim", record), headers=HTMX))
        refused = as_lea.post(
            url("submit", record), posted | {"criteria-0-justification": SECRET}, headers=HTMX
        )
        assert refused.status_code == 422
        page = text(refused)
        assert "<h2>Your decision</h2>" in page
        assert "Words of <strong>ana</strong>" in page
        assert filled_in(refused)["criteria-0-score"] == ""

    def test_adjudication_prefills_only_comments_that_agree(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        assert filled_in(as_lea.post(url("claim", record), headers=HTMX))["comments"] == ""

    def test_page_of_a_taken_over_record_names_the_source_of_its_scores(
        self, as_lea: Client, record: Evaluation, differing: Escalation
    ) -> None:
        as_lea.post(url("claim", record))
        as_lea.post(url("release", record))
        page = text(as_lea.get(url("evaluation", record)))
        assert "<h2>The judge&#x27;s scores</h2>" in page
        assert "2 independent reviews differ" in page
        assert "Take ana" not in page

    def test_adjudication_warns_a_lead_who_reviewed_the_record(
        self, as_lea: Client, record: Evaluation, first: Review, lea: User
    ) -> None:
        decide(Evaluation.objects.get(), lea, scores=SCORES)
        page = text(as_lea.post(url("claim", record), headers=HTMX))
        assert "One of the reviews is yours: ask another lead to decide." in page

    @pytest.mark.slow
    def test_adjudication_is_possible_with_missing_reviews(
        self, as_lea: Client, record: Evaluation, first: Review
    ) -> None:
        assert "Adjudicate now" in text(as_lea.get(url("evaluation", record)))
        response = as_lea.post(url("adjudicate", record), headers=HTMX)
        page = text(response)
        assert "There is one independent review, by ana." in page
        assert SECRET in page
        posted = filled_in(response)
        assert (posted["criteria-0-score"], posted["criteria-0-justification"]) == ("Yes", SECRET)
        as_lea.post(url("submit", record), posted)
        assert Evaluation.objects.get().human_reviewer_id == "lea"

    def test_adjudication_needs_open_independent_reviews(self, as_lea: Client, record: Evaluation) -> None:
        response = as_lea.post(url("adjudicate", record), headers=HTMX)
        assert response.status_code == 409
        assert "This record has no open independent reviews." in text(response)

    @pytest.mark.parametrize("outcome", ["returned", "closed"])
    def test_disagreement_needs_an_answer_only_to_be_closed(
        self, as_lea: Client, record: Evaluation, differing: Escalation, outcome: str
    ) -> None:
        response = as_lea.post(url("resolve-escalation", differing), {"outcome": outcome})
        assert response.status_code == (303 if outcome == "returned" else 422)
        after = Evaluation.objects.get()
        assert (after.is_escalated, after.human_review_status) == (outcome == "closed", "Needs Review")

    def test_disagreement_is_listed_for_leads(self, as_lea: Client, run: Run, differing: Escalation) -> None:
        page = text(as_lea.get(reverse("inbox", query={"run": run.pk})))
        assert "</strong></a>: ana Yes, bo No on Depth" in page
        assert "Answer and return to queue" not in page

"""Independent reviews on the review screen: submitting them, and hiding those of others."""

import pytest
from django.test import Client

from reviews.models import Escalation, Evaluation, Review, Run, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.independent_pages import SCORES, SECRET
from tests.support.pages import HTMX, form_of, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra", overlap_share=1)


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


class TestSubmit:
    def test_independent_review_is_confirmed_and_next_record_is_shown(
        self, as_ana: Client, record: Evaluation
    ) -> None:
        other = EvaluationFactory.create(run=record.run, task_id="8")
        response = as_ana.post(url("submit", record), form_of(record), headers=HTMX)
        assert "Task 7 · o1 submitted. Waiting for the other reviewers." in text(response)
        assert response["HX-Replace-Url"] == url("evaluation", other)

    @pytest.mark.slow
    def test_agreeing_independent_reviews_become_the_decision(
        self, as_bo: Client, record: Evaluation, ana: User
    ) -> None:
        decide(record, ana, scores=SCORES)
        response = as_bo.post(url("submit", record), form_of(record), follow=True)
        assert "</a> submitted: " in text(response)
        assert Evaluation.objects.get().human_reviewer_id == "bo"

    @pytest.mark.slow
    def test_differing_independent_review_is_reported(
        self, as_bo: Client, record: Evaluation, first: Review
    ) -> None:
        response = as_bo.post(url("submit", record), form_of(record), follow=True)
        assert "Reviewers disagree; a lead will decide." in text(response)

    @pytest.mark.slow
    def test_record_is_readable_after_own_independent_review(
        self, as_ana: Client, record: Evaluation, first: Review
    ) -> None:
        page = text(as_ana.get(url("evaluation", record)))
        assert "You submitted yours at" in page
        assert "1 of 2 independent reviews is in" in page
        assert "Review this" not in page
        assert "Adjudicate now" not in page
        refused = as_ana.post(url("claim", record))
        assert refused.status_code == 409
        assert "Waiting for the other reviewers." in text(refused)

    def test_queue_page_counts_own_independent_reviews(self, as_ana: Client, run: Run, first: Review) -> None:
        page = text(as_ana.get(url("review", run)))
        assert "1 of your reviews is waiting for another reviewer." in page
        assert "You're done for now." in page

    @pytest.mark.slow
    def test_independent_review_can_be_undone_in_recent_work(
        self, as_ana: Client, run: Run, record: Evaluation, first: Review
    ) -> None:
        assert "Independent review" in text(as_ana.get(url("recent", run)))
        response = as_ana.post(url("undo", run), headers=HTMX)
        assert "Undone. Task 7 · o1 is open again with your scores." in text(response)
        assert SECRET in text(response)

    @pytest.mark.slow
    def test_independent_review_can_be_undone_while_another_has_the_record(
        self, as_ana: Client, run: Run, record: Evaluation, first: Review, bo: User
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        response = as_ana.post(url("undo", run), follow=True)
        assert "Your scores are kept as a draft." in text(response)


@pytest.mark.slow
class TestHiddenReviews:
    @pytest.mark.slow
    @pytest.mark.parametrize("who", ["bo", "lea"])
    def test_independent_reviews_of_others_are_hidden_on_every_page(
        self, request: pytest.FixtureRequest, record: Evaluation, first: Review, who: str
    ) -> None:
        client: Client = request.getfixturevalue(f"as_{who}")
        pages = [client.get(url(name, record)) for name in ("evaluation", "record-history")]
        assert ("independent reviews is in" in text(pages[0])) is (who == "lea")
        pages.append(client.get(url("run", record.run)))
        pages.append(client.post(url("claim", record), headers=HTMX))
        pages.append(client.post(url("submit", record), {}, headers=HTMX))
        for page in pages:
            assert SECRET not in text(page)
            assert "A word of ana." not in text(page)

    def test_independent_reviews_are_hidden_until_adjudication(
        self, as_bo: Client, record: Evaluation, differing: Escalation
    ) -> None:
        page = text(as_bo.get(url("evaluation", record)))
        assert "Reviewers disagree on this record." in page
        assert "A lead will decide." in page
        assert SECRET not in page
        assert "Withdraw" not in page

    def test_independent_reviews_are_shown_after_adjudication(
        self, as_bo: Client, record: Evaluation, differing: Escalation, lea: User
    ) -> None:
        decide(Evaluation.objects.get(), lea, scores=SCORES)
        page = text(as_bo.get(url("record-history", record)))
        assert "submitted an independent review" in page
        assert "Depth: No → Yes" in page


class TestDownload:
    @pytest.mark.slow
    def test_independent_reviews_download_is_offered(
        self, as_lea: Client, run: Run, record: Evaluation
    ) -> None:
        assert "Download independent reviews" not in text(as_lea.get(url("export", run)))

    def test_independent_reviews_download_has_one_line_each(
        self, as_lea: Client, run: Run, first: Review
    ) -> None:
        assert "Download independent reviews" in text(as_lea.get(url("export", run)))
        response = as_lea.get(url("independent-reviews", run))
        assert b"".join(response.streaming_content).count(b"\n") == 1  # type: ignore[attr-defined]
        assert "algebra-independent-reviews.jsonl" in response["Content-Disposition"]

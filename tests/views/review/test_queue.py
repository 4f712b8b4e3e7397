"""Claims, releases and skips on the review screen, and the page of the queue."""

import datetime as dt
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import HTMX, text, url
from tests.support.work import end_claim
from tests.views.review.test_record import SCORES

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(run: Run) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id="7", model_id="o1", parsed_rubric_scores=SCORES)


class TestClaim:
    def test_starting_review_claims_a_record(self, as_ana: Client, record: Evaluation, ana: User) -> None:
        response = as_ana.post(url("claim-next", record.run))
        assert (response.status_code, response["Location"]) == (303, url("evaluation", record))
        record.refresh_from_db()
        assert record.claimed_by == ana

    def test_viewing_a_record_does_not_claim_it(self, as_ana: Client, record: Evaluation) -> None:
        page = text(as_ana.get(url("evaluation", record)))
        assert "Review this" in page
        assert 'id="review-form"' not in page
        record.refresh_from_db()
        assert record.claimed_by is None
        assert not AuditEvent.objects.exists()

    def test_single_record_can_be_claimed(self, as_ana: Client, record: Evaluation, ana: User) -> None:
        assert as_ana.post(url("claim", record)).status_code == 303
        assert 'id="review-form"' in text(as_ana.get(url("evaluation", record)))

    @pytest.mark.slow
    def test_record_claimed_by_another_is_read_only(self, as_bo: Client, claimed: Evaluation) -> None:
        page = text(as_bo.get(url("evaluation", claimed)))
        assert "ana is reviewing this (until" in page
        assert "Review this" not in page
        response = as_bo.post(url("claim", claimed))
        assert response.status_code == 409
        assert "ana has been reviewing this since" in text(response)

    @pytest.mark.slow
    def test_release_of_another_claim_is_offered_to_leads_only(
        self, as_bo: Client, claimed: Evaluation, lea: User
    ) -> None:
        proposal = f'action="{url("release", claimed)}"'
        assert proposal not in text(as_bo.get(url("evaluation", claimed)))
        as_lea = Client()
        as_lea.force_login(lea)
        assert proposal in text(as_lea.get(url("evaluation", claimed)))
        assert as_lea.post(url("release", claimed))["Location"] == url("evaluation", claimed)
        assert as_bo.post(url("claim", claimed)).status_code == 303

    def test_release_shows_the_queue(self, as_ana: Client, claimed: Evaluation) -> None:
        assert as_ana.post(url("release", claimed))["Location"] == url("review", claimed.run)
        claimed.refresh_from_db()
        assert claimed.claimed_by is None

    @pytest.mark.slow
    def test_release_of_another_claim_is_denied_for_reviewers(
        self, as_bo: Client, claimed: Evaluation
    ) -> None:
        assert as_bo.post(url("release", claimed)).status_code == 403

    @pytest.mark.slow
    def test_skip_shows_the_next_record(self, as_ana: Client, claimed: Evaluation) -> None:
        other = EvaluationFactory.create(run=claimed.run, task_id="8")
        assert as_ana.post(url("skip", claimed))["Location"] == url("evaluation", other)
        assert as_ana.post(url("skip", other))["Location"] == url("review", claimed.run)

    def test_record_claimed_by_another_cannot_be_skipped(self, as_bo: Client, claimed: Evaluation) -> None:
        response = as_bo.post(url("skip", claimed))
        assert response.status_code == 409
        assert "ana has been reviewing this since" in text(response)

    def test_open_page_renews_the_claim(self, as_ana: Client, claimed: Evaluation) -> None:
        response = as_ana.post(url("renew", claimed), headers=HTMX)
        assert response.status_code == 204
        assert dt.datetime.fromisoformat(response["X-Claim-Until"]) > timezone.now()

    def test_expired_claim_is_renewed_with_a_notice(self, as_ana: Client, claimed: Evaluation) -> None:
        end_claim(claimed)
        response = as_ana.post(url("renew", claimed), headers=HTMX)
        assert response.status_code == 200
        assert "Nobody else opened this record, so it is yours again." in text(response)
        claimed.refresh_from_db()
        assert claimed.is_claimed

    def test_open_page_shows_that_its_claim_is_lost(
        self, as_ana: Client, claimed: Evaluation, bo: User
    ) -> None:
        end_claim(claimed)
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        response = as_ana.post(url("renew", claimed), headers=HTMX)
        page = text(response)
        assert response.status_code == 409
        assert "bo has been reviewing this since" in page
        assert "Next record" in page
        assert "View read-only" in page
        assert "Take over" not in page

    @pytest.mark.slow
    def test_lead_can_take_over_a_claim(self, claimed: Evaluation, lea: User) -> None:
        as_lea = Client()
        as_lea.force_login(lea)
        assert "Take over" in text(as_lea.post(url("claim", claimed)))
        assert as_lea.post(url("claim", claimed), {"take_over": "yes"}).status_code == 303
        claimed.refresh_from_db()
        assert claimed.claimed_by == lea

    def test_reviewer_cannot_take_over_a_claim(self, as_bo: Client, claimed: Evaluation, ana: User) -> None:
        assert as_bo.post(url("claim", claimed), {"take_over": "yes"}).status_code == 403
        claimed.refresh_from_db()
        assert claimed.claimed_by == ana

    def test_viewing_next_and_previous_records_claims_nothing(
        self, as_ana: Client, claimed: Evaluation
    ) -> None:
        other = EvaluationFactory.create(run=claimed.run)
        assert as_ana.get(url("look-next", claimed))["Location"] == url("evaluation", other)
        assert as_ana.get(url("look-next", other))["Location"] == url("evaluation", other)
        assert as_ana.get(url("look-previous", other))["Location"] == url("evaluation", claimed)
        other.refresh_from_db()
        assert other.claimed_by is None


class TestQueue:
    def test_queue_page_shows_remaining_records(self, as_ana: Client, record: Evaluation) -> None:
        page = text(as_ana.get(url("review", record.run)))
        assert "1 left in Algebra" in page
        assert "Start reviewing" in page

    def test_queue_page_is_empty_at_the_end(self, as_ana: Client, run: Run) -> None:
        page = text(as_ana.get(url("review", run)))
        assert "All caught up" in page
        assert "Start reviewing" not in page.partition("</main>")[0]
        assert "every 30s" not in page

    @pytest.mark.slow
    def test_queue_page_leads_to_the_next_run_at_the_end(self, as_ana: Client, record: Evaluation) -> None:
        done = RunFactory.create(name="Done")
        page = text(as_ana.get(url("review", done)))
        assert f'href="{reverse("start")}?after={done.pk}" data-start' in page
        assert "Next run" not in text(as_ana.get(url("review", record.run)))
        assert as_ana.get(reverse("start"))["Location"] == url("review", record.run)

    @pytest.mark.slow
    def test_queue_page_offers_skipped_records(self, as_ana: Client, claimed: Evaluation) -> None:
        as_ana.post(url("skip", claimed))
        page = text(as_ana.get(url("review", claimed.run)))
        assert "1 skipped by you" in page
        assert re.search(r'data-start aria-keyshortcuts="Z">Review skipped records', page)
        assert f'href="{reverse("start")}?after={claimed.run_id}">Next run</a>' in page
        assert as_ana.get(reverse("start"))["Location"] == url("review", claimed.run)
        assert as_ana.post(url("unskip-all", claimed.run))["Location"] == url("evaluation", claimed)

    @pytest.mark.slow
    def test_next_run_has_records_for_the_reader(
        self, as_ana: Client, as_bo: Client, claimed: Evaluation
    ) -> None:
        ahead = EvaluationFactory.create(run=RunFactory.create(name="Ahead"))
        Run.objects.filter(pk=ahead.run_id).update(created_at=claimed.run.created_at + dt.timedelta(days=1))
        waits, left = url("review", claimed.run), url("review", ahead.run)
        assert "Next run" in text(as_bo.get(waits))
        assert as_bo.get(reverse("start"), {"after": claimed.run_id})["Location"] == left
        # A run with records for others only will do, unless the reader leaves it.
        assert as_bo.post(url("claim-next", ahead.run)).status_code == 303
        claims.skip(evaluation_id=ahead.pk, reviewer=User.objects.get(username="bo"))
        assert as_bo.get(reverse("start"))["Location"] in {waits, left}
        assert as_bo.get(reverse("start"), {"after": ahead.run_id})["Location"] == reverse("runs")
        # A run with records for the reader comes before the one of their latest decision.
        assert as_ana.get(reverse("start"))["Location"] == waits

    @pytest.mark.slow
    def test_queue_page_polls_while_others_have_the_rest(self, as_bo: Client, claimed: Evaluation) -> None:
        page = text(as_bo.get(url("review", claimed.run)))
        assert "Another reviewer has claimed the last record; it becomes available at" in page
        assert 'hx-trigger="every 30s"' in page
        alone = text(as_bo.get(url("review", claimed.run), headers=HTMX))
        assert "<html" not in alone
        assert 'id="screen"' in alone

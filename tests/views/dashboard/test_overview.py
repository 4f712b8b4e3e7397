"""The dashboard: figures, claims, states and its refresh."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, ReviewerDay, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations
from tests.support.dashboard_pages import DESK, done, table, tables, today
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import HTMX, csv_rows, text, url

pytestmark = pytest.mark.django_db


@pytest.mark.slow
class TestDashboard:
    def test_refresh_sends_the_figures_without_the_page(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        response = as_lea.get(DESK, headers=HTMX | {"HX-Target": "live"})
        page = response.content.decode()
        assert 'id="live"' in page
        assert "<html" not in page
        assert 'class="scope' not in page

    def test_dashboard_defines_every_figure(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        response = as_lea.get(DESK)
        shown = next(one for one in tables(response) if one.name == "reviewers")
        unexplained = [column.title for column in shown.columns if column.is_number and not column.help]
        assert unexplained == []
        assert "Idle time is capped" in text(response)
        assert "A reason is a question, not a verdict" in text(response)

    @pytest.mark.slow
    def test_dashboard_lists_claims_and_releases_them(self, as_lea: Client, ana: User, algebra: Run) -> None:
        record = EvaluationFactory.create(run=algebra, task_id="7", model_id="o1")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        (at_work,) = table(as_lea.get(DESK), "now")
        assert (at_work["reviewer"], at_work["record"], at_work["run"]) == ("ana", "Task 7 · o1", "Algebra")
        place = f"{url('dashboard-release', record)}?run={algebra.pk}"
        response = as_lea.post(place, follow=True)
        assert response.redirect_chain == [(f"{DESK}?run={algebra.pk}", 302)]
        assert "Released: Task 7 · o1." in text(response)
        record.refresh_from_db()
        assert record.claimed_by is None
        assert AuditEvent.objects.filter(action="release", evaluation=record).exists()

    @pytest.mark.slow
    def test_states_of_a_run_add_up_and_link_to_their_records(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        EvaluationFactory.create(run=algebra, needs_human_review=False, human_review_status="Not Required")
        record = EvaluationFactory.create(run=algebra)
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        escalations.escalate(evaluation_id=record.pk, reviewer=ana, kind="question", reason="", note="Why?")
        response = as_lea.get(DESK)
        (row,) = table(response, "runs")
        states = {name: row[name] for name in ("waiting", "claimed", "escalated", "done", "not_required")}
        assert states == {"waiting": "0", "claimed": "0", "escalated": "1", "done": "1", "not_required": "1"}
        assert row["total"] == "3"
        place = reverse("run", args=[algebra.pk])
        for state in ("escalated", "done", "not-required"):
            assert f'href="{place}?status={state}">1</a>' in response.content.decode()


@pytest.mark.slow
def test_dashboard_shows_the_last_days_of_a_long_period(as_lea: Client, ana: User, algebra: Run) -> None:
    first = dt.date.fromisoformat(today()) - dt.timedelta(days=40)
    ReviewerDay.objects.bulk_create(
        ReviewerDay(run=algebra, reviewer=ana, day=first + dt.timedelta(days=number), decisions=1, changed=0)
        for number in range(33)
    )
    response = as_lea.get(DESK, {"days": "all"})
    shown = table(response, "days")
    assert [row["day"] for row in shown] == [
        str(first + dt.timedelta(days=number)) for number in range(2, 33)
    ]
    assert "The last 31 days with decisions. The CSV file has all." in text(response)
    response = as_lea.get(reverse("dashboard-table", args=["days"]), {"days": "all"})
    assert len(csv_rows(response)) == 33


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_dashboard_query_count_is_constant(
    count: int, as_lea: Client, ana: User, lea: User, django_assert_max_num_queries: Any
) -> None:
    for run in RunFactory.create_batch(count):
        decisions.reopen(evaluation_id=done(run, ana).pk, actor=lea, reason="Again.")
        claims.claim(evaluation_id=EvaluationFactory.create(run=run).pk, reviewer=ana)
        done(run, lea)
    with django_assert_max_num_queries(46):
        as_lea.get(DESK)

"""The dashboard: pace, periods, filters and claims."""

import datetime as dt
from typing import Any
from unittest import mock

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from reviews.models import AuditEvent, ReviewerDay, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations
from reviews.views.dashboard.filters import USUAL, read_filters
from reviews.views.tables import Cell, Column
from tests.support.dashboard_pages import DESK, done, figure, listed, rows, table, tables, today
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import HTMX, text, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


def days_ago(days: int) -> Any:
    """Date the decisions made in a block."""
    return mock.patch.object(timezone, "now", return_value=timezone.now() - dt.timedelta(days=days))


class TestDashboard:
    @pytest.mark.slow
    def test_dashboard_tells_the_pace_and_when_a_run_will_be_finished(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        EvaluationFactory.create_batch(5, run=algebra)
        for _ in range(2):
            done(algebra, ana)
        response = as_lea.get(DESK, {"run": str(algebra.pk)})
        day = timezone.now().date() + dt.timedelta(days=3)
        assert figure(response, "done_today").cell.text == "2"
        assert figure(response, "pace").cell[:1] == ("2 a day",)
        assert figure(response, "left").cell[:1] == ("5",)
        finish = figure(response, "finish").cell
        assert (finish.value, finish.note) == (day.isoformat(), "at 2 records a day, today so far")
        assert table(response, "runs")[0]["finish"] == finish.text
        assert len(listed(as_lea, figure(response, "done_today").cell.url)) == 2
        assert as_lea.get(figure(response, "left").cell.url).status_code == 200

    def test_dashboard_without_decisions_has_no_pace(self, as_lea: Client, algebra: Run) -> None:
        EvaluationFactory.create(run=algebra)
        response = as_lea.get(DESK)
        assert figure(response, "pace").cell.text == figure(response, "finish").cell.text == "No pace yet"
        page = text(response)
        assert "Nobody has 20 decisions in the last 7 days" in page
        assert "No decisions in the last 7 days." in page

    @pytest.mark.slow
    def test_dashboard_compares_with_the_period_before(self, as_lea: Client, ana: User, algebra: Run) -> None:
        for days in (0, 8):
            with days_ago(days):
                done(algebra, ana)
        response = as_lea.get(DESK)
        assert figure(response, "override_rate").trend == "50% the 7 days before, of 2"
        assert figure(response, "override_rate").cell.note == "1 of 2 scores"
        assert figure(as_lea.get(DESK, {"days": "all"}), "override_rate").trend == ""

    @pytest.mark.slow
    def test_dashboard_counts_the_decisions_of_a_period(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        for earlier in (0, 6, 29, 400):
            with days_ago(earlier):
                done(algebra, ana)
        for days, shown in {"1": 1, "7": 2, "30": 3, "all": 4, "90": 2}.items():
            response = as_lea.get(DESK, {"days": days})
            assert [row["done"] for row in table(response, "reviewers")] == [str(shown)], days
            place = {column.name: cell for column, cell in reviewers_row(response)}["done"].url
            assert len(listed(as_lea, place)) == shown, days
        assert as_lea.get(DESK).context["scope"].period == "7"

    def test_refresh_sends_the_figures_without_the_page(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        response = as_lea.get(DESK, headers=HTMX | {"HX-Target": "live"})
        page = response.content.decode()
        assert 'id="live"' in page
        assert "<html" not in page
        assert 'class="scope' not in page

    @pytest.mark.slow
    def test_dashboard_filters_by_run_and_days(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        done(RunFactory.create(), ana)
        here = as_lea.get(DESK, {"run": str(algebra.pk)})
        assert "Dashboard: Algebra" in text(here)
        assert [row["done"] for row in table(here, "reviewers")] == ["1"]
        assert [row["run"] for row in table(here, "runs")] == ["Algebra"]
        assert table(as_lea.get(DESK, {"last": "2020-01-01"}), "reviewers") == []
        assert [row["done"] for row in table(as_lea.get(DESK, {"first": today()}), "reviewers")] == ["2"]

    @pytest.mark.slow
    def test_dashboard_reports_invalid_filters(self, as_lea: Client, lea: User) -> None:
        for query in (
            {"run": "0"},
            {"run": "9" * 40},
            {"run": "\0"},
            {"first": "yesterday"},
            {"last": "9999-12-31"},
        ):
            read = read_filters(QueryDict(urlencode(query)), lea, usual=USUAL)
            assert {*read.form.errors} == {*query}
            assert read.chosen == (("days", "7"),), query
        response = as_lea.get(DESK, {"run": "\0", "first": "yesterday"})
        assert response.status_code == 200
        assert {*response.context["scope"].form.errors} == {"run", "first"}
        assert response.context["scope"].chosen == (("days", "7"),)

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


def reviewers_row(response: Any) -> list[tuple[Column, Cell]]:
    return next(one for one in tables(response) if one.name == "reviewers").lines[0]


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
    assert len(rows(response)) == 33


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


@pytest.mark.slow
def test_dashboard_days_are_utc_days(as_lea: Client, ana: User, algebra: Run) -> None:
    done(algebra, ana)
    tomorrow = timezone.now() + dt.timedelta(days=1)
    found = table(as_lea.get(DESK), "days")
    assert [(row["day"], row["done"], row["reviewers"]) for row in found] == [(today(), "1", "1")]
    assert table(as_lea.get(DESK, {"first": f"{tomorrow:%Y-%m-%d}"}), "days") == []

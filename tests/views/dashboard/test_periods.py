"""Days and periods of the dashboard: pace, comparison with the period before, and filters."""

import datetime as dt
from typing import Any
from unittest import mock

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from django.utils.http import urlencode

from reviews.models import Run, User
from reviews.views.dashboard.filters import USUAL, read_filters
from reviews.views.tables import Cell, Column
from tests.support.dashboard_pages import DESK, done, figure, listed, table, tables, today
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def days_ago(days: int) -> Any:
    """Date the decisions made in a block."""
    return mock.patch.object(timezone, "now", return_value=timezone.now() - dt.timedelta(days=days))


def reviewers_row(response: Any) -> list[tuple[Column, Cell]]:
    return next(one for one in tables(response) if one.name == "reviewers").lines[0]


@pytest.mark.slow
def test_dashboard_days_are_utc_days(as_lea: Client, ana: User, algebra: Run) -> None:
    done(algebra, ana)
    tomorrow = timezone.now() + dt.timedelta(days=1)
    found = table(as_lea.get(DESK), "days")
    assert [(row["day"], row["done"], row["reviewers"]) for row in found] == [(today(), "1", "1")]
    assert table(as_lea.get(DESK, {"first": f"{tomorrow:%Y-%m-%d}"}), "days") == []


class TestPeriods:
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

    @pytest.mark.slow
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

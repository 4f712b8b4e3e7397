"""Figures about reviewers on the dashboard and on the page of a reviewer."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.review import decisions
from tests.support.dashboard_pages import DESK, done, listed, table, today
from tests.support.factories import EvaluationFactory
from tests.support.pages import text, url
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_tables_of_one_person_do_not_repeat_the_name(
    as_lea: Client, ana: User, bo: User, algebra: Run
) -> None:
    done(algebra, ana)
    done(algebra, bo)
    place = url("reviewer-activity", ana)
    page: Any = as_lea.get(place)
    shown = [page.context["latest"], *(one.table for one in page.context["tables"])]
    assert {column.name for table in shown for column in table.columns}.isdisjoint({"reviewer", "reviewers"})
    for query, has_name in (
        ({"reviewer": "ana"}, False),
        ({}, True),
        ({"reviewer": "ana", "other": "bo"}, True),
    ):
        listed: Any = as_lea.get(reverse("decisions"), query)
        assert ("reviewer" in {column.name for column in listed.context["table"].columns}) is has_name


class TestReviewerActivity:
    @pytest.mark.slow
    def test_reviewer_page_links_figures_to_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        response = as_lea.get(url("reviewer-activity", ana), {"run": str(algebra.pk), "first": today()})
        place = {column.name: cell for column, cell in response.context["figures"]}["done"].url
        assert place == reverse("decisions") + f"?run={algebra.pk}&first={today()}&reviewer=ana"
        assert len(as_lea.get(place).context["table"].lines) == 1
        assert "Spot check" in text(response)

    @pytest.mark.slow
    def test_own_reviewer_page_offers_no_spot_checks(self, as_lea: Client, lea: User, algebra: Run) -> None:
        done(algebra, lea)
        assert "How many" not in text(as_lea.get(url("reviewer-activity", lea)))


class TestReviewers:
    @pytest.mark.slow
    def test_dashboard_counts_the_decisions_of_each_reviewer(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        for reviewer in (ana, ana, bo):
            done(algebra, reviewer)
        found = table(as_lea.get(DESK), "reviewers")
        assert [(row["reviewer"], row["done"]) for row in found] == [("ana", "2"), ("bo", "1")]

    @pytest.mark.slow
    def test_dashboard_draws_the_pace_of_each_reviewer_on_one_scale(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        for reviewer in (ana, ana, bo):
            done(algebra, reviewer)
        for days in ("1", "7", "30", "all"):
            drawn = as_lea.get(DESK, {"days": days}).context["charts"]
            assert [(one.reviewer, one.done, one.per_day) for one in drawn.charts] == [
                (ana, 2, "2"),
                (bo, 1, "1"),
            ]
            heights = [bar.height for one in drawn.charts for bar in one.bars]
            assert heights == [48, 24]
            assert drawn.charts[0].bars[0].title == f"{today()}: 2"
            right = {round(one.bars[0].x + one.bars[0].width / 0.8) for one in drawn.charts}
            assert right == {240}

    @pytest.mark.slow
    def test_dashboard_names_reviewers_who_may_need_help(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        judged = dict.fromkeys(SCORES, "Yes")
        kept = {name: {"score": "Yes", "justification": ""} for name in SCORES}
        for _ in range(20):
            decide(EvaluationFactory.create(run=algebra), ana, judged=judged)
            decide(EvaluationFactory.create(run=algebra), bo, judged=judged, scores=kept)
        response = as_lea.get(DESK)
        named = {reviewer: reasons for _, reviewer, reasons in response.context["attention"]}
        assert {person: reasons[0][0] for person, reasons in named.items()} == {
            ana: "Changes 50% of the judge's scores, the others 0%.",
            bo: "Changes only 0% of the judge's scores, the others 50%.",
        }
        assert len(listed(as_lea, named[ana][0][1])) == 20
        assert "Changes 50% of the judge" in text(as_lea.get(url("reviewer-activity", ana)))
        client = Client()
        client.force_login(ana)
        assert "the others" not in text(client.get(reverse("my-activity")))

    @pytest.mark.slow
    def test_dashboard_lists_overturned_decisions_with_reasons(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        record = done(algebra, ana)
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Step 2 is wrong.")
        (overturned,) = table(as_lea.get(DESK), "overturned")
        assert (overturned["reviewer"], overturned["by"]) == ("ana", "lea")
        assert overturned["reason"] == "Step 2 is wrong."

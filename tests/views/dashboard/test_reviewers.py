"""Figures about reviewers on the dashboard and on the page of a reviewer."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.review import decisions
from reviews.views.tables import Cell
from tests.support.dashboard_pages import DESK, done, figure, listed, rows, table, today
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text, url
from tests.support.work import SCORES, decide, lock_in_scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


def matrix(response: Any, name: str) -> dict[str, dict[str, Cell]]:
    """Return the cells of a matrix by the header of their row, then of their column."""
    shown = next(one for one, _ in response.context["matrices"] if one.name == name)
    return {
        row.header.text: dict(zip(shown.headers, (shaded.cell for shaded in row.cells), strict=True))
        for row in shown.rows
    }


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
    def test_dashboard_shows_changed_scores_by_reviewer_and_criterion(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        changed, others = done(algebra, ana, task_id="7"), done(RunFactory.create(), bo, task_id="8")
        agreed = EvaluationFactory.create(run=algebra)
        decide(agreed, ana, judged={name: entry["score"] for name, entry in SCORES.items()})
        found = matrix(as_lea.get(DESK), "criteria-by-reviewer")
        assert {name: {title: cell.text for title, cell in row.items()} for name, row in found.items()} == {
            "All reviewers": {"Clarity": "0%", "Conclusion Accuracy": "67%"},
            "ana": {"Clarity": "0%", "Conclusion Accuracy": "50%"},
            "bo": {"Clarity": "0%", "Conclusion Accuracy": "100%"},
        }
        assert found["ana"]["Conclusion Accuracy"].note == "n\N{NO-BREAK SPACE}2"
        assert found["ana"]["Clarity"].url == ""
        for name, expected in (("ana", [changed]), ("All reviewers", [changed, others])):
            place = found[name]["Conclusion Accuracy"].url
            assert listed(as_lea, place) == {url("evaluation", record) for record in expected}
        assert "Changed score of <strong>Conclusion Accuracy</strong>" in text(
            as_lea.get(found["ana"]["Conclusion Accuracy"].url)
        )

    @pytest.mark.slow
    def test_dashboard_shows_agreement_of_pairs_with_enough_records(
        self, as_lea: Client, ana: User, bo: User, lea: User, algebra: Run
    ) -> None:
        records = EvaluationFactory.create_batch(10, run=algebra)
        for number, record in enumerate(records):
            for person, score in ((ana, "Yes"), (bo, "No" if number < 3 else "Yes")):
                lock_in_scores(record, person, {"Clarity": score}, judged={"Clarity": "Yes"})
            if number < 9:
                lock_in_scores(record, lea, {"Clarity": "Yes"})
        for record in records:
            record.refresh_from_db()
            decide(record, ana)
        response = as_lea.get(DESK)
        found = matrix(response, "agreement")
        assert (found["bo"]["ana"].text, found["bo"]["ana"].note) == ("70%", "n\N{NO-BREAK SPACE}10")
        assert found["lea"]["ana"].text == found["lea"]["ana"].url == ""
        assert listed(as_lea, found["bo"]["ana"].url) == {url("evaluation", record) for record in records}
        assert figure(response, "blind_agreement").cell.text == "90%"
        [row] = rows(as_lea.get(reverse("dashboard-table", args=["agreement"])))
        assert row == {
            "reviewer": "ana", "other": "bo", "agreement": "0.7", "scores": "7 of 10", "records": "10"
        }  # fmt: skip

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

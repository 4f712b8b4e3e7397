"""Matrices of the dashboard: changed scores by criterion, and agreement of pairs."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.views.tables import Cell
from tests.support.dashboard_pages import DESK, done, figure, listed
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import csv_rows, text, url
from tests.support.work import SCORES, decide, lock_in_scores

pytestmark = pytest.mark.django_db


def matrix(response: Any, name: str) -> dict[str, dict[str, Cell]]:
    """Return the cells of a matrix by the header of their row, then of their column."""
    shown = next(one for one, _ in response.context["matrices"] if one.name == name)
    return {
        row.header.text: dict(zip(shown.headers, (shaded.cell for shaded in row.cells), strict=True))
        for row in shown.rows
    }


class TestMatrices:
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
        [row] = csv_rows(as_lea.get(reverse("dashboard-table", args=["agreement"])))
        assert row == {
            "reviewer": "ana", "other": "bo", "agreement": "0.7", "same": "7", "scores": "10", "records": "10"
        }  # fmt: skip

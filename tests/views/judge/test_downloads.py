"""Reports, CSV files and examples about the judge."""

import json
import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from reviews.models import Run, User
from reviews.search import strata
from reviews.views.judge import tables
from tests.support.judge_pages import CLARITY, review, sections
from tests.support.pages import csv_rows, text, url

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestErrorAnalysis:
    def test_causes_are_ranked_with_links_to_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        for cause in ("too strict", "too strict", "calculation error"):
            review(algebra, ana, "No", "Yes", cause=cause)
        response = as_lea.get(url("judge-errors", algebra))
        found = sections(response)["causes-of-1"].data["table"]
        named = {line[0][1].text: line[1][1] for line in found.lines}
        assert {cause: cell.value for cause, cell in named.items()} == {
            "Too strict": 2,
            "Calculation error": 1,
        }
        listed = as_lea.get(named["Too strict"].url)
        assert len(listed.context["table"].lines) == 2
        assert "Cause: too strict" in text(listed)
        assert "Step 3 follows." in text(response)

    def test_error_analysis_is_exported_as_markdown(self, as_lea: Client, ana: User, algebra: Run) -> None:
        record = review(algebra, ana, "No", "Yes", cause="too strict")
        response = as_lea.get(url("judge-error-analysis-markdown", algebra))
        assert response["Content-Type"] == "text/markdown; charset=utf-8"
        assert "Algebra-error-analysis.md" in response["Content-Disposition"]
        assert f"{settings.PUBLIC_URL}{url('evaluation', record)}" in response.getvalue().decode()

    def test_corrected_scores_are_exported_as_few_shot_examples(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "No", "Yes", cause="too strict")
        [line] = as_lea.get(url("judge-few-shot", algebra)).getvalue().splitlines()
        example = json.loads(line)
        assert (example["judge"]["score"], example["corrected"]["score"]) == ("No", "Yes")


class TestReport:
    def test_report_has_all_parts_and_definitions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", cause="too lenient")
        strata.recount(algebra, {})
        page = text(as_lea.get(url("judge-report", algebra)))
        report = page.partition("</main>")[0]
        assert re.findall(r"<h[23][^>]*>([^<]+)</h", report) == [
            "Scope",
            "Agreement between judge and people",
            "Verdicts",
            escape(tables.SECTIONS["assisted", "run"]),
            "Flags and missed errors",
            "Flag reasons",
            "Model leaderboard",
            "Models",
            "Error analysis",
            "prompts/judge.txt",
        ]
        assert "Cohen 1960" in page.partition("Definitions</summary>")[2]

    def test_report_starts_with_answers_and_folds_every_table(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", cause="too lenient")
        strata.recount(algebra, {})
        report = text(as_lea.get(url("judge-report", algebra))).partition("</main>")[0]
        unfolded = re.sub(r"<details.*?</details>", "", report, flags=re.DOTALL)
        assert "Blind accuracy over the whole run" in unfolded.partition("Scope</h2>")[0]
        assert "<table" in report
        assert "<table" not in unfolded
        assert "chosen 1 time" in unfolded

    def test_report_is_available_as_json(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No")
        response = as_lea.get(url("judge-report-json", algebra))
        assert response["Content-Type"] == "application/json"
        assert json.loads(response.getvalue())["scope"]["run"] == "Algebra"

    def test_report_is_available_as_one_html_file(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No")
        response = as_lea.get(url("judge-report-html", algebra))
        assert 'filename="Algebra-judge-report.html"' in response["Content-Disposition"]
        page = response.getvalue().decode()
        assert page.count("<h1>Judge report: Algebra</h1>") == 1
        for outside in ("<link", "<script", "<img", "<nav", "<form"):
            assert outside not in page.partition("<body")[2]
        assert "@media print" in page.partition("</head>")[0]
        assert f'<base href="{settings.PUBLIC_URL}/">' in page

    def test_report_is_available_as_csv(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No")
        answer = as_lea.get(url("judge-report-csv", algebra)).getvalue().decode()
        assert answer.startswith('"part","subject","figure","value","low","high","n","why"')


class TestCsv:
    def test_judge_csv_has_interval_limits(self, as_lea: Client, ana: User, algebra: Run) -> None:
        for human in ("Yes", "No"):
            review(algebra, ana, "Yes", human)
        found = csv_rows(as_lea.get(reverse("judge-table", args=[algebra.pk, "assisted-run"])))
        [clarity] = [row for row in found if row["criterion"] == CLARITY]
        assert (clarity["accuracy"], clarity["accuracy_n"]) == ("0.5", "2")
        assert 0 < float(clarity["accuracy_low"]) < 0.5 < float(clarity["accuracy_high"]) < 1
        assert (clarity["kappa"], clarity["kappa_low"], clarity["kappa_n"]) == ("", "", "2")

    def test_judge_csv_has_every_group_and_criterion(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", blind="No", model_id="o1")
        found = csv_rows(as_lea.get(reverse("judge-table", args=[algebra.pk, "groups"])))
        assert [(row["criterion"], row["model"]) for row in found] == [("Verdict", "o1"), (CLARITY, "o1")]

    def test_judge_csv_of_unknown_table_is_not_found(self, as_lea: Client, algebra: Run) -> None:
        assert as_lea.get(reverse("judge-table", args=[algebra.pk, "secrets"])).status_code == 404

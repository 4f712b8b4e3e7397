"""The dashboard with links from figures to decisions, its CSV files, and My activity."""

import csv
import datetime as dt
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations
from reviews.views.dashboard.tables import TABLES
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text, url
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db

DESK = "/dashboard/"


def today() -> str:
    return f"{timezone.now():%Y-%m-%d}"


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra")


def done(run: Run, reviewer: User, **values: Any) -> Evaluation:
    """Create a record decided by the reviewer, with one of two scores changed."""
    record = EvaluationFactory.create(run=run, **values)
    decide(record, reviewer, judged=dict.fromkeys(SCORES, "Yes"))
    record.refresh_from_db()
    return record


def table(response: Any, name: str) -> list[dict[str, str]]:
    """Return the rows of a table on a page, as cells by column name."""
    shown = next(one.table for one in response.context["tables"] if one.table.name == name)
    return [{column.name: cell.text for column, cell in line} for line in shown.lines]


def rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode(), newline="")))


class TestDashboard:
    def test_dashboard_counts_the_decisions_of_each_reviewer(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        for reviewer in (ana, ana, bo):
            done(algebra, reviewer)
        found = table(as_lea.get(DESK), "reviewers")
        assert [(row["reviewer"], row["done"]) for row in found] == [("ana", "2"), ("bo", "1")]

    def test_dashboard_shows_the_share_of_changed_scores(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        response = as_lea.get(DESK)
        found = {row["criterion"]: row["override_rate"] for row in table(response, "criteria")}
        assert found == {"Conclusion Accuracy": "100%", "Clarity": "0%"}
        by_reviewer = table(response, "criteria-by-reviewer")
        assert {(row["reviewer"], row["criterion"]) for row in by_reviewer} == {
            ("ana", name) for name in found
        }

    def test_dashboard_of_one_run_links_to_decisions_with_overrides(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        changed, others = done(algebra, ana, task_id="7"), done(algebra, bo, task_id="8")
        agreed = EvaluationFactory.create(run=algebra)
        decide(agreed, ana, judged={name: entry["score"] for name, entry in SCORES.items()})
        response = as_lea.get(DESK, {"run": str(algebra.pk)})
        for name, expected in (("criteria", {changed, others}), ("criteria-by-reviewer", {changed})):
            shown = next(one.table for one in response.context["tables"] if one.table.name == name)
            cells = {column.name: cell for column, cell in next(iter(shown.lines))}
            listed = as_lea.get(cells["overridden"].url)
            found = {line[0][1].url for line in listed.context["table"].lines}
            assert found == {url("evaluation", record) for record in expected}
        assert "human another" in text(listed)

    def test_dashboard_filters_by_run_and_days(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        done(RunFactory.create(), ana)
        here = as_lea.get(DESK, {"run": str(algebra.pk)})
        assert "Dashboard: Algebra" in text(here)
        assert [row["done"] for row in table(here, "reviewers")] == ["1"]
        assert [row["run"] for row in table(here, "runs")] == ["Algebra"]
        assert table(as_lea.get(DESK, {"last": "2020-01-01"}), "reviewers") == []
        assert [row["done"] for row in table(as_lea.get(DESK, {"first": today()}), "reviewers")] == ["2"]

    @pytest.mark.parametrize(
        "query",
        [{"run": "0"}, {"run": "9" * 40}, {"run": "\0"}, {"first": "yesterday"}, {"last": "9999-12-31"}],
    )
    def test_dashboard_reports_invalid_filters(self, as_lea: Client, query: dict[str, str]) -> None:
        response = as_lea.get(DESK, query)
        assert response.status_code == 200
        assert response.context["scope"].form.errors
        assert response.context["scope"].chosen == ()

    def test_dashboard_defines_every_figure(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        response = as_lea.get(DESK)
        shown = next(one.table for one in response.context["tables"] if one.table.name == "reviewers")
        unexplained = [column.title for column in shown.columns if column.is_number and not column.help]
        assert unexplained == []
        assert "Idle time is capped" in text(response)
        assert "These are signals, not verdicts" in text(response)

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

    def test_dashboard_links_to_work_that_waits_for_a_lead(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        record = EvaluationFactory.create(run=algebra)
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        escalations.escalate(evaluation_id=record.pk, reviewer=ana, kind="question", reason="", note="Why?")
        response = as_lea.get(DESK)
        assert [row["with_a_lead"] for row in table(response, "runs")] == ["1"]
        assert url("open-escalations", algebra) in text(response)

    def test_dashboard_lists_overturned_decisions_with_reasons(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        record = done(algebra, ana)
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Step 2 is wrong.")
        (overturned,) = table(as_lea.get(DESK), "overturned")
        assert (overturned["reviewer"], overturned["by"]) == ("ana", "lea")
        assert overturned["reason"] == "Step 2 is wrong."


class TestCsv:
    @pytest.mark.parametrize("name", TABLES)
    def test_dashboard_csv_has_the_rows_of_the_page(
        self, name: str, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        record = done(algebra, ana)
        done(algebra, ana)
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Look again.")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        shown = table(as_lea.get(DESK), name)
        response = as_lea.get(reverse("dashboard-table", args=[name]))
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        assert response["Content-Disposition"] == f'attachment; filename="{name}.csv"'
        assert len(rows(response)) == len(shown)

    def test_dashboard_csv_has_the_fraction_of_a_share(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        (row,) = rows(as_lea.get(reverse("dashboard-table", args=["reviewers"])))
        assert (row["reviewer"], row["done"], row["change_rate"]) == ("ana", "1", "100.0")
        assert (row["changed"], row["longest_agreement"]) == ("1 of 1", "longest 0")

    def test_dashboard_csv_has_no_formulas(self, as_lea: Client, ana: User) -> None:
        done(RunFactory.create(name="=1+1"), ana)
        assert [row["run"] for row in rows(as_lea.get(reverse("dashboard-table", args=["runs"])))] == [
            "'=1+1"
        ]

    def test_dashboard_csv_keeps_run_days_and_reviewer(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        done(algebra, bo)
        place = reverse("dashboard-table", args=["reviewers"])
        assert [row["reviewer"] for row in rows(as_lea.get(place, {"reviewer": "bo"}))] == ["bo"]
        assert rows(as_lea.get(place, {"last": "2020-01-01"})) == []

    def test_dashboard_csv_of_unknown_table_or_reviewer_is_not_found(self, as_lea: Client) -> None:
        assert as_lea.get(reverse("dashboard-table", args=["secrets"])).status_code == 404
        for name in ("nobody", "\0"):
            place = reverse("dashboard-table", args=["days"])
            assert as_lea.get(place, {"reviewer": name}).status_code == 404


class TestDecisions:
    def test_decision_list_has_the_decisions_of_a_figure(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        done(algebra, ana, task_id="7", model_id="o1")
        done(algebra, bo)
        response = as_lea.get(reverse("decisions"), {"reviewer": "ana", "run": str(algebra.pk)})
        page = text(response)
        assert "Decisions of ana" in page
        assert [line[0][1].text for line in response.context["table"].lines] == ["Task 7 · o1"]
        assert f"/runs/{algebra.pk}/?status=done&amp;decided-by=ana" in page

    def test_decision_list_has_pages_and_one_csv_file(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.dashboard.drilldown.PAGE_SIZE", 2)
        for _ in range(3):
            done(algebra, ana)
        first = as_lea.get(reverse("decisions"))
        assert len(first.context["table"].lines) == 2
        second = as_lea.get(first.context["next"])
        assert len(second.context["table"].lines) == 1
        assert second.context["next"] == ""
        assert len(rows(as_lea.get(reverse("decisions-csv")))) == 3

    def test_decisions_of_others_are_listed_for_leads_only(self, as_ana: Client, ana: User, bo: User) -> None:
        for name in ("", "bo", "nobody"):
            assert as_ana.get(reverse("decisions"), {"reviewer": name}).status_code == 403
        assert as_ana.get(reverse("decisions"), {"reviewer": "ana"}).status_code == 200
        assert as_ana.get(reverse("decisions-csv"), {"reviewer": "ana"}).status_code == 403

    def test_decision_list_with_unknown_signal_is_not_found(self, as_lea: Client) -> None:
        assert as_lea.get(reverse("decisions"), {"signal": "lazy"}).status_code == 404


class TestMyActivity:
    def test_my_activity_shows_overturned_decisions(
        self, as_ana: Client, ana: User, bo: User, lea: User, algebra: Run
    ) -> None:
        record, of_bo = done(algebra, ana), done(algebra, bo)
        for one in (record, of_bo):
            decisions.reopen(
                evaluation_id=one.pk, actor=lea, reason=f"Look at {one.human_reviewer_id}'s again."
            )
        response = as_ana.get(reverse("my-activity"))
        page = text(response)
        [shown] = response.context["overturned"]
        assert (shown.record, shown.overturn.actor) == (record, lea)
        assert "Look at ana's again." in page
        assert "Somebody else changed, reopened or replaced 1 of 1 decision." in page
        assert page.index("Overturned decisions") < page.index("Figures") < page.index("Latest decisions")
        assert "bo" not in [cell.text for _, cell in response.context["figures"]]
        assert "These figures are indicators, not grades." in page
        assert ".csv" not in page

    def test_my_activity_without_decisions_says_so(self, as_ana: Client) -> None:
        assert "You have no reviews here yet." in text(as_ana.get(reverse("my-activity")))

    def test_my_activity_links_to_recent_work_in_a_run(self, as_ana: Client, algebra: Run) -> None:
        assert url("recent", algebra) in text(as_ana.get(reverse("my-activity"), {"run": str(algebra.pk)}))


class TestReviewerActivity:
    def test_reviewer_page_links_figures_to_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        response = as_lea.get(url("reviewer-activity", ana), {"run": str(algebra.pk), "first": today()})
        place = {column.name: cell for column, cell in response.context["figures"]}["done"].url
        assert place == reverse("decisions") + f"?run={algebra.pk}&first={today()}&reviewer=ana"
        assert len(as_lea.get(place).context["table"].lines) == 1
        assert "Spot check" in text(response)

    def test_own_reviewer_page_offers_no_spot_checks(self, as_lea: Client, lea: User, algebra: Run) -> None:
        done(algebra, lea)
        assert "How many" not in text(as_lea.get(url("reviewer-activity", lea)))


@pytest.mark.parametrize("count", [1, 3])
def test_dashboard_query_count_is_constant(
    count: int, as_lea: Client, ana: User, lea: User, django_assert_max_num_queries: Any
) -> None:
    for run in RunFactory.create_batch(count):
        decisions.reopen(evaluation_id=done(run, ana).pk, actor=lea, reason="Again.")
        claims.claim(evaluation_id=EvaluationFactory.create(run=run).pk, reviewer=ana)
        done(run, lea)
    with django_assert_max_num_queries(35):
        as_lea.get(DESK)


def test_dashboard_days_are_utc_days(as_lea: Client, ana: User, algebra: Run) -> None:
    done(algebra, ana)
    tomorrow = timezone.now() + dt.timedelta(days=1)
    found = table(as_lea.get(DESK), "days")
    assert [(row["day"], row["done"], row["reviewers"]) for row in found] == [(today(), "1", "1")]
    assert table(as_lea.get(DESK, {"first": f"{tomorrow:%Y-%m-%d}"}), "days") == []

"""Lists and CSV files of the decisions behind the figures of the dashboard, and My activity."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.queue import claims
from reviews.review import decisions
from tests.support.dashboard_pages import DESK, done, listed, table
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import csv_rows, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.mark.slow
class TestCsv:
    def test_dashboard_csv_has_the_rows_of_the_page(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        record = done(algebra, ana)
        done(algebra, ana)
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Look again.")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        page = as_lea.get(DESK)
        for name in ("now", "runs", "reviewers", "days", "overturned", "checks"):
            response = as_lea.get(reverse("dashboard-table", args=[name]))
            assert response["Content-Type"] == "text/csv; charset=utf-8", name
            assert response["Content-Disposition"] == f'attachment; filename="{name}.csv"'
            assert len(csv_rows(response)) == len(table(page, name)), name

    def test_dashboard_csv_has_the_fraction_of_a_share(self, as_lea: Client, ana: User, algebra: Run) -> None:
        done(algebra, ana)
        (row,) = csv_rows(as_lea.get(reverse("dashboard-table", args=["reviewers"])))
        assert (row["reviewer"], row["done"], row["change_rate"]) == ("ana", "1", "1.0")
        assert (row["changed"], row["compared"], row["longest_agreement"]) == ("1", "1", "0")

    def test_dashboard_csv_has_only_numbers_in_columns_of_figures(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        EvaluationFactory.create(run=algebra)
        (row,) = csv_rows(as_lea.get(reverse("dashboard-table", args=["reviewers"])))
        assert all(not value or float(value) >= 0 for name, value in row.items() if name != "reviewer")
        (row,) = csv_rows(as_lea.get(reverse("dashboard-table", args=["runs"])))
        assert (row["waiting"], row["pace"], row["working_days"]) == ("1", "1.0", "today so far")

    def test_dashboard_csv_has_no_formulas(self, as_lea: Client, ana: User) -> None:
        done(RunFactory.create(name="=1+1"), ana)
        assert [row["run"] for row in csv_rows(as_lea.get(reverse("dashboard-table", args=["runs"])))] == [
            "'=1+1"
        ]

    def test_dashboard_csv_keeps_run_days_and_reviewer(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        done(algebra, ana)
        done(algebra, bo)
        place = reverse("dashboard-table", args=["reviewers"])
        assert [row["reviewer"] for row in csv_rows(as_lea.get(place, {"reviewer": "bo"}))] == ["bo"]
        assert csv_rows(as_lea.get(place, {"last": "2020-01-01"})) == []

    def test_dashboard_csv_of_unknown_table_or_reviewer_is_not_found(self, as_lea: Client) -> None:
        assert as_lea.get(reverse("dashboard-table", args=["secrets"])).status_code == 404
        for name in ("nobody", "\0"):
            place = reverse("dashboard-table", args=["days"])
            assert as_lea.get(place, {"reviewer": name}).status_code == 404


class TestDecisions:
    @pytest.mark.slow
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

    @pytest.mark.slow
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
        assert len(csv_rows(as_lea.get(reverse("decisions-csv")))) == 3

    def test_decisions_of_others_are_listed_for_leads_only(self, as_ana: Client, ana: User, bo: User) -> None:
        for name in ("", "bo", "nobody"):
            assert as_ana.get(reverse("decisions"), {"reviewer": name}).status_code == 403
        assert as_ana.get(reverse("decisions"), {"reviewer": "ana"}).status_code == 200
        assert as_ana.get(reverse("decisions-csv"), {"reviewer": "ana"}).status_code == 403

    def test_decision_list_with_unknown_signal_is_not_found(self, as_lea: Client) -> None:
        assert as_lea.get(reverse("decisions"), {"signal": "lazy"}).status_code == 404

    @pytest.mark.slow
    @pytest.mark.parametrize("criterion", ["Clarity", "1", "a__b", "'; --", "%s"])
    def test_decision_list_by_criterion_takes_any_name(
        self, criterion: str, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        yes, no = ({criterion: {"score": score, "justification": ""}} for score in ("YES", "No"))
        changed, kept, removed = (EvaluationFactory.create(run=algebra) for _ in range(3))
        for record, scores in ((changed, no), (kept, yes), (removed, {"Other": {"score": "Yes"}})):
            decide(record, ana, scores=scores, origins={}, judged={criterion: "Yes"})
        place = reverse("decisions", query={"criterion": criterion})
        assert listed(as_lea, place) == {url("evaluation", record) for record in (changed, removed)}
        assert len(csv_rows(as_lea.get(reverse("decisions-csv", query={"criterion": criterion})))) == 2

    def test_decision_list_with_impossible_names_is_not_found(self, as_lea: Client) -> None:
        for query in ({"criterion": "\0"}, {"other": "nobody"}, {"other": "\0"}):
            assert as_lea.get(reverse("decisions"), query).status_code == 404

    def test_decisions_in_common_are_listed_for_leads_only(self, as_ana: Client, bo: User) -> None:
        assert as_ana.get(reverse("decisions"), {"reviewer": "ana", "other": "bo"}).status_code == 403


class TestMyActivity:
    @pytest.mark.slow
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

"""The dashboard with links from figures to decisions, its CSV files, and My activity."""

import csv
import datetime as dt
import io
from typing import Any
from unittest import mock

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from reviews.models import AuditEvent, Evaluation, ReviewerDay, Run, User
from reviews.queue import claims
from reviews.review import decisions, escalations
from reviews.views.dashboard.filters import USUAL, read_filters
from reviews.views.dashboard.key_figures import KeyFigure
from reviews.views.tables import Cell, Column, Table
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import HTMX, text, url
from tests.support.work import SCORES, decide, lock_in_scores

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
    shown = next(one for one in tables(response) if one.name == name)
    return [{column.name: cell.text for column, cell in line} for line in shown.lines]


def tables(response: Any) -> list[Table]:
    context = response.context
    return [one.table for one in (context["runs"], context["days"], *context["tables"])]


def matrix(response: Any, name: str) -> dict[str, dict[str, Cell]]:
    """Return the cells of a matrix by the header of their row, then of their column."""
    shown = next(one for one, _ in response.context["matrices"] if one.name == name)
    return {
        row.header.text: dict(zip(shown.headers, (shaded.cell for shaded in row.cells), strict=True))
        for row in shown.rows
    }


def figure(response: Any, name: str) -> KeyFigure:
    found: KeyFigure = next(one for one in response.context["figures"] if one.name == name)
    return found


def days_ago(days: int) -> Any:
    """Date the decisions made in a block."""
    return mock.patch.object(timezone, "now", return_value=timezone.now() - dt.timedelta(days=days))


def listed(client: Client, place: str) -> set[str]:
    """Return the addresses of the records in a list of decisions."""
    return {line[0][1].url for line in client.get(place).context["table"].lines}


def rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode(), newline="")))


class TestDashboard:
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
            "reviewer": "ana", "other": "bo", "agreement": "70.0", "scores": "7 of 10", "records": "10"
        }  # fmt: skip

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

    @pytest.mark.slow
    def test_dashboard_lists_overturned_decisions_with_reasons(
        self, as_lea: Client, ana: User, lea: User, algebra: Run
    ) -> None:
        record = done(algebra, ana)
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Step 2 is wrong.")
        (overturned,) = table(as_lea.get(DESK), "overturned")
        assert (overturned["reviewer"], overturned["by"]) == ("ana", "lea")
        assert overturned["reason"] == "Step 2 is wrong."


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


def reviewers_row(response: Any) -> list[tuple[Column, Cell]]:
    return next(one for one in tables(response) if one.name == "reviewers").lines[0]


@pytest.mark.slow
def test_dashboard_shows_the_last_days_of_many(as_lea: Client, ana: User, algebra: Run) -> None:
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
            assert len(rows(response)) == len(table(page, name)), name

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

    @pytest.mark.slow
    @pytest.mark.parametrize("criterion", ["Clarity", "1", "a__b", "'; --", "%s"])
    def test_decision_list_by_criterion_takes_any_name(
        self, criterion: str, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        yes, no = ({criterion: {"score": score, "justification": ""}} for score in ("Yes", "No"))
        changed, kept, removed = (EvaluationFactory.create(run=algebra) for _ in range(3))
        for record, scores in ((changed, no), (kept, yes), (removed, {"Other": {"score": "Yes"}})):
            decide(record, ana, scores=scores, origins={}, judged={criterion: "Yes"})
        place = reverse("decisions", query={"criterion": criterion})
        assert listed(as_lea, place) == {url("evaluation", record) for record in (changed, removed)}
        assert len(rows(as_lea.get(reverse("decisions-csv", query={"criterion": criterion})))) == 2

    def test_decision_list_with_impossible_names_is_not_found(self, as_lea: Client) -> None:
        for query in ({"criterion": "\0"}, {"other": "nobody"}, {"other": "\0"}):
            assert as_lea.get(reverse("decisions"), query).status_code == 404

    def test_decisions_in_common_are_listed_for_leads_only(self, as_ana: Client, bo: User) -> None:
        assert as_ana.get(reverse("decisions"), {"reviewer": "ana", "other": "bo"}).status_code == 403


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

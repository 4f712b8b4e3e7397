"""The pages about the judge: warnings about sparse data, and links from figures to records."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.http import urlencode

from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import AfterReveal, ReviewerAgreement
from reviews.judge.accuracy_figures import FIGURES
from reviews.models import Run, User
from reviews.statistics.intervals import undefined
from reviews.views.judge import tables
from reviews.views.judge.accuracy import agreement_answer, changes_answer
from reviews.views.judge.filters import read_filters
from reviews.views.judge.pages import PAGES
from tests.support.judge_pages import CLARITY, confusions, place, review, sections
from tests.support.pages import text, url
from tests.support.population import rated, stratum

pytestmark = pytest.mark.django_db


def test_every_figure_has_a_column() -> None:
    _, *columns = tables.figures_table("", "", ()).columns
    assert {column.name for column in columns} == {*FIGURES}


def test_answers_are_about_a_criterion_if_no_verdict_has_enough_reviews() -> None:
    none, some = undefined("No record has two scores to compare."), Estimate(0.75, 0.5, 0.9, 12)
    agreement = [
        ReviewerAgreement(None, none, none, none, none),
        ReviewerAgreement("depth", none, none, none, some),
    ]
    assert agreement_answer(agreement) == (
        "Reviewers agree on “Depth” in 75% (50 to 90%, n\xa0=\xa012) of the records that several scored "
        "blind."
    )
    assert "change “Depth” in 75%" in changes_answer([AfterReveal("depth", some, 0, 0)])
    assert agreement_answer(agreement[:1]).startswith("A figure needs 10 records")


class TestJudgeCard:
    def test_judge_card_shows_accuracy_and_cautions_for_assisted_ratings(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        flagged = stratum(algebra, {"Pass": 100})
        rated(flagged, ana, "Pass", "Pass", 10)
        rated(flagged, ana, "Pass", "Fail", 9, is_blind=False)
        response = as_lea.get(url("run", algebra))
        figures = {answer.title: answer.cell for answer in response.context["card"].figures}
        assert figures["Accuracy of verdicts (blind)"].text == "100%"
        assert figures["Accuracy of verdicts (assisted)"].text == "\N{EN DASH}"
        assert "A figure needs 10 ratings or more." in figures["Accuracy of verdicts (assisted)"].why
        assert "May overstate the judge&#x27;s accuracy: the reviewers saw its verdict." in text(response)
        assert url("judge", algebra) in text(response)

    def test_judge_card_without_reviews_says_so(self, as_lea: Client, algebra: Run) -> None:
        assert "Not enough data yet" in text(as_lea.get(url("run", algebra)))

    def test_judge_card_is_shown_to_leads_only(self, as_ana: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No")
        page = text(as_ana.get(url("run", algebra)))
        assert "Judge accuracy" not in page
        assert url("judge", algebra) not in page


class TestJudgePages:
    @pytest.mark.slow
    def test_judge_page_of_an_empty_run_shows_no_figure(self, as_lea: Client, algebra: Run) -> None:
        for name in PAGES:
            page = text(as_lea.get(url(name, algebra)))
            assert "nan" not in page.lower().split(), name
            assert "<td" not in page, name

    @pytest.mark.slow
    def test_task_and_dates_choose_the_ratings(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", blind="No")
        today = datetime.now(UTC).date()

        def ratings(**query: str) -> int:
            figures = confusions(as_lea.get(place("judge-errors", algebra, **query)))
            return sum(figure.n for figure in figures if figure.title == CLARITY)

        counted = ratings()
        assert counted > 0
        assert ratings(task="1", since=f"{today}", until=f"{today}") == counted
        assert ratings(since=f"{today + timedelta(days=1)}") == 0
        assert ratings(until=f"{today - timedelta(days=1)}") == 0

    @pytest.mark.slow
    def test_judge_page_reports_unknown_filter_values(self, as_lea: Client, algebra: Run) -> None:
        for query in (
            {"model": "nobody's"},
            {"reviewer": "\0"},
            {"judge": "x" * 500},
            {"task": "\0"},
            {"task": "none such"},
            {"since": "yesterday"},
            {"until": "9999-12-31"},
            {"since": "2026-02-01", "until": "2026-01-01"},
        ):
            read = read_filters(algebra, QueryDict(urlencode(query)))
            assert [problem for problem in read.problems if "The filter is ignored" in problem], query
        response = as_lea.get(place("judge", algebra, reviewer="\0", since="yesterday"))
        assert response.status_code == 200
        assert text(response).count("The filter is ignored") == 2


@pytest.mark.slow
class TestJudgeVsHuman:
    @pytest.mark.slow
    def test_errors_page_separates_blind_and_assisted_ratings(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes")
        review(algebra, ana, "Yes", "No", blind="No")
        blind = as_lea.get(url("judge-errors", algebra)).context["sections"][0]
        assert blind.title == "Blind: the whole run"
        [other] = [link for link in blind.links if link.title == "Assisted decisions"]
        response = as_lea.get(other.url)
        assert response.context["sections"][0].title == tables.SECTIONS["assisted", "run"]
        assert "the reviewer saw the judge&#x27;s score" in text(response)

    def test_judge_page_says_why_a_figure_is_undefined(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "Yes")
        response = as_lea.get(url("judge", algebra))
        [shown] = sections(response)["criteria"].tables
        verdict = {column.name: cell for column, cell in shown.table.lines[0]}
        assert verdict["kappa"].text == "\N{EN DASH}"
        assert verdict["kappa"].why
        assert verdict["kappa"].why in text(response)
        assert verdict["accuracy"].note.endswith("n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1")

    @pytest.mark.parametrize("name", ["judge", "judge-errors"])
    def test_judge_page_defines_every_figure_with_its_source(
        self, name: str, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes", blind="Yes")
        response = as_lea.get(url(name, algebra))
        tables = [shown.table for section in response.context["sections"] for shown in section.tables]
        assert [
            column.title
            for table in tables
            for column in table.columns
            if column.is_number and not column.help
        ] == []
        assert "Gwet 2008" in text(response)

    @pytest.mark.slow
    def test_judge_page_breaks_a_criterion_down_by_group(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", blind="No", model_id="o1")
        review(algebra, ana, "Yes", "Yes", blind="Yes", model_id=None)
        for query, title in (({}, "Verdict"), ({"of": CLARITY}, CLARITY), ({"of": "x"}, "Verdict")):
            response = as_lea.get(place("judge-errors", algebra, **query))
            table = sections(response)["by-group"].tables[0].table
            assert table.title == f"{title} by judge, prompt and model"
            assert [line[2][1].text for line in table.lines] == ["no model", "o1"]

    @pytest.mark.slow
    def test_small_groups_are_shown_by_judge_by_prompt_and_by_model(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.views.judge.accuracy.FEWEST", 3)
        for model, human, prompt in (
            ("o1", "No", "a/1"),
            ("o2", "Yes", "a/1"),
            ("o1", "Yes", "a/1"),
            ("o1", "Yes", "2"),
        ):
            values = {"model_id": model, "judge_prompt_template_path": prompt}
            review(algebra, ana, "Yes", human, blind=human, **values)
        plot = sections(as_lea.get(url("judge-errors", algebra)))["by-group"].plot
        assert plot
        assert [(dot.title, dot.cell.parts[2]) for dot in plot.dots] == [("Prompt: 1", 3), ("Model: o1", 3)]
        assert [len(as_lea.get(dot.cell.url).context["table"].rows) for dot in plot.dots] == [1, 1]

    @pytest.mark.slow
    def test_judge_page_shows_the_groups_with_most_ratings(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.views.judge.tables.MOST_GROUPS", 2)
        for model in ("o1", "o2", "o3", "o3"):
            review(algebra, ana, "Yes", "No", blind="No", model_id=model)
        table = sections(as_lea.get(url("judge-errors", algebra)))["by-group"].tables[0].table
        assert [line[2][1].text for line in table.lines] == ["o1", "o3"]
        assert table.intro == "The groups with most ratings. The CSV file has all 3."

    def test_judge_page_shows_changes_after_the_reveal(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "Yes", blind="No")
        response = as_lea.get(url("judge-reviewers", algebra))
        [shown] = sections(response)["after-reveal"].tables
        line = {column.name: cell for column, cell in shown.table.lines[-1]}
        assert (line["changed"].value, line["towards_judge"].value) == (100, 1)

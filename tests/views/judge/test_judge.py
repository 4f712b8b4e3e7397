"""The judge pages: warnings about sparse data, links from figures to records, and downloads."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from django.utils.http import urlencode
from pytest_django.plugin import DjangoDbBlocker

from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import AfterReveal, ReviewerAgreement
from reviews.models import Evaluation, Rating, Run, User
from reviews.search import strata
from reviews.search.listing import QueryTooSlow
from reviews.statistics.intervals import undefined
from reviews.views.judge import tables
from reviews.views.judge.accuracy import agreement_answer, changes_answer
from reviews.views.judge.confusion import ConfusionTable
from reviews.views.judge.csv_files import TABLES
from reviews.views.judge.filters import read_filters
from reviews.views.judge.pages import PAGES
from reviews.views.judge.sections import Section
from tests.support.factories import RunFactory, UserFactory
from tests.support.pages import text, url
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data
from tests.support.shared_world import shared_world
from tests.support.work import decide, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db

CLARITY = "Clarity"


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


@pytest.fixture
def algebra() -> Run:
    return RunFactory.create(name="Algebra", rubric=rubric_data(CLARITY))


@pytest.fixture(scope="class")
def judged(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Run]:
    """A run with decisions by ana, of several models, prompts and causes. The tests of a class share it."""
    with shared_world(django_db_blocker):
        run = RunFactory.create(name="Algebra", rubric=rubric_data(CLARITY))
        ana = UserFactory.create(username="ana", role="reviewer")
        for number, cause in enumerate(["too strict", "too lenient", "arithmetic"] * 2):
            columns = {"model_id": f"m{number}", "judge_prompt_template_path": f"p{number}.txt"}
            review(run, ana, "Yes", "No", cause=cause, **columns)
        yield run


def review(
    run: Run, reviewer: User, judge: Any, human: Any, *, blind: Any = None, cause: str = "", **record: Any
) -> Evaluation:
    """Create a decided record with a judge score and a reviewer score."""
    [evaluation] = evaluations(run, tasks=["1"], **{"aggregated_score": None} | record)
    if blind is not None:
        lock_in_scores(evaluation, reviewer, {CLARITY: blind}, judged={CLARITY: judge})
    decide(
        evaluation,
        reviewer,
        scores={CLARITY: {"score": human, "justification": "Step 3 follows."}},
        origins={CLARITY: "human"},
        judged={CLARITY: judge},
        causes={CLARITY: cause} if cause else {},
        active_ms=60_000,
    )
    strata.recount(run, {})
    return evaluation


def rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode(), newline="")))


def place(name: str, run: Run, **query: str) -> str:
    return reverse(name, args=[run.pk], query=query)


def sections(response: Any) -> dict[str, Section]:
    """Return the sections of a page by name."""
    return {section.name: section for section in response.context["sections"]}


def confusions(response: Any) -> list[ConfusionTable]:
    """Return the confusion matrices of a page."""
    shown = [one for one in response.context["sections"] if one.template == "judge/confusions.html"]
    return [confusion for section in shown for confusion in section.data]


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


class TestPagesOfDecisions:
    @pytest.mark.slow
    def test_judge_page_keeps_filters_in_links_and_a_plan_has_none_by_reviewer(
        self, as_lea: Client, judged: Run, django_assert_max_num_queries: Any
    ) -> None:
        for name in PAGES:
            with django_assert_max_num_queries(64, info=name):
                response = as_lea.get(place(name, judged, model="m1", reviewer="ana"))
            assert [tab.url for tab in response.context["tabs"]] == [
                place(other, judged, model="m1", reviewer="ana") for other in PAGES
            ]
            is_plan = name == "judge-plan"
            sentence = "Filters by reviewer, task and date do not apply to a plan"
            assert (sentence in text(response)) == is_plan, name
            assert ("reviewer" in {field.name for field in response.context["fields"]}) != is_plan, name
            assert response.context["kept"] == ([("reviewer", "ana")] if is_plan else []), name

    @pytest.mark.slow
    def test_judge_csv_exists_for_every_table(self, as_lea: Client, judged: Run) -> None:
        for name in TABLES:
            response = as_lea.get(reverse("judge-table", args=[judged.pk, name]))
            assert response["Content-Disposition"] == f'attachment; filename="{name}.csv"'
            header = response.getvalue().decode().splitlines()[0].split(",")
            assert len(header) == len(set(header)), name

    @pytest.mark.parametrize("said", ["nothing like it", "{", "1e999", "[" * 2000])
    def test_decision_list_with_unused_scores_is_empty(self, said: str, as_lea: Client, judged: Run) -> None:
        response = as_lea.get(place("judge-decisions", judged, criterion=CLARITY, judge_said=said))
        assert response.context["table"].lines == []
        assert "No such ratings." in text(response)


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


@pytest.mark.slow
class TestConfusionTableCell:
    def cell(self, client: Client, run: Run, label: str, **query: str) -> tuple[int, list[str]]:
        """Return the count in a cell about Clarity, and the records it links to."""
        response = client.get(place("judge-errors", run, **query))
        crossings = [
            crossing
            for confusion in confusions(response)
            if confusion.title == CLARITY
            for line in confusion.lines
            for crossing in line.crossings
            if crossing.label == label
        ]
        [found] = [one.cell for one in crossings if one.cell.url]
        assert isinstance(found.value, int)
        listed = client.get(found.url)
        return found.value, [line[0][1].text for line in listed.context["table"].lines]

    def test_confusion_cell_links_to_its_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", model_id="o1")
        review(algebra, ana, "Yes", "Yes", model_id="o2")
        review(algebra, ana, "No", "No", model_id="o3")
        assert self.cell(as_lea, algebra, "judge Yes, human No") == (1, ["Task 1 · o1"])

    def test_confusion_cell_of_blind_reviews_uses_locked_in_scores(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes", blind="No", model_id="o1")
        review(algebra, ana, "Yes", "No", blind="Yes", model_id="o2")
        assert self.cell(as_lea, algebra, "judge Yes, human No") == (1, ["Task 1 · o1"])

    def test_confusion_cell_of_sampled_records_excludes_flagged_ones(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", blind="No", model_id="o1")
        review(
            algebra, ana, "Yes", "Yes", blind="Yes", model_id="o2", needs_human_review=False, is_sampled=True
        )
        listed = as_lea.get(
            place("judge-decisions", algebra, criterion=CLARITY, judge_said='"Yes"', part="unflagged")
        )
        assert [line[0][1].text for line in listed.context["table"].lines] == ["Task 1 · o2"]

    def test_confusion_cell_distinguishes_numbers_from_texts(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        algebra.rubric = rubric_data(CLARITY, values=(4, 3, "4"))
        algebra.save()
        review(algebra, ana, 4, 3, model_id="o1")
        review(algebra, ana, 4.0, 3, model_id="o2")
        review(algebra, ana, "4", "4", model_id="o3")
        count, records = self.cell(as_lea, algebra, "judge 4, human 3")
        assert (count, sorted(records)) == (2, ["Task 1 · o1", "Task 1 · o2"])

    def test_confusion_cell_follows_the_filters(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", model_id="o1")
        review(algebra, bo, "Yes", "No", model_id="o2")
        narrowed = self.cell(as_lea, algebra, "judge Yes, human No", reviewer="bo")
        assert narrowed == (1, ["Task 1 · o2"])
        assert self.cell(as_lea, algebra, "judge Yes, human No", model="o1") == (1, ["Task 1 · o1"])


class TestDecisions:
    def test_removed_criteria_are_counted_outside_the_confusion_table(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        [record] = evaluations(algebra, tasks=["1"], aggregated_score=None)
        both = {CLARITY: "Yes", "Depth": "No"}
        decide(record, ana, scores={CLARITY: {"score": "Yes"}}, origins={}, judged=both)
        response = as_lea.get(url("judge-errors", algebra))
        [confusion] = [one for one in confusions(response) if one.title == "Depth"]
        [(why, cell)] = confusion.excluded
        assert (why, cell.text) == ("the reviewer removed the criterion", "1")
        [line] = as_lea.get(cell.url).context["table"].lines
        assert [one.text for _, one in line[1:4]] == ["No", "none", "none"]

    def test_decision_list_has_pages_and_one_csv_file(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.judge.drilldown.PAGE_SIZE", 2)
        for _ in range(3):
            review(algebra, ana, "Yes", "No")
        query = {"criterion": CLARITY, "judge_said": '"Yes"', "human_said": '"No"'}
        first = as_lea.get(place("judge-decisions", algebra, **query))
        assert len(first.context["table"].lines) == 2
        second = as_lea.get(first.context["next"])
        assert (len(second.context["table"].lines), second.context["next"]) == (1, "")
        assert len(rows(as_lea.get(place("judge-decisions-csv", algebra, **query)))) == 3

    def test_decision_list_finds_scores_that_were_changed_after_the_reveal(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes", blind="No", model_id="adopted")
        review(algebra, ana, "Yes", "No", blind="Yes", model_id="left")
        review(algebra, ana, "Yes", "Yes", blind="Yes", model_id="kept")

        def listed(changed: str) -> list[str]:
            query = {"criterion": CLARITY, "basis": "blind", "changed": changed}
            table = as_lea.get(place("judge-decisions", algebra, **query)).context["table"]
            return [line[0][1].text.partition(" · ")[2] for line in table.lines]

        assert listed("any") == ["left", "adopted"]
        assert (listed("to judge"), listed("from judge")) == (["adopted"], ["left"])

    def test_decision_list_finds_ratings_by_flag_reason_and_of_several_reviewers(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        record = review(algebra, ana, "Yes", "No", blind="No", review_reasons=["Odd format"])
        review(algebra, bo, "Yes", "No", blind="No", review_reasons=[])
        Rating.objects.filter(evaluation=record).update(raters=2)
        [family] = Rating.objects.get(evaluation=record, cell__criterion=None).families or []
        for query in ({"reason": family}, {"shared": "yes"}):
            response = as_lea.get(place("judge-decisions", algebra, basis="blind", **query))
            assert len(response.context["table"].lines) == 1
        response = as_lea.get(place("judge-decisions", algebra, reason="none such"))
        assert response.context["table"].lines == []

    def test_ratings_of_records_in_the_queue_are_not_listed(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", blind="No")
        [waiting] = evaluations(algebra, tasks=["2"], aggregated_score=None)
        lock_in_scores(waiting, ana, {CLARITY: "No"}, judged={CLARITY: "Yes"})
        listed = as_lea.get(place("judge-decisions", algebra, criterion=CLARITY, basis="blind"))
        assert [line[0][1].text for line in listed.context["table"].lines] == ["Task 1 · openai/gpt-4o"]
        assert "in the queue are counted, but not listed" in text(listed)

    def test_slow_decision_list_is_stopped(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def too_slow(*_: Any, **__: Any) -> None:
            raise QueryTooSlow

        monkeypatch.setattr("reviews.views.judge.decisions.list_ratings", too_slow)
        assert "Too many decisions to search" in text(as_lea.get(url("judge-decisions", algebra)))

    @pytest.mark.slow
    def test_records_to_score_blind_have_pages_and_one_csv_file(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.judge.funnel.PAGE_SIZE", 2)
        for _ in range(3):
            review(algebra, ana, "Yes", "No", blind="No", needs_human_review=True)
        first = as_lea.get(place("judge-blind-records", algebra, state="assigned"))
        assert [[cell.text for _, cell in line[1:]] for line in first.context["table"].lines] == [
            ["Completed", "yes"],
            ["Completed", "yes"],
        ]
        second = as_lea.get(first.context["next"])
        assert (len(second.context["table"].lines), second.context["next"]) == (1, "")
        listed = rows(as_lea.get(place("judge-blind-records-csv", algebra, state="assigned")))
        assert {row["record"] for row in listed} == {
            *algebra.evaluations.values_list("evaluation_id", flat=True)
        }
        assert len(listed) == 3
        assert as_lea.get(place("judge-blind-records", algebra, state="lost")).status_code == 404

    @pytest.mark.parametrize(
        "query",
        [
            {"basis": "twice"},
            {"part": "by hand"},
            {"criterion": "\0"},
            {"judge_said": "!"},
            {"changed": "yes"},
            {"shared": "no"},
            {"reason": "x", "criterion": CLARITY},
        ],
    )
    def test_decision_list_with_impossible_filter_is_not_found(
        self, query: dict[str, str], as_lea: Client, algebra: Run
    ) -> None:
        assert as_lea.get(place("judge-decisions", algebra, **query)).status_code == 404


class TestErrorAnalysis:
    def test_causes_are_ranked_with_links_to_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        for cause in ("too strict", "too strict", "arithmetic"):
            review(algebra, ana, "No", "Yes", cause=cause)
        response = as_lea.get(url("judge-errors", algebra))
        found = sections(response)["causes-of-1"].data["table"]
        named = {line[0][1].text: line[1][1] for line in found.lines}
        assert {cause: cell.value for cause, cell in named.items()} == {"Too strict": 2, "Arithmetic": 1}
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
        found = rows(as_lea.get(reverse("judge-table", args=[algebra.pk, "assisted-run"])))
        [clarity] = [row for row in found if row["criterion"] == CLARITY]
        assert (clarity["accuracy"], clarity["accuracy_n"]) == ("50.0", "2")
        assert float(clarity["accuracy_low"]) < 50 < float(clarity["accuracy_high"])
        assert (clarity["kappa"], clarity["kappa_low"], clarity["kappa_n"]) == ("", "", "2")

    def test_judge_csv_has_every_group_and_criterion(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", blind="No", model_id="o1")
        found = rows(as_lea.get(reverse("judge-table", args=[algebra.pk, "groups"])))
        assert [(row["criterion"], row["model"]) for row in found] == [("Verdict", "o1"), (CLARITY, "o1")]

    def test_judge_csv_of_unknown_table_is_not_found(self, as_lea: Client, algebra: Run) -> None:
        assert as_lea.get(reverse("judge-table", args=[algebra.pk, "secrets"])).status_code == 404

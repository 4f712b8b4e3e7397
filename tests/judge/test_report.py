"""The complete report about a run's judge, as JSON and as text."""

import csv
import json
from dataclasses import fields
from typing import Any, cast

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from cognireview.types import judge
from reviews.judge import report
from reviews.judge.report_csv import report_csv
from reviews.judge.scope import JudgeScope
from reviews.management import report_tables
from reviews.models import Evaluation, Run, User
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line
from tests.support.population import rated, stratum
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def reviewed(reviewer: User) -> Run:
    """A run of three records, one of which has a decision."""
    run = import_data(file_of(line("a"), line("b"), line("c", model_id="o1"))).target_run
    decide(
        Evaluation.objects.get(evaluation_id="a"),
        reviewer,
        scores={"Clarity": {"score": "No", "justification": "It is not."}},
        origins={"Clarity": "human"},
        causes={"Clarity": "too lenient"},
        judged={"Clarity": "Yes"},
        active_ms=60_000,
    )
    return run


class ReadParts:
    """A report that notes which of its parts are read."""

    def __init__(self, found: report.JudgeReport) -> None:
        self._found = found
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._found, name)


@pytest.mark.slow
def test_page_csv_and_text_show_every_part(as_lea: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.objects.create(name="empty")
    found = report.build_report(JudgeScope(run))
    names = {one.name for one in fields(report.JudgeReport)}
    text, page = ReadParts(found), ReadParts(found)
    list(report_tables.report_parts(cast("report.JudgeReport", text)))
    monkeypatch.setattr(report, "build_report", lambda _: page)
    as_lea.get(reverse("judge-report", args=[run.pk]))
    # Filters show the scope on the page.
    assert (names - text.read, names - page.read) == (set(), {"scope"})
    in_json = {one.name for one in fields(judge.JudgeReport)}
    rows = csv.DictReader(b"".join(report_csv({name: {"n": 1} for name in in_json})).decode().splitlines())
    assert names - {row["part"] for row in rows} == {"scope", "at"}


class TestReport:
    @pytest.mark.slow
    def test_report_has_every_part_as_plain_json(self, ana: User) -> None:
        found = json.loads(
            json.dumps(report.build_report(JudgeScope(reviewed(ana))).as_json(), allow_nan=False)
        )
        assert set(found) == {one.name for one in fields(judge.JudgeReport)}
        assert found["progress"]["done"] == 1
        assert found["error_analysis"]["templates"][0]["causes"][0]["cause"] == "too lenient"

    @pytest.mark.slow
    def test_report_command_counts_chosen_ratings_and_refuses_invalid_filters(
        self, ana: User, capfdbinary: Capture
    ) -> None:
        name = reviewed(ana).name
        found = json.loads(manage(capfdbinary, "judge_report", name, "--json", "--until", "2000-01-01").out)
        assert found["judge_vs_human"]["overall"] == []
        wrong = manage(capfdbinary, "judge_report", name, "--since", "May")
        assert (wrong.status, wrong.err) == (2, "From: “May” is not a date. Write it as 2026-11-21.")

    @pytest.mark.slow
    def test_report_compares_the_accuracy_with_the_target_of_the_run(
        self, ana: User, capfdbinary: Capture
    ) -> None:
        run = Run.objects.create(name="algebra", accuracy_target=0.8)
        assert report.build_report(JudgeScope(run)).as_json()["target"]["outcome"] == "not shown yet"
        rated(stratum(run, {"Pass": 1_000}), ana, "Pass", "Fail", 30)
        found = report.build_report(JudgeScope(run)).as_json()["target"]
        assert (found["target"], found["outcome"], found["accuracy"]["n"]) == (0.8, "shown worse", 30)
        assert b"Target 80%: not met." in manage(capfdbinary, "judge_report", "algebra").out
        assert report.build_report(JudgeScope(run, reviewer=ana)).as_json()["target"] is None

    def test_report_of_an_empty_run_gives_reasons(self) -> None:
        found = report.build_report(JudgeScope(Run.objects.create(name="empty"))).as_json()
        assert found["missed_errors"]["miss_rate"]["value"] is None
        assert found["missed_errors"]["miss_rate"]["why"] != ""
        assert found["judge_vs_human"]["overall"] == []

    @pytest.mark.slow
    def test_report_takes_the_same_queries_at_any_size(
        self, ana: User, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        run = reviewed(ana)
        with django_assert_max_num_queries(60):
            report.build_report(JudgeScope(run)).as_json()

    def test_report_of_the_sample_admits_thin_data(self, sample: bytes) -> None:
        import_data(sample, run="sample")
        found = report.build_report(JudgeScope(Run.objects.get()))
        assert found.data.records_of("verified", "no reference") == 49
        assert found.data.contradictions == ()
        assert len(found.flag_precision.families) == 2
        assert {family.advice for family in found.flag_precision.families} == {"not enough data"}
        assert not found.data.blind.is_possible
        assert [model.ratings for model in found.leaderboard.models] == [0] * 5
        assert sum(model.passes for model in found.leaderboard.models) == 13
        assert found.missed_errors.sentences[0].startswith("Every record with a verdict is flagged")


class TestCommand:
    @pytest.mark.slow
    def test_judge_command_prints_json(self, ana: User, capfdbinary: Capture) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations", "--json")
        assert done.status == 0
        assert json.loads(done.out)["scope"]["run"] == "evaluations"

    @pytest.mark.slow
    def test_judge_command_prints_tables(self, ana: User, capfdbinary: Capture) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations")
        text = done.out.decode()
        for part in ("Judge vs reviewers", "Flag reasons", "Missed errors", "Models", "Too lenient"):
            assert part in text
        assert "10%" in text
        assert "\x1b" not in text

    def test_judge_command_strips_terminal_escapes_from_texts(self, capfdbinary: Capture) -> None:
        import_data(file_of(line("a", model_id="[bold]\x1b[2Jo1")))
        text = manage(capfdbinary, "judge_report", "evaluations").out.decode()
        assert "\x1b" not in text
        assert "[bold]" in text

    def test_judge_command_exits_with_2_for_an_unknown_run(self, capfdbinary: Capture) -> None:
        done = manage(capfdbinary, "judge_report", "nothing")
        assert (done.status, done.out) == (2, b"")
        assert "No run 'nothing'. " in done.err


class TestRequirements:
    @pytest.fixture
    def run(self, ana: User) -> Run:
        """Create 80 blind ratings, 76 equal to the judge's verdict. Other figures are undefined."""
        run = Run.objects.create(name="nightly")
        flagged = stratum(run, {"Pass": 200})
        rated(flagged, ana, "Pass", "Pass", 76)
        rated(flagged, ana, "Pass", "Fail", 4)
        return run

    @pytest.mark.parametrize(
        ("required", "status", "begins"),
        [
            (["accuracy >= 0.8"], 0, "met: accuracy of the verdict: 0.950"),
            (["accuracy >= 0.9"], 2, "not shown yet: "),
            (["accuracy >= 0.999"], 1, "shown worse: "),
            (["flagged accuracy <= 0.8"], 1, "shown worse: "),
            (["unflagged accuracy >= 0.9"], 2, "not shown yet: "),
            (["accuracy >= 0.8", "miss_rate <= 0.1"], 2, "met: "),
            (["accuracy >= 0.999", "miss_rate <= 0.1"], 1, "shown worse: "),
        ],
    )
    def test_requirements_set_the_exit_status_and_print_a_line_each(
        self,
        required: list[str],
        status: int,
        begins: str,
        run: Run,
        capfdbinary: Capture,
    ) -> None:
        options = [part for text in required for part in ("--require", text)]
        done = manage(capfdbinary, "judge_report", "nightly", *options)
        lines = done.out.decode().splitlines()
        assert (done.status, len(lines), lines[0].startswith(begins)) == (status, len(required), True)

    @pytest.mark.slow
    def test_report_json_has_the_requirements(self, run: Run, capfdbinary: Capture) -> None:
        text = "accuracy >= 0.999"
        done = manage(capfdbinary, "judge_report", "nightly", "--json", "--require", text)
        [found] = json.loads(done.out)["requirements"]
        assert (done.status, found["require"], found["outcome"], found["limit"]) == (
            1,
            text,
            "shown worse",
            0.999,
        )
        shown = json.loads(done.out)["judge_vs_human"]["overall"][0]["accuracy"]
        assert found["estimate"]["value"] == shown["value"]
        assert found["estimate"]["low"] < shown["low"] < shown["high"] < found["estimate"]["high"]

    def test_invalid_requirement_exits_with_2(self, capfdbinary: Capture) -> None:
        done = manage(capfdbinary, "judge_report", "nightly", "--require", "blind kappa >= 0.6")
        assert (done.status, done.out) == (2, b"")
        assert "names an unknown metric" in done.err

"""The judge's accuracy over runs."""

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types import judge
from cognireview.types.encoding import members
from cognireview.types.estimates import Change
from reviews.judge.accuracy import compare_with_humans
from reviews.judge.comparison import history
from reviews.judge.comparison.history import accuracy_over_runs, judge_family, prompt_family
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.factories import RunFactory, UserFactory
from tests.support.gold import CLARITY, judged, rate
from tests.support.pages import text
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


def run_of(name: str, reviewer: User, right: int, *, criterion: str = CLARITY, **values: Any) -> Run:
    """Create a run with 10 rated records, on some of which the judge is right."""
    run = RunFactory.create(name=name, rubric=rubric_data(criterion), blind_share=0)
    records = judged(run, ["Pass"] * 10, **values)
    rate(records, reviewer, ["Pass"] * right + ["Fail"] * (10 - right))
    return run


@pytest.fixture(scope="class")
def _rated(class_world: None) -> None:
    """Create the runs for the tests of a class, which undo their changes."""
    ana = UserFactory.create(username="ana", role="reviewer")
    run_of("monday", ana, 5, judge_llm_model="gpt-4o-2024-05-13")
    run_of("tuesday", ana, 6, judge_llm_model="gpt-4o-2024-08-06")
    run_of("friday", ana, 9, judge_llm_model="gpt-4o-2024-08-06", judge_prompt_template_path="v2.txt")
    other = RunFactory.create(name="other", rubric=rubric_data("Depth"), blind_share=0)
    judged(other, ["Pass"], judge_llm_model="claude", judge_prompt_template_path="other.txt")


@pytest.fixture
def ana(_rated: None) -> User:
    return User.objects.get(username="ana")


@pytest.fixture
def runs(_rated: None) -> list[Run]:
    """Three runs of the same judge with two prompts. A fourth one has nothing in common with them."""
    return [Run.objects.get(name=name) for name in ("monday", "tuesday", "friday")]


class TestLine:
    @pytest.mark.slow
    def test_related_runs_are_in_the_order_of_their_creation(self, runs: list[Run]) -> None:
        found = accuracy_over_runs(JudgeScope(runs[1]), Run.objects.all())
        assert [point.run.name for point in found.points] == ["monday", "tuesday", "friday"]
        assert [point.accuracy.value for point in found.points] == pytest.approx([0.5, 0.6, 0.9])
        assert found.points[0].related_by == ("judge", "prompt", "criteria")
        assert found.points[2].related_by == ("judge", "criteria")
        assert found.points[1].related_by == ()

    def test_changes_since_the_run_before_are_named(self, runs: list[Run]) -> None:
        first, second, third = accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all()).points
        assert first.changes == ()
        assert second.changes == (Change("Judge", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),)
        assert third.changes == (Change("Prompt", "prompts/judge.txt", "v2.txt"),)

    def test_each_figure_is_the_headline_of_its_run(self, runs: list[Run]) -> None:
        points = accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all()).points
        headlines = [compare_with_humans(JudgeScope(run)).headline for run in runs]
        assert [point.accuracy for point in points] == [one and one.accuracy for one in headlines]

    def test_only_related_and_chosen_runs_are_shown(self, runs: list[Run]) -> None:
        same_prompt = accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all(), by="prompt")
        assert [point.run for point in same_prompt.points] == runs[:2]
        chosen = accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all(), by="prompt", chosen=[runs[2].pk])
        assert [point.run for point in chosen.points] == [runs[0], runs[2]]
        assert [one.run for one in chosen.related if one.is_chosen] == [runs[0], runs[2]]
        assert [
            point.run
            for point in accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all(), chosen=[]).points
        ] == [runs[0]]

    def test_judges_of_one_run_share_a_point_that_names_them(self, runs: list[Run], ana: User) -> None:
        records = judged(runs[2], ["Pass"] * 2, judge_llm_model="gpt-5")
        rate(records, ana, ["Fail", "Fail"])
        *_, before, last = accuracy_over_runs(JudgeScope(runs[2]), Run.objects.all()).points
        assert (before.run, last.run) == (runs[1], runs[2])
        assert last.judges == ("gpt-4o-2024-08-06", "gpt-5")
        assert last.accuracy.value == pytest.approx(9 / 12)

    def test_oldest_runs_beyond_the_limit_are_left_out(
        self, runs: list[Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "MOST_POINTS", 2)
        found = accuracy_over_runs(JudgeScope(runs[0]), Run.objects.all())
        assert ([point.run for point in found.points], found.omitted) == (runs[1:], 1)

    def test_run_without_blind_ratings_says_so(self, runs: list[Run]) -> None:
        other = Run.objects.get(name="other")
        [point] = accuracy_over_runs(JudgeScope(other), Run.objects.all()).points
        assert (point.accuracy.value, point.accuracy.why) == (None, "No blind scores were submitted yet.")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("claude-3-opus-latest", "claude-3-opus"),
        ("judge-2", "judge-2"),
        ("Qwen2.5-72B", "qwen2.5-72b"),
    ],
)
def test_judge_family_omits_provider_and_date(name: str, family: str) -> None:
    assert judge_family(name) == family


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("prompts/judge.txt", "prompts/judge"),
        ("prompts/judge_v2.jinja", "prompts/judge"),
        ("prompts/judge-1.3.txt", "prompts/judge"),
        ("prompts/judge-final", "prompts/judge"),
        ("v2", "v2"),
        ("renew", "renew"),
        ("", ""),
    ],
)
def test_prompt_family_omits_version_and_file_type(path: str, family: str) -> None:
    assert prompt_family(path) == family


@pytest.mark.slow
class TestPages:
    def test_page_leads_to_each_run_and_its_table_is_a_file(
        self, runs: list[Run], client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        page = client.get(reverse("judge-history", args=[runs[2].pk]))
        assert "“friday”: 90% (" in text(page)
        assert "The run before, “tuesday”: 60% (" in text(page)
        assert "“friday” differs from the run before it. Prompt: prompts/judge.txt → v2.txt." in text(page)
        [section] = page.context["sections"]
        assert [client.get(row.dot.cell.url).context["run"] for row in section.plot.rows] == runs
        [table] = section.tables
        rows = [*csv.DictReader(io.StringIO(client.get(table.csv_url).getvalue().decode()))]
        assert [(row["run"], row["accuracy"]) for row in rows] == [
            ("monday", "0.5"),
            ("tuesday", "0.6"),
            ("friday", "0.9"),
        ]
        picked = client.get(reverse("judge-history", args=[runs[2].pk], query={"pick": 1, "run": "x"}))
        assert len(picked.context["sections"][0].plot.dots) == 1

    def test_runs_that_the_reader_may_not_see_are_not_on_the_line(
        self, runs: list[Run], client: Client, lea: User
    ) -> None:
        Run.objects.filter(pk=runs[0].pk).update(is_restricted=True)
        client.force_login(lea)
        page = client.get(reverse("judge-history", args=[runs[2].pk], query={"pick": 1, "run": runs[0].pk}))
        assert "monday" not in text(page)
        found = program_of(lea).get("runs/friday/accuracy-over-runs").json()
        assert [point["run"] for point in found["points"]] == ["tuesday", "friday"]

    def test_api_and_command_give_the_same_line(
        self, runs: list[Run], lea: User, capfdbinary: Capture
    ) -> None:
        found = program_of(lea).get("runs/friday/accuracy-over-runs").json()
        assert found == json.loads(
            json.dumps(members(judge.History, accuracy_over_runs(JudgeScope(runs[2]), Run.objects.all())))
        )
        printed = manage(capfdbinary, "judge_report", "friday", "--history", "--json").out
        assert json.loads(printed) == found
        lines = manage(capfdbinary, "judge_report", "friday", "--history").out.decode()
        assert "60%" in lines
        table, *described = lines.split("\n\n")
        assert [line.split()[0] for line in table.splitlines()] == ["Run", "monday", "tuesday", "friday"]
        assert described[0].startswith("monday\nJudge: gpt-4o-2024-05-13\nPrompt: prompts/judge.txt")
        assert manage(capfdbinary, "judge_report", "friday", "--history", "--csv").status == 2

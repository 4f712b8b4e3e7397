"""Lists of pages about the judge, its API and its command take the same filters."""

import csv
import io
import json
from random import Random

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.comparison.history import accuracy_over_runs
from reviews.judge.comparison.paired import compare_runs
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.scope import JudgeScope
from reviews.models import Rating, Run, User
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.factories import UserFactory
from tests.support.filtered_runs import FILTERS, fill, history
from tests.support.pages import text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="class")
def runs(class_world: None) -> tuple[Run, Run]:
    """Two runs that ana and bo rated. Tests undo their changes."""
    for name in ("ana", "bo"):
        UserFactory.create(username=name, role="reviewer")
    chance = Random(3)
    return fill("monday", history(chance)), fill("tuesday", history(chance))


class TestPages:
    @pytest.mark.parametrize(
        "values", [pytest.param(FILTERS[0], marks=pytest.mark.exhaustive), FILTERS[-2]], ids=str
    )
    def test_lists_have_as_many_records_as_filtered_figures_say(
        self, runs: tuple[Run, Run], values: dict[str, str], client: Client, lea: User
    ) -> None:
        first, second = runs
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": first.pk} | values))
        sections = {section.name: section for section in page.context["sections"]}
        assert sections["runs"].plot.line == 80
        scope = read_shared_filters(first, second, values).scope
        assert sections["drift"].plot.dots[0].cell.parts[2] == measure_drift(first, scope).shift.n
        counted = [
            (cell.value, cell.url)
            for section in [*sections.values()][:4]  # between runs, the drift, and two judges of the run
            for column, cell in section.figures
            if column.name != "changed" and cell.url
        ]
        counted += [(dot.cell.parts[2], dot.cell.url) for dot in sections["drift"].plot.dots]
        assert len({*counted}) > 8
        for place, (number, url) in enumerate(dict.fromkeys(counted)):
            listed = client.get(url)
            assert len(listed.context["table"].rows) == number, url
            if place % 5 == 0:  # the file has the rows of the same query
                file = client.get(listed.context["csv_url"]).getvalue().decode()
                assert len([*csv.DictReader(io.StringIO(file))]) == number, url
            assert listed.context["filters"].chosen == values
        assert page.context["filters"].chosen == values
        for tab in page.context["tabs"]:
            assert all(name in tab.url for name in values), tab.url

    def test_dot_of_a_run_leads_to_ratings_with_the_filters(
        self, runs: tuple[Run, Run], client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        values = {"judge": "judge-1", "reviewer": "ana"}
        page = client.get(reverse("judge-history", args=[runs[1].pk], query=values))
        [section] = page.context["sections"]
        assert [dot.title for dot in section.plot.dots] == ["monday", "tuesday"]
        assert section.plot.line == 80
        for dot in section.plot.dots:
            listed = client.get(dot.cell.url).context["table"].rows
            assert len(listed) == dot.cell.parts[2] > 0
        Rating.objects.filter(evaluation__run=runs[0], reviewer__username="ana").delete()
        again = client.get(reverse("judge-history", args=[runs[1].pk], query=values))
        assert [dot.title for dot in again.context["sections"][0].plot.dots] == ["tuesday"]
        assert "monday: No ratings with these filters." in text(again)

    def test_api_and_command_take_the_filters(
        self, runs: tuple[Run, Run], lea: User, capfdbinary: Capture
    ) -> None:
        first, second = runs
        program = program_of(lea)
        scope = JudgeScope(second, judge="judge-1", model="o1")
        query = "judge=judge-1&model=o1"
        compared, drifted = compare_runs(first, scope), measure_drift(first, scope)
        history = accuracy_over_runs(scope, Run.objects.all())
        for path, option, wanted in (
            ("comparison?earlier=monday&", ("--compare", "monday"), members(types.Comparison, compared)),
            ("drift?earlier=monday&", ("--drift", "monday"), members(types.Drift, drifted)),
            ("accuracy-over-runs?", ("--history",), members(types.History, history)),
        ):
            assert program.get(f"runs/tuesday/{path}{query}").json() == wanted
            arguments = (*option, "--judge", "judge-1", "--model", "o1", "--json")
            assert json.loads(manage(capfdbinary, "judge_report", "tuesday", *arguments).out) == wanted
            assert program.get(f"runs/tuesday/{path}judge=nobody").status_code == 422
            assert program.get(f"runs/tuesday/{path}jugde=judge-1").status_code == 422
            assert manage(capfdbinary, "judge_report", "tuesday", *option, "--judge", "nobody").status == 2

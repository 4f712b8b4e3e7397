"""The page that compares judges, and its API and command."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.judge.comparison.paired import compare_runs
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.compared_runs import RatedOnce, rate_first, run_of
from tests.support.factories import UserFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def first() -> Run:
    return run_of("monday")


@pytest.fixture
def second() -> Run:
    return run_of("tuesday")


@pytest.fixture(scope="class")
def _rated_once(class_world: None) -> None:
    """Create the rated runs for the tests of a class, which undo their changes."""
    ana = UserFactory.create(username="ana", role="reviewer")
    rate_first(run_of("monday"), run_of("tuesday"), ana)


@pytest.mark.slow
class TestPages(RatedOnce):
    def test_page_answers_and_lists_the_records_behind_each_count(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": str(first.pk)}))
        assert "“tuesday” is more accurate: +39 points" in text(page)
        assert "Judge: judge-1 → judge-2." in text(page)
        section, *_ = page.context["sections"]
        found = {column.name: (cell.value, cell.url) for column, cell in section.figures}
        texts = {column.help for shown in page.context["sections"] for column, _ in shown.figures}
        texts |= {
            column.help
            for shown in page.context["sections"]
            for linked in shown.tables
            for column in linked.table.columns
        }
        assert [
            one
            for one in texts - {""}
            if len(re.findall(r"[.?](?= |\n)", one.partition("\n\n")[0] + " ")) != 2
        ] == []
        assert len(texts) > 5
        assert {name: value for name, (value, _) in found.items()} == {
            "both": 6,
            "first": 1,
            "second": 8,
            "neither": 3,
        }
        right = [len(client.get(dot.cell.url).context["table"].rows) for dot in section.plot.dots]
        assert right == [6 + 1, 6 + 8]
        listed = client.get(found["second"][1])
        assert len(listed.context["table"].rows) == 8
        rows = [*csv.DictReader(io.StringIO(client.get(listed.context["csv_url"]).getvalue().decode()))]
        assert {(row["first"], row["second"], row["human"]) for row in rows} == {("Pass", "Fail", "Fail")}

    def test_overview_compares_with_the_run_that_this_one_replaces(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        overview = text(client.get(reverse("judge", args=[second.pk])))
        assert "“tuesday” is more accurate than “monday”, on 18 common responses with " in overview
        assert "Judge: judge-1 → judge-2" in overview
        page = client.get(reverse("judge-compare", args=[second.pk]))
        assert page.context["other"] == first
        assert "No earlier run that you can see" in text(client.get(reverse("judge", args=[first.pk])))
        Run.objects.filter(pk=first.pk).update(is_restricted=True)
        assert "monday" not in text(client.get(reverse("judge", args=[second.pk])))
        later = second.created_at + timedelta(days=1)
        Run.objects.filter(pk=first.pk).update(is_restricted=False, created_at=later)
        assert client.get(reverse("judge-compare", args=[first.pk])).context["other"] == second

    def test_page_refuses_a_run_that_the_reader_may_not_see(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        Run.objects.filter(pk=first.pk).update(is_restricted=True)
        client.force_login(lea)
        query = {"with": str(first.pk), "side": "second"}
        page = client.get(reverse("judge-compare", args=[second.pk], query=query))
        assert (page.status_code, page.context["problem"]) == (200, "Choose a run of the list.")
        assert "monday" not in text(page)
        assert client.get(reverse("judge-pairs", args=[second.pk], query=query)).status_code == 404
        assert program_of(lea).get("runs/tuesday/comparison?earlier=monday").status_code == 404

    def test_api_and_command_give_the_same_comparison(
        self, first: Run, second: Run, lea: User, capfdbinary: Capture
    ) -> None:
        found = program_of(lea).get("runs/tuesday/comparison?earlier=monday").json()
        assert found == members(types.Comparison, compare_runs(first, JudgeScope(second)))
        printed = manage(capfdbinary, "judge_report", "tuesday", "--compare", "monday", "--json").out
        assert json.loads(printed) == found
        lines = manage(capfdbinary, "judge_report", "tuesday", "--compare", "monday").out.decode()
        assert "more accurate: +39 points (" in lines
        assert program_of(lea).get("runs/tuesday/comparison?earlier=sunday").status_code == 404
        assert program_of(lea).get("runs/tuesday/comparison?earlier=tuesday").status_code == 422

    def test_command_refuses_to_compare_a_run_with_itself(self, first: Run, capfdbinary: Capture) -> None:
        assert manage(capfdbinary, "judge_report", first.name, "--compare", first.name).status == 2

    def test_records_to_score_blind_are_on_no_page(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        client.force_login(lea)
        query = {"with": str(first.pk), "side": "second"}
        shown = text(client.get(reverse("judge-pairs", args=[second.pk], query=query)))
        assert "No such records." in shown

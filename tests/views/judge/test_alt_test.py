"""The section that shows whether the judge may replace a reviewer."""

import csv
import io

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.views.judge.sections import Section
from tests.support.factories import RunFactory
from tests.support.joint import rate_together
from tests.support.pages import text, url

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ALIKE = ("Pass", ["Pass", "Pass", "Pass"])
JUDGE_DIFFERS = ("Fail", ["Pass", "Pass", "Pass"])


@pytest.fixture
def run() -> Run:
    return RunFactory.create(blind_share=1)


@pytest.fixture
def as_lea(client: Client, lea: User) -> Client:
    client.force_login(lea)
    return client


@pytest.fixture
def people(ana: User, bo: User, max: User) -> list[User]:
    return [ana, bo, max]


def section(client: Client, run: Run) -> Section:
    found: list[Section] = client.get(url("judge-reviewers", run)).context["sections"]
    [one] = [each for each in found if each.name == "alt-test"]
    return one


def test_section_without_joint_ratings_says_how_to_get_some(as_lea: Client, run: Run) -> None:
    shown = section(as_lea, run)
    assert shown.answer.startswith("No record has blind scores of two reviewers.")
    assert (shown.plot, shown.tables) == (None, [])


def test_section_answers_for_the_verdict(as_lea: Client, run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 40)
    shown = section(as_lea, run)
    assert shown.answer == (
        "judge-1 may replace experts (epsilon 0.2): it is close enough to 3 of 3 reviewers."
    )
    assert (shown.tone, shown.notes) == ("ok", [])
    assert shown.plot
    assert [dot.title for dot in shown.plot.dots] == ["ana", "bo", "max"]
    assert (shown.plot.line, shown.plot.low, shown.plot.high) == (-20, -30, 30)
    many = shown.plot._replace(dots=list(shown.plot.dots) * 5)
    assert [len(part) for part in many.parts] == [12, 3]
    folded = render_to_string("includes/dots.html", {"plot": many})
    assert "3 more" in folded
    assert folded.count("dots-axis") == 2


@pytest.mark.parametrize(
    ("wrong", "tone", "answer"),
    [
        (60, "bad", "judge-1 may not replace experts"),
        (15, "", "Whether judge-1 may replace experts (epsilon 0.2) is not shown yet"),
    ],
)
def test_section_says_whether_a_worse_judge_may_replace_experts(
    *, wrong: int, tone: str, answer: str, as_lea: Client, run: Run, people: list[User]
) -> None:
    rate_together(run, people, [*[ALIKE] * (100 - wrong), *[JUDGE_DIFFERS] * wrong])
    shown = section(as_lea, run)
    assert shown.tone == tone
    assert shown.answer.startswith(answer)
    assert bool(shown.notes) == (tone == "")


def test_section_with_few_records_names_the_missing_ones(
    as_lea: Client, run: Run, people: list[User]
) -> None:
    rate_together(run, people, [ALIKE] * 20)
    page = text(as_lea.get(url("judge-reviewers", run)))
    assert "too few records were scored blind by several reviewers" in page
    assert "Missing: 10 records by ana, 10 records by bo, 10 records by max." in page


def test_answers_and_comparisons_are_csv_files(as_lea: Client, run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 40)
    rows = {
        name: [
            *csv.DictReader(
                io.StringIO(as_lea.get(reverse("judge-table", args=[run.pk, name])).getvalue().decode())
            )
        ]
        for name in ("alt-test", "alt-test-reviewers")
    }
    [answers] = rows["alt-test"]
    assert (answers["judge"], answers["records"], answers["epsilon_0.1"]) == ("judge-1", "40", "passed")
    assert (answers["epsilon_0.1_replaced"], answers["epsilon_0.1_tested"]) == ("3", "3")
    assert [row["reviewer"] for row in rows["alt-test-reviewers"]] == ["ana", "bo", "max"]
    assert rows["alt-test-reviewers"][0]["difference"] == "0.0"


def test_report_page_shows_the_answers(as_lea: Client, run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 40)
    assert "May the judge replace a reviewer?" in text(as_lea.get(url("judge-report", run)))

"""The overview of the judge pages: the headline with its target."""

import re

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from reviews.models import Rating, Run, RunCount, StratumCount, User
from reviews.records.scales import RangeScale
from tests.support.factories import RunFactory
from tests.support.pages import text, url
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=rubric_data("Clarity", "Depth"), blind_share=0.5)


def shown(client: Client, run: Run, page: str = "judge", **query: str) -> str:
    """Return the text of the headline and of all that follows it."""
    answer = text(client.get(reverse(page, args=[run.pk], query=query))).replace("\N{NO-BREAK SPACE}", " ")
    return " ".join(re.sub(r"<div class=\"help-text.*?</div>|<[^>]+>", " ", answer).split())


class TestHeadline:
    def test_headline_has_the_accuracy_its_interval_and_false_passes(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Pass", 30)
        rated(flagged, ana, "Pass", "Fail", 10)
        for page in ("judge", "judge-report"):
            answer = shown(as_lea, run, page)
            assert re.search(r"Blind accuracy over the whole run \? 75% \d+ to \d+%, n = 40", answer)
            assert re.search(
                r"The judge passes 100% \([^)]*n = 10\) of the records that reviewers fail.", answer
            )
        assert "Blind accuracy with these filters" in shown(as_lea, run, since="2020-01-01")

    def test_headline_says_how_many_records_it_omits(self, as_lea: Client, ana: User, run: Run) -> None:
        rated(stratum(run, {"Pass": 20}, is_flagged=False), ana, "Pass", "Pass", 10)
        assert "Not counted" not in shown(as_lea, run)
        StratumCount.objects.update(evaluations=F("evaluations") + 2)
        RunCount.objects.update(evaluations=F("evaluations") + 2)
        assert "Not counted: 2 unflagged records whose status is not “Not Required”." in shown(as_lea, run)

    @pytest.mark.parametrize(
        ("ratings", "outcome"),
        [((98, 2), "met"), ((30, 70), "not met"), ((32, 8), "not decided yet"), ((9, 0), "not decided yet")],
    )
    def test_headline_compares_the_accuracy_with_the_target(
        self, as_lea: Client, ana: User, run: Run, ratings: tuple[int, int], outcome: str
    ) -> None:
        Run.objects.update(accuracy_target=0.8)
        flagged = stratum(run, {"Pass": 1_000})
        for human, count in zip(("Pass", "Fail"), ratings, strict=True):
            rated(flagged, ana, "Pass", human, count)
        assert f"Target 80%: {outcome} ?" in shown(as_lea, run)
        assert "Target 80%" not in shown(as_lea, run, since="2020-01-01")

    def test_target_that_only_the_interval_reaches_is_explained(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        Run.objects.update(accuracy_target=0.8)
        flagged = stratum(run, {"Pass": 1_000})
        rated(flagged, ana, "Pass", "Pass", 88)
        rated(flagged, ana, "Pass", "Fail", 10)
        answer = shown(as_lea, run)
        assert "Target 80%: not decided yet" in answer
        assert "88 of 98 ratings agree with the judge." in answer
        assert "The interval is right for one look." in answer

    def test_run_without_blind_ratings_says_why_and_what_to_do(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Fail", 12, is_blind=False)
        answer = shown(as_lea, run)
        assert "unknown No record of this run can be scored blind" in answer
        assert "Assisted accuracy on the decided records: 0% (" in answer
        flagged.counts.update(answered=100)
        assert "unknown No record was scored blind yet." in shown(as_lea, run)
        assert "Plan blind reviews" in shown(as_lea, run)
        Run.objects.update(blind_share=0)
        assert "because blind review is off for this run" in shown(as_lea, run)
        assert (
            url("run-sampling", run)
            in text(as_lea.get(url("judge", run))).partition("Set up blind review")[0]
        )

    def test_headline_has_no_figure_from_fewer_than_ten_ratings(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 9)
        page = as_lea.get(url("judge", run)).text
        assert 0 < page.index("headline-title") < page.index("<summary>Filters")
        answer = shown(as_lea, run)
        assert "not shown yet The run has 9 blind ratings so far. A figure needs 10 or more." in answer


def test_pages_name_the_scores_that_are_compared_as_parts_of_their_range(
    as_lea: Client, ana: User, run: Run
) -> None:
    Run.objects.update(rubric=rubric_data("Clarity", scale=RangeScale(0, 1, is_integer=False)))
    flagged = stratum(run, {"Pass": 100})
    rated(flagged, ana, "Pass", "Pass", 20)
    for number in range(20):
        score = str(number / 20)
        rated(flagged, ana, score, score, 1, criterion="Clarity", verdict="Pass")
    Rating.objects.filter(cell__criterion="Clarity").update(raters=2)
    for page in ("judge", "judge-errors", "judge-reviewers", "judge-report"):
        assert "Clarity: scores count as equal if they are in the same fifth" in shown(as_lea, run, page)

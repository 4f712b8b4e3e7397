"""The cards of the overview of the judge pages, and the page of errors behind the first."""

import pytest
from django.test import Client

from reviews.models import Run, User
from tests.support.factories import RunFactory
from tests.support.pages import url
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=rubric_data("Clarity", "Depth"), blind_share=0.5)


def test_errors_page_ranks_only_criteria_with_enough_ratings(as_lea: Client, ana: User, run: Run) -> None:
    flagged = stratum(run, {"Pass": 100})
    rated(flagged, ana, "Pass", "Pass", 10)
    for criterion, right, wrong in (("Clarity", 0, 9), ("Depth", 9, 1), ("Rigor", 8, 2)):
        rated(flagged, ana, '"Yes"', '"Yes"', right, criterion=criterion, verdict="Pass")
        rated(flagged, ana, '"Yes"', '"No"', wrong, criterion=criterion, verdict="Pass")
    Run.objects.filter(pk=run.pk).update(accuracy_target=0.8)
    section = as_lea.get(url("judge-errors", run)).context["sections"][0]
    assert section.answer.startswith("The judge's verdict is wrong on 0% (")
    assert "of all records of the run. Most errors by criterion: Rigor, 20% (" in section.answer
    plot = section.plot
    assert (round(plot.line), [dot.title for dot in plot.dots if dot.has_line]) == (20, ["Verdict"])
    assert [(dot.title, dot.has_few) for dot in plot.dots] == [
        ("Verdict", False),
        ("Rigor", False),
        ("Depth", False),
        ("Clarity", True),
    ]


def test_errors_page_describes_flagged_records_while_no_other_one_is_rated(
    as_lea: Client, ana: User, run: Run
) -> None:
    Run.objects.filter(pk=run.pk).update(accuracy_target=0.8)
    rated(stratum(run, {"Pass": 100}), ana, "Pass", "Pass", 9)
    stratum(run, {"Pass": 100}, is_flagged=False)
    section = as_lea.get(url("judge-errors", run)).context["sections"][0]
    assert section.title == "Blind: flagged records"
    assert (section.answer, section.plot.line) == ("A figure needs 10 ratings or more.", None)


class TestCards:
    def test_error_card_ranks_confusions_and_names_the_weakest_criterion(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        flagged = stratum(run, {"Pass": 900, "Fail": 100})
        rated(flagged, ana, "Pass", "Pass", 36)
        rated(flagged, ana, "Pass", "Fail", 4)
        rated(flagged, ana, "Fail", "Pass", 10)
        rated(flagged, ana, "Fail", "Fail", 10)
        for criterion, right in (("Clarity", 15), ("Depth", 5)):
            rated(flagged, ana, '"Yes"', '"Yes"', right, criterion=criterion, verdict="Pass")
            rated(flagged, ana, '"Yes"', '"No"', 20 - right, criterion=criterion, verdict="Pass")
        card = as_lea.get(url("judge", run)).context["cards"][0]
        assert card.figure.text == "14%"
        assert [mark.title for mark in card.marks] == [
            "Judge Pass, reviewers Fail",
            "Judge Fail, reviewers Pass",
            "Least accurate criterion: Depth",
        ]
        assert card.marks[0].text == "9% of records (4 ratings)"
        for link in (card.figure.url, *(mark.url for mark in card.marks)):
            assert as_lea.get(link).status_code == 200

    def test_flags_card_has_the_share_and_the_number_of_missed_errors(
        self, as_lea: Client, ana: User, run: Run
    ) -> None:
        flagged = stratum(run, {"Pass": 100})
        rest = stratum(run, {"Pass": 900}, is_flagged=False)
        rated(flagged, ana, "Pass", "Fail", 30)
        rated(rest, ana, "Pass", "Fail", 10)
        rated(rest, ana, "Pass", "Pass", 20)
        card = as_lea.get(url("judge", run)).context["cards"][1]
        assert card.figure.text == "75%"
        assert [mark.text.split()[0] for mark in card.marks] == ["300", "33%"]
        # Each figure leads to the wrong verdicts on unflagged records that it extrapolates.
        [link] = {card.figure.url, *(mark.url for mark in card.marks)}
        assert "part=unflagged" in link
        assert as_lea.get(link).status_code == 200

    def test_cards_have_no_large_figure_from_few_ratings(self, as_lea: Client, ana: User, run: Run) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Fail", 9)
        card = as_lea.get(url("judge", run)).context["cards"][0]
        assert (card.figure.text, card.figure.value) == ("\N{EN DASH}", None)

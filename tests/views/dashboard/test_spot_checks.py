"""Spot checks are drawn at random and listed."""

import pytest
from django.test import Client

from reviews.models import Run, SpotCheck, User
from tests.support.factories import RunFactory
from tests.support.pages import text, url

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

DRAWN = "/spot-checks/"


def test_drawing_spot_checks_opens_the_first(as_lea: Client, ana: User, reviewed: Run) -> None:
    response = as_lea.post(DRAWN, {"reviewer": "ana", "count": 2, "run": reviewed.pk})
    first, _second = SpotCheck.objects.order_by("pk")
    assert response["Location"] == url("spot-check", first)
    page = text(as_lea.get(response["Location"]))
    assert "2 pending" in page
    assert "Spot check</strong> of the decision by ana" in page
    assert "Clarity" in page


def test_spot_checks_are_drawn_from_the_filtered_decisions(as_lea: Client, ana: User, reviewed: Run) -> None:
    elsewhere = RunFactory.create()
    for scope in ({"run": elsewhere.pk}, {"last": "2020-01-01"}):
        response = as_lea.post(DRAWN, {"reviewer": "ana", "count": 2, **scope}, follow=True)
        assert "No decisions left to draw" in text(response)
    assert not SpotCheck.objects.exists()


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"reviewer": "ana"},
        {"reviewer": "ana", "count": "0"},
        {"reviewer": "ana", "count": "9999"},
        {"reviewer": "nobody", "count": "1"},
        {"reviewer": "\0", "count": "1"},
    ],
)
def test_spot_checks_are_not_drawn_for_invalid_input(
    form: dict[str, str], as_lea: Client, reviewed: Run
) -> None:
    assert as_lea.post(DRAWN, form).status_code == 422
    assert not SpotCheck.objects.exists()


def test_spot_check_list_has_the_pending_ones(as_lea: Client, as_max: Client, drawn: list[SpotCheck]) -> None:
    assert text(as_lea.get(DRAWN)).count("decided by ana") == 2
    assert "No pending spot checks." in text(as_max.get(DRAWN))

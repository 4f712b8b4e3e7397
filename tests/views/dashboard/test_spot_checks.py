"""Spot checks: draw decisions at random, then agree or reopen."""

import pytest
from django.test import Client

from reviews.models import Run, SpotCheck, User
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db

DRAWN = "/spot-checks/"


@pytest.fixture
def algebra(ana: User) -> Run:
    """A run with three records decided by ana."""
    run = RunFactory.create(name="Algebra")
    for _ in range(3):
        decide(EvaluationFactory.create(run=run), ana)
    return run


@pytest.fixture
def drawn(as_lea: Client, algebra: Run) -> list[SpotCheck]:
    as_lea.post(DRAWN, {"reviewer": "ana", "count": 2})
    return list(SpotCheck.objects.order_by("pk"))


def test_drawing_spot_checks_opens_the_first(as_lea: Client, ana: User, algebra: Run) -> None:
    response = as_lea.post(DRAWN, {"reviewer": "ana", "count": 2, "run": algebra.pk})
    first, _second = SpotCheck.objects.order_by("pk")
    assert response["Location"] == url("spot-check", first)
    page = text(as_lea.get(response["Location"]))
    assert "2 pending" in page
    assert "decided by ana" in page
    assert "Clarity" in page


def test_spot_checks_are_drawn_from_the_filtered_decisions(as_lea: Client, ana: User, algebra: Run) -> None:
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
    form: dict[str, str], as_lea: Client, algebra: Run
) -> None:
    assert as_lea.post(DRAWN, form).status_code == 422
    assert not SpotCheck.objects.exists()


def test_agreed_spot_check_opens_the_next_one(
    as_lea: Client, lea: User, ana: User, drawn: list[SpotCheck]
) -> None:
    first, second = drawn
    response = as_lea.post(url("spot-check", first), {"outcome": "agreed", "note": "Careful work."})
    assert response["Location"] == url("spot-check", second)
    first.refresh_from_db()
    assert (first.outcome, first.note, first.resolved_by) == ("agreed", "Careful work.", lea)
    last = as_lea.post(url("spot-check", second), {"outcome": "agreed"}, follow=True)
    assert last.redirect_chain[-1][0] == url("reviewer-activity", ana)
    assert "All spot checks are done." in text(last)
    assert "2 of 2" in text(last)


def test_reopening_by_a_spot_check_requires_a_reason(as_lea: Client, drawn: list[SpotCheck]) -> None:
    place, record = url("spot-check", drawn[0]), drawn[0].review.evaluation
    refused = as_lea.post(place, {"outcome": "reopened", "note": " "})
    assert refused.status_code == 422
    assert "Enter the reason for reopening" in text(refused)
    record.refresh_from_db()
    assert record.is_done
    as_lea.post(place, {"outcome": "reopened", "note": "Step 2 is wrong."})
    record.refresh_from_db()
    assert record.in_queue
    assert "“Step 2 is wrong.”" in text(as_lea.get(place))


def test_completed_spot_check_cannot_be_completed_again(as_lea: Client, drawn: list[SpotCheck]) -> None:
    place = url("spot-check", drawn[0])
    as_lea.post(place, {"outcome": "agreed"})
    response = as_lea.post(place, {"outcome": "reopened", "note": "On second thoughts."}, follow=True)
    assert "This check is already completed" in text(response)
    assert 'value="reopened"' not in text(as_lea.get(place))


def test_spot_check_list_has_the_pending_ones(as_lea: Client, as_max: Client, drawn: list[SpotCheck]) -> None:
    assert text(as_lea.get(DRAWN)).count("decided by ana") == 2
    assert "No pending spot checks." in text(as_max.get(DRAWN))

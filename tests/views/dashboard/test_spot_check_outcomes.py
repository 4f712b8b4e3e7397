"""Outcomes of spot checks: agreed, corrected or reopened, and the next one."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Overturn, SpotCheck, User
from tests.support.pages import HTMX, filled_in, text, url

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

DRAWN = "/spot-checks/"


def answer(client: Client, check: SpotCheck, **entered: str) -> Any:
    """Post the form of a spot check as it is shown, except for the entered values."""
    return client.post(url("spot-check", check), filled_in(client.get(url("spot-check", check))) | entered)


def test_agreed_spot_check_opens_the_next_one(as_lea: Client, lea: User, drawn: list[SpotCheck]) -> None:
    first, second = drawn
    response = answer(as_lea, first, reason="Careful work.")
    assert (response.status_code, response["Location"]) == (303, url("spot-check", second))
    first.refresh_from_db()
    assert (first.outcome, first.note, first.resolved_by) == ("agreed", "Careful work.", lea)
    last = answer(as_lea, second)
    assert last["Location"] == DRAWN
    assert "All spot checks are done." in text(as_lea.get(DRAWN))


def test_changed_scores_in_a_spot_check_correct_the_decision(
    as_lea: Client, as_ana: Client, lea: User, ana: User, drawn: list[SpotCheck]
) -> None:
    check = drawn[0]
    shown = as_lea.get(url("spot-check", check))
    assert "Agree &amp; next" in text(shown)
    posted = filled_in(shown)
    number = next(name.split("-")[1] for name, value in posted.items() if value == "Conclusion Accuracy")
    changed = posted | {f"criteria-{number}-score": "Partial"}
    refused = as_lea.post(url("spot-check", check), changed)
    assert refused.status_code == 422
    assert "Enter the reason for the correction." in text(refused)
    assert "Save correction" in text(refused)
    as_lea.post(url("spot-check", check), changed | {"reason": "Half of it is right."})
    check.refresh_from_db()
    record = Evaluation.objects.get(pk=check.review.evaluation_id)
    assert (check.outcome, check.note, check.correction) == (
        "corrected",
        "Half of it is right.",
        record.review,
    )
    assert (record.human_corrected_scores or {})["Conclusion Accuracy"]["score"] == "Partial"
    overturn = Overturn.objects.get()
    assert (overturn.review, overturn.reason, overturn.actor) == (check.review, "Half of it is right.", lea)
    assert "Half of it is right." in text(as_ana.get("/activity/"))
    assert "corrected it in a spot check" in text(as_lea.get(url("record-history", record)))


def test_invalid_correction_comes_back_with_the_entries(as_lea: Client, drawn: list[SpotCheck]) -> None:
    refused = answer(as_lea, drawn[0], **{"criteria-0-score": "Perhaps", "reason": "Hm."})
    assert refused.status_code == 422
    assert "Correct the marked fields." in text(refused)
    assert 'value="Hm."' in text(refused)


def test_reopening_by_a_spot_check_requires_a_reason(as_lea: Client, drawn: list[SpotCheck]) -> None:
    place, record = url("spot-check", drawn[0]), drawn[0].review.evaluation
    refused = as_lea.post(place, {"outcome": "reopened", "reason": " "})
    assert refused.status_code == 422
    assert "Enter the reason for reopening" in text(refused)
    record.refresh_from_db()
    assert record.is_done
    as_lea.post(place, {"outcome": "reopened", "reason": "Step 2 is wrong."})
    record.refresh_from_db()
    assert record.in_queue
    assert "“Step 2 is wrong.”" in text(as_lea.get(place))


def test_completed_spot_check_cannot_be_completed_again(as_lea: Client, drawn: list[SpotCheck]) -> None:
    place = url("spot-check", drawn[0])
    answer(as_lea, drawn[0])
    response = as_lea.post(place, {"outcome": "reopened", "reason": "On second thoughts."}, follow=True)
    assert "This check is already completed" in text(response)
    assert 'value="reopened"' not in text(as_lea.get(place))


def test_next_spot_check_replaces_the_screen(as_lea: Client, drawn: list[SpotCheck]) -> None:
    posted = filled_in(as_lea.get(url("spot-check", drawn[0])))
    response = as_lea.post(url("spot-check", drawn[0]), posted, headers=HTMX, follow=True)
    assert response["HX-Replace-Url"] == url("spot-check", drawn[1])
    assert "1 pending" in text(response)
    posted = filled_in(as_lea.get(url("spot-check", drawn[1])))
    last = as_lea.post(url("spot-check", drawn[1]), posted, headers=HTMX)
    assert last["HX-Redirect"] == DRAWN


def test_spot_check_of_the_inbox_goes_on_with_the_inbox(as_lea: Client, drawn: list[SpotCheck]) -> None:
    opened = as_lea.get(reverse("inbox-next"))["Location"]
    assert opened.startswith(url("spot-check", drawn[0]))
    shown = as_lea.get(opened)
    posted = filled_in(shown) | {"queue": shown.context["query"]}
    response = as_lea.post(url("spot-check", drawn[0]), posted)
    assert response["Location"].startswith(f"{url('spot-check', drawn[1])}?inbox=")

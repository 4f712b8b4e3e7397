"""A database outage during a review."""

import re

import pytest
from playwright.sync_api import Page, expect

from cognireview.operations import outage
from reviews.models import Review
from tests.browser.screen import press, saved

pytestmark = pytest.mark.django_db(transaction=True)


def test_review_survives_a_database_outage(screen: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    press(screen, "y", "Escape")
    screen.keyboard.press("c")
    screen.keyboard.type("I was here.")
    monkeypatch.setattr(outage._watch, "is_active", True)
    press(screen, "Control+Enter")
    alert = screen.get_by_role("alert")
    expect(alert).to_have_text(re.compile("Couldn't submit: the database does not answer. Your work is kept"))
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    monkeypatch.setattr(outage._watch, "is_active", False)
    press(screen, "Control+Enter")
    saved(screen, "a-model")
    assert Review.objects.get().comments == "I was here."

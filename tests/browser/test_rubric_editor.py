"""The rubric in fields on the settings page."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Run, User
from reviews.records.scales import RangeScale
from reviews.rubric.run_rubric import run_rubric
from tests.browser.conftest import start_session
from tests.support.factories import RunFactory
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db(transaction=True)


def test_criterion_is_added_with_a_scale_of_another_kind(
    page: Page, live_server: LiveServer, lea: User
) -> None:
    run = RunFactory.create(rubric=rubric_data("depth"))
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{run.pk}/settings/")
    page.get_by_role("button", name="Add criterion").click()
    added = page.get_by_role("region", name="Criterion 2")
    expect(added).to_be_focused()
    added.get_by_label("Name").fill("style")
    expect(added.get_by_label("Highest")).to_be_hidden()
    added.get_by_label("Scale").select_option(label="Whole numbers")
    expect(added.get_by_label("Values", exact=True)).to_be_hidden()
    expect(added.get_by_label("Step")).to_be_hidden()
    expect(added.get_by_label("Weight")).to_be_hidden()
    added.get_by_label("Lowest").fill("1")
    added.get_by_label("Highest").fill("3")
    added.get_by_label("Pass from").locator("visible=true").fill("2")
    added.get_by_label("Pass from").locator("visible=true").blur()
    expect(added.locator(".level-shown")).to_have_text(["1 1", "2 2", "3 3"])
    # Enter saves.
    added.get_by_label("Highest").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    saved = run_rubric(Run.objects.get())
    assert saved.names == ("depth", "style")
    assert saved.scale_of("style") == RangeScale(1, 3, pass_from=2)

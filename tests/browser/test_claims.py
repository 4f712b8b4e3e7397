"""Claims of the record on the screen: renewed, expired, and claimed again after a release."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Evaluation, User
from reviews.queue import claims
from tests.browser.conftest import start_session
from tests.browser.screen import draft_is, heading, press, record, saved, settle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.exhaustive
def test_released_record_is_claimed_again_with_everything_entered(screen: Page, ana: User, lea: User) -> None:
    claims.release(evaluation_id=record("a-model").pk, actor=lea)
    press(screen, "c")
    screen.keyboard.type("I was here.")  # saved once, after the last letter
    alert = screen.get_by_role("alert")
    expect(alert).to_contain_text("Your claim on this record has ended. Claim it again to continue.")
    settle(screen)
    alert.get_by_role("button", name="Claim again").click()
    expect(alert).to_have_count(0)
    heading(screen, "a-model")
    expect(screen.get_by_label("Comment")).to_have_value("I was here.")
    assert record("a-model").claimed_by == ana
    draft_is(screen, "saved")
    press(screen, "a")
    assert saved(screen, "a-model").comments == "I was here."


@pytest.mark.usefixtures("_hurried")
def test_expiring_claim_can_be_renewed_and_an_expired_one_is_renewed_with_a_notice(screen: Page) -> None:
    now = timezone.now()
    soon, over = now + timedelta(seconds=90), now - timedelta(minutes=1)
    Evaluation.objects.filter(model_id="a-model").update(claimed_until=soon)
    screen.reload()
    warning = screen.get_by_role("alert").filter(has_text="This record will be released at")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name="Keep working").click()
    expect(warning).to_have_count(0)
    until = record("a-model").claimed_until
    assert until is not None
    assert until > soon + timedelta(minutes=5)
    Evaluation.objects.filter(model_id="a-model").update(claimed_until=over)
    press(screen, "c")
    screen.keyboard.type("Back from lunch.")
    expect(screen.get_by_text("Nobody else opened this record, so it is yours again.")).to_be_visible()
    assert record("a-model").is_claimed


def test_claim_that_expired_while_the_machine_slept_is_not_announced_as_expiring(
    screen: Page, browser: Browser, live_server: LiveServer, ana: User
) -> None:
    with browser.new_context() as context:  # of its own: its clock stays two hours ahead
        page = context.new_page()
        start_session(page, live_server.url, ana)
        page.clock.install()
        page.goto(screen.url)
        settle(page)
        page.clock.fast_forward("02:00:00")
        expect(page.get_by_role("alert").filter(has_text="Your claim expired at")).to_be_visible()

"""Accessibility of all components, by the style guide, with its exhaustive looks."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.browser.sights import Sight
from tests.browser.test_accessibility import (
    CASES,
    COMPONENTS,
    assert_accessible,
    errors,
    page,
    sight,
)

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["errors", "page", "sight"]


@pytest.mark.parametrize(("name", "looks"), [case for case in CASES if case.values[0] == COMPONENTS])
def test_components_are_accessible(
    looks: tuple[str, ...], sight: Sight, page: Page, live_server: LiveServer, errors: list[str]
) -> None:
    assert_accessible(page, live_server.url + sight.prepare(), sight, looks, errors)

"""The style guide: every component of the style sheet, in debug mode only."""

import re

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.test_style_sheets import SHEETS

pytestmark = pytest.mark.django_db

# The state of a page, not a component.
OF_A_PAGE = {"page-form", "page-narrow", "review-page", "strip-place", "prose", "math"}


def test_styleguide_shows_each_component_of_the_style_sheet(as_ana: Client, settings: LazySettings) -> None:
    settings.DEBUG = True
    page = as_ana.get("/styleguide/").content.decode()
    shown = {name for names in re.findall(r'class="([^"]*)"', page) for name in names.split()}
    sheet = re.sub(r"/\*.*?\*/", "", (SHEETS / "components.css").read_text(), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", sheet)
    classes = {name for selector in selectors for name in re.findall(r"\.([a-z][\w-]*)", selector)}
    assert "segment" in classes
    assert classes - OF_A_PAGE - shown == set()


def test_styleguide_shows_each_token(as_ana: Client, settings: LazySettings) -> None:
    settings.DEBUG = True
    page = as_ana.get("/styleguide/").content.decode()
    tokens = re.findall(
        r"--((?:space|text)-\d+|accent|judge|ok|warn|bad):", (SHEETS / "tokens.css").read_text()
    )
    assert len(set(tokens)) == 15
    assert all(f"var(--{name})" in page for name in tokens)


def test_styleguide_is_missing_without_debug_mode(as_ana: Client) -> None:
    assert as_ana.get("/styleguide/").status_code == 404

"""Hostile parameters have no effect on pages that are not of runs or people, also by exhaustive tests."""

import pytest

from tests.views.test_hostile_parameters import HostileParameters, visited

pytestmark = pytest.mark.django_db

__all__ = ["visited"]


class TestSitePages(HostileParameters):
    area = "site"
    at_least = 30

"""Hostile parameters have no effect on pages of accounts and people, also by exhaustive tests."""

import pytest

from tests.views.test_hostile_parameters import HostileParameters, visited

pytestmark = pytest.mark.django_db

__all__ = ["visited"]


class TestPeoplePages(HostileParameters):
    area = "people"
    at_least = 25

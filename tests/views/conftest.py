"""Browsers of people who are logged in."""

import pytest
from django.test import Client

from reviews.models import User


@pytest.fixture
def as_ana(client: Client, ana: User) -> Client:
    client.force_login(ana)
    return client


@pytest.fixture
def as_max(client: Client, max: User) -> Client:
    client.force_login(max)
    return client


@pytest.fixture
def as_bo(bo: User) -> Client:
    client = Client()
    client.force_login(bo)
    return client


@pytest.fixture
def as_lea(lea: User) -> Client:
    client = Client()
    client.force_login(lea)
    return client

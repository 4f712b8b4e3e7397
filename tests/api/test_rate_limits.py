"""Quotas of requests, per token and per address."""

from typing import Any

import pytest
from django.test import Client

from reviews.api import rate_limits
from reviews.api.rate_limits import Limit
from reviews.models import User
from tests.support.api_requests import Program, program_of

OTHER = "Bearer cr_another"


def send(client: Client, token: str) -> Any:
    return client.get("/api/v1/runs", headers={"Authorization": token})


@pytest.mark.django_db
def test_token_over_its_quota_gets_429_and_no_query(
    ana: User, bo: User, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.API_RATE = 2
    client, tokens = Client(), [f"Bearer {program_of(one).text}" for one in (ana, bo)]
    first, second = send(client, tokens[0]), send(client, tokens[0])
    assert (first.status_code, second.status_code) == (200, 200)
    assert first["RateLimit-Policy"] == '"token";q=2;w=60'
    assert [one["RateLimit"].partition(";t=")[0] for one in (first, second)] == ['"token";r=1', '"token";r=0']
    with django_assert_num_queries(0):
        refused = send(client, tokens[0])
    assert (refused.status_code, refused.json()["type"]) == (429, "/api/problems/too-many-requests/")
    assert 1 <= int(refused["Retry-After"]) <= 30
    assert send(client, tokens[1]).status_code == 200


@pytest.mark.django_db
def test_requests_without_a_valid_token_share_the_quota_of_an_address(of_ana: Program, settings: Any) -> None:
    settings.API_RATE_PER_ADDRESS = 3
    client, valid = Client(), f"Bearer {of_ana.text}"
    assert send(client, valid).status_code == 200
    answers = [send(client, f"{OTHER}{number}") for number in range(3)]
    assert [one.status_code for one in answers] == [401, 401, 429]
    assert answers[0]["RateLimit"].startswith('"address";r=1;')
    # The known token has a quota of its own.
    assert send(client, valid).status_code == 200
    assert "RateLimit" not in client.get("/livez")


def test_quota_comes_back_evenly_within_a_minute() -> None:
    now = 0.0
    limit = Limit("token", 6, lambda: now)
    assert [limit.take("one").is_allowed for _ in range(7)] == [True] * 6 + [False]
    assert limit.take("one").wait == 10
    now = 10
    assert [limit.take("one").is_allowed for _ in range(2)] == [True, False]
    now = 1_000
    assert limit.take("one") == (True, 5, 10, 0)


def test_least_recently_used_client_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MAX_CLIENTS", 2)
    limit = Limit("token", 6)
    for client in ("one", "two", "one", "three"):
        limit.take(client)
    assert [name in limit for name in ("one", "two", "three")] == [True, False, True]

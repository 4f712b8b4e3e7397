"""Hostile parameters have no effect on pages of runs and records. Other pages have files of their own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.models import Evaluation
from tests.support.addresses import ROUTES, address, one_of_everything
from tests.support.factories import PASSWORD, EvaluationFactory, UserFactory
from tests.support.hostile_requests import LOOKUPS, PROBE
from tests.support.sessions import unextended_sessions
from tests.views.access import ACCESS
from tests.views.test_access import ask

pytestmark = pytest.mark.django_db

_AREAS = {
    "runs": ("runs/", "evaluations/"),
    "people": (
        *("account", "activity/", "join/", "login/", "my-reviews/", "new-password/", "people/"),
        *("preferences/", "tokens/", "welcome/", "workload/"),
    ),
}


@contextmanager
def noted_parameters() -> Iterator[set[str]]:
    """Collect the names of parameters that are read during the block."""
    names: set[str] = set()

    def noting(theirs: Callable[..., Any]) -> Callable[..., Any]:
        def read(query: QueryDict, name: str, *rest: Any) -> Any:
            names.add(name)
            return theirs(query, name, *rest)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for method in ("get", "getlist", "__getitem__", "__contains__"):
            patch.setattr(QueryDict, method, noting(getattr(QueryDict, method)), raising=False)
        yield names


class Visited(NamedTuple):
    """The pages of a class, opened once by the admin with hostile filters. Its tests share the rows."""

    record: Evaluation
    client: Client
    #: The parameters that each page read.
    parameters: dict[str, set[str]]
    #: The statements that contain the value of a hostile filter.
    probed: list[str]
    #: Pages with the hash of a password or a token, or with the session key.
    leaking: list[str]


@pytest.fixture(scope="class")
def visited(class_world: None, request: pytest.FixtureRequest) -> Iterator[Visited]:
    with unextended_sessions():
        boss = UserFactory.create(username="max", role="admin")
        client = Client()
        client.force_login(boss)
        found = Visited(one_of_everything(boss), client, {}, [], [])
        EvaluationFactory.create(run=found.record.run)
        client.post(reverse("reauthenticate"), {"password": PASSWORD})
        secret = [boss.password, boss.password.rpartition("$")[2], client.session.session_key]
        secret += [token.token_hash for token in boss.api_tokens.all()]
        for name in pages_with("get", request.cls):
            query = dict.fromkeys(LOOKUPS, PROBE)
            with CaptureQueriesContext(connection) as asked, noted_parameters() as names:
                response = ask(client, "get", address(name, found.record), data=query)
            assert response.status_code < 500, name
            found.parameters[name] = names
            found.probed.extend(one["sql"] for one in asked if PROBE in one["sql"])
            page = response.getvalue().decode("utf-8", "replace")
            found.leaking.extend(name for one in secret if one and one in page)
        yield found


def pages_with(method: str, tests: type["HostileParameters"]) -> list[str]:
    """Return the names of the pages that a class tests, with this method."""
    return [
        name for name, methods in ACCESS.items() if method in methods and _area(ROUTES[name]) == tests.area
    ]


def _area(route: str) -> str:
    return next((area for area, first in _AREAS.items() if route.startswith(first)), "site")


@pytest.mark.slow
class HostileParameters:
    """Tests of the pages of runs and records, of those of people, or of all others."""

    area: str
    #: A lower limit of the number of its pages.
    at_least: int
    # All but the first are sent by the exhaustive test, which sends them to all pages.
    ODD = (
        "\0\u202e\n\r\t'\"\\",
        "9" * 5000,
        "-1",
        '{"id": 1, "rawId": [], "type": {}, "response": "x"}',
        "[" * 5_000,
    )

    def test_hostile_filters_are_harmless_on_every_page(self, visited: Visited) -> None:
        assert visited.probed == []

    def test_no_page_contains_password_hashes_or_session_keys(self, visited: Visited) -> None:
        assert len(visited.parameters) >= self.at_least
        assert visited.leaking == []

    @pytest.mark.parametrize(
        ("method", "values", "every"),
        [
            ("get", ODD[:1], 3),
            pytest.param("get", ODD, 1, marks=pytest.mark.exhaustive),
            pytest.param("post", ODD, 1, marks=pytest.mark.exhaustive),
        ],
    )
    def test_any_parameter_value_is_handled(
        self, method: str, values: tuple[str, ...], every: int, visited: Visited
    ) -> None:
        heard = 0
        for name in pages_with(method, type(self))[::every]:
            place, names = address(name, visited.record), visited.parameters.get(name, set())
            if method == "post":
                with noted_parameters() as names:
                    assert ask(visited.client, method, place).status_code < 500
            heard += len(names)
            for odd in values if names else ():
                response = ask(visited.client, method, place, data=dict.fromkeys(sorted(names), odd))
                assert response.status_code < 500, (name, odd)
        assert heard > 20 / every


class TestRunPages(HostileParameters):
    area = "runs"
    at_least = 51

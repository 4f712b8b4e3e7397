"""A restricted run does not exist for people who are not its members: no address shows it."""

import re
from typing import Any

import pytest

from reviews.models import Evaluation, User
from tests.support.addresses import ROUTES, address
from tests.support.hidden_runs import record_with_everything, restrict, visit
from tests.views.access import ACCESS
from tests.views.test_access import ask, expected

pytestmark = pytest.mark.django_db

# The first parts of addresses whose keys are not keys of a run, or of anything in one.
_OTHER_KEYS = {"account", "jobs", "links", "people", "tokens", "webhooks"}
OF_A_RUN = [
    name for name in ACCESS if "<int:" in ROUTES[name] and ROUTES[name].split("/")[0] not in _OTHER_KEYS
]
# Here the row decides who may post, so that even a denial would show that it exists.
_DENIED_BY_ROW = {"remove-view", "withdraw-escalation"}


@pytest.fixture
def record(max: User) -> Evaluation:
    return record_with_everything(max)


def page_of(answer: Any) -> str:
    """Return the page without the tokens of its forms."""
    return re.sub("[A-Za-z0-9]{64}", "", answer.content.decode())


class TestAddresses:
    def test_walk_finds_the_addresses_of_a_run(self) -> None:
        assert len(OF_A_RUN) > 60
        assert {"run", "run-members", "import", "export-file", "submit", "resolve-escalation"} < {*OF_A_RUN}

    @pytest.mark.slow
    @pytest.mark.parametrize("who", ["bo", pytest.param("lea", marks=pytest.mark.exhaustive)])
    def test_hidden_run_answers_like_a_missing_one(
        self, who: str, record: Evaluation, ana: User, request: pytest.FixtureRequest
    ) -> None:
        restrict(record, ana)
        visitor, column = visit(request.getfixturevalue(who)), "ana" if who == "bo" else who
        for name in OF_A_RUN:
            missing = "/" + re.sub("<int:[a-z_]+>", "987654321", ROUTES[name]).replace(
                "<slug:table>", "groups"
            )
            reference = None
            for method in {"get", "post"} & {*ACCESS[name]}:
                if expected(name, method, column) == 403 and name not in _DENIED_BY_ROW:
                    continue  # their role is not enough, for any run
                answer = ask(visitor, method, address(name, record))
                assert answer.status_code == 404, (name, method)
                reference = reference or page_of(ask(visitor, method, missing))
                assert page_of(answer) == reference, (name, method)

    @pytest.mark.slow
    @pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
    def test_member_finds_everything(self, every: int, record: Evaluation, ana: User) -> None:
        restrict(record, ana)
        visitor = visit(ana)
        for name in OF_A_RUN[::every]:
            for method in {"get", "post"} & {*ACCESS[name]}:
                answer = ask(visitor, method, address(name, record))
                assert answer.status_code == expected(name, method, "ana"), (name, method)

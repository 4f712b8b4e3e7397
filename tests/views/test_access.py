"""Access to pages: every line of `tests/views/access.py` for every person, and GET never writes.

Each response is also checked for security headers, as over https.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import InternalError, transaction
from django.test import Client
from django.urls import reverse

from reviews.database.statements import execute
from reviews.models import Evaluation, User
from reviews.queue import claims
from tests.support.addresses import ROUTES, address, one_of_everything
from tests.support.https import Browser, assert_redirect_to_https, assert_safe_response, https
from tests.support.pages import HTMX
from tests.support.sessions import unextended_sessions
from tests.views.access import ACCESS, METHODS, NO_METHOD, PEOPLE, WAYS_IN

pytestmark = pytest.mark.django_db

# The methods that are always tried where they exist, by one of the people with a role whom an address answers
# alike. The exhaustive test tries the others, other people, and pages by htmx.
USUAL = ["get", "post"]
WITH_ROLE = ("ana", "lea", "max")
OTHERS = ("eve", "lea", "max", "gone")


@pytest.fixture
def record(max: User) -> Evaluation:
    return one_of_everything(max)


@pytest.fixture
def _https() -> Iterator[None]:
    with https(), unextended_sessions():
        yield


def ask(client: Client, method: str, place: str, **how: Any) -> Any:
    """Send a request, read the whole response, and roll back its changes.

    GET and HEAD run in a read-only transaction, which rejects changes and row locks.
    """
    with transaction.atomic():
        if method in {"get", "head"}:
            execute("SET TRANSACTION READ ONLY")
        response = getattr(client, method)(place, **how)
        response.getvalue()
        transaction.set_rollback(True)
    return response


def expected(name: str, method: str, who: str) -> int:
    line = ACCESS[name]
    if method == "head" and "head" not in line:
        method = "get"
    column = PEOPLE.index("nobody" if who == "gone" else who)
    if method in line:
        return line[method][column]
    return 405 if name in WAYS_IN else NO_METHOD[column]


def has_turn(who: str, name: str, method: str) -> bool:
    """Return whether a person tries a usual method. People with a role and the same status take turns."""
    if who not in WITH_ROLE or method not in ACCESS[name]:
        return True
    alike = [one for one in WITH_ROLE if expected(name, method, one) == expected(name, method, who)]
    return alike[[*ACCESS].index(name) % len(alike)] == who


def tried(who: str, name: str, *, is_rest: bool) -> list[str]:
    """Return the methods to try on an address: always, or in the exhaustive test."""
    exist = {*ACCESS[name]} | ({"head"} if "get" in ACCESS[name] else set())
    # Whether a method exists does not depend on who asks: the admin and a stranger try others, too.
    possible = [method for method in METHODS if who in {"nobody", "max"} or method in exist]
    usual = [method for method in possible if method in USUAL and has_turn(who, name, method)]
    number = [*ACCESS].index(name)
    if number % 8:  # another test asks each view for the methods that it lacks
        usual = [method for method in usual if method in exist]
    if who == "nobody" and name not in WAYS_IN:  # asked to sign in before the method matters
        usual = usual[:1]
    # All pages are denied alike to a person without a role, and to one who was deactivated.
    if number % {"eve": 4, "gone": 16}.get(who, 1):
        usual = []
    if not is_rest:
        return usual
    # One method that the address lacks, in turn: another test asks each view for all of them.
    lacking = [method for method in METHODS if method not in exist]
    in_turn = lacking[number % len(lacking)]
    return [method for method in possible if method not in usual and method in {*exist, in_turn}]


def test_access_table_has_every_address() -> None:
    assert set(ROUTES) == set(ACCESS)


@pytest.mark.slow
@pytest.mark.usefixtures("_https")
@pytest.mark.parametrize("is_rest", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("who", ["ana", *(pytest.param(who, marks=pytest.mark.exhaustive) for who in OTHERS)])
def test_responses_match_the_access_table_have_security_headers_and_reading_writes_nothing(
    who: str, is_rest: bool, record: Evaluation, request: pytest.FixtureRequest
) -> None:
    """Those to people who are signed in."""
    visitor = Browser()
    visitor.force_login(request.getfixturevalue("max" if who == "gone" else who))
    assert_responses_match(visitor, who, record, is_rest=is_rest)


def assert_responses_match(visitor: Client, who: str, record: Evaluation, *, is_rest: bool) -> None:
    places = {name: address(name, record) for name in ACCESS}
    if who == "gone":  # an admin deactivated while signed in
        User.objects.filter(username="max").update(is_active=False)
    seen, wanted = {}, {}
    for name, place in places.items():
        methods = tried(who, name, is_rest=is_rest)
        answers = {method: ask(visitor, method, place) for method in methods}
        seen[name] = {method: answer.status_code for method, answer in answers.items()}
        wanted[name] = {method: expected(name, method, who) for method in methods}
        if who == "nobody" and not is_rest:
            assert_redirect_to_https(place)
        if is_rest and "get" in ACCESS[name]:
            status = ask(visitor, "get", place, headers=HTMX).status_code
            assert status in {expected(name, "get", who), 401}, name
        for answer in answers.values():
            assert "no-store" in answer.headers["Cache-Control"], name
            assert_safe_response(place, answer)
            if who in {"nobody", "gone"} and answer.status_code == 302:
                assert answer["Location"].startswith(reverse("login")), name
    assert seen == wanted


def test_write_during_read_is_detected(record: Evaluation, ana: User) -> None:
    with transaction.atomic():
        execute("SET TRANSACTION READ ONLY")
        with pytest.raises(InternalError, match="read-only transaction"):
            claims.claim(evaluation_id=record.pk, reviewer=ana)
        transaction.set_rollback(True)


def test_all_pages_except_logins_require_login() -> None:
    asked_first = {
        name for name, methods in ACCESS.items() if all(statuses[0] == 302 for statuses in methods.values())
    }
    # Signing out and an unfinished login redirect to the login page, too.
    assert set(ACCESS) - asked_first == WAYS_IN - {"logout"}

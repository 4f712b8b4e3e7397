"""Requests that pages refuse: by strangers, by other methods, of unknown keys, without the token of forms."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.http import Http404
from django.test import Client, RequestFactory
from django.urls import resolve

from reviews.models import Evaluation, User
from tests.support.addresses import ROUTES, address
from tests.support.https import Browser
from tests.views.access import ACCESS, METHODS
from tests.views.test_access import _https, assert_responses_match, record

pytestmark = pytest.mark.django_db

TAKE_FORMS = [name for name, methods in ACCESS.items() if "post" in methods]
__all__ = ["_https", "record"]


@pytest.mark.slow
@pytest.mark.usefixtures("_https")
@pytest.mark.parametrize("is_rest", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_responses_to_strangers_match_the_access_table(is_rest: bool, record: Evaluation) -> None:
    """They have security headers, too, and reading writes nothing."""
    assert_responses_match(Browser(), "nobody", record, is_rest=is_rest)


@pytest.mark.slow
def test_views_reject_other_methods(record: Evaluation, max: User) -> None:
    """Before a view does anything: with no more than the request."""
    for name, methods in ACCESS.items():
        place = address(name, record)
        view = resolve(place)
        for method in {*METHODS, "trace"} - {*methods, "head", "options"}:
            request = RequestFactory().generic(method.upper(), place)
            request.user = max
            with connection.execute_wrapper(_no_statement):
                answer = view.func(request, *view.args, **view.kwargs)
            assert answer.status_code == 405, (name, method)


def _no_statement(_: Any, sql: str, *__: Any) -> Any:
    raise AssertionError(sql)


@pytest.mark.slow
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_form_without_csrf_token_is_rejected(every: int, record: Evaluation, max: User) -> None:
    """The middleware checks all forms, unless a view is exempt."""
    exempt = [name for name in TAKE_FORMS if hasattr(resolve(address(name, record)).func, "csrf_exempt")]
    assert exempt == []
    client = Client(enforce_csrf_checks=True)
    client.force_login(max)
    for name in TAKE_FORMS[::every]:
        response = client.post(address(name, record), {"submission": str(uuid4())})
        assert response.status_code == 403, name
        assert "This form is out of date" in response.content.decode(), name
    record.refresh_from_db()
    assert record.claimed_by is None


def unknown(key: int) -> Iterator[tuple[str, str, str]]:
    """Yield each URL name with a primary key, a method, and the address with this key."""
    # A job that cannot be repeated or cancelled is reported on the page of jobs.
    for name in (name for name in ACCESS if "<int:" in ROUTES[name] and "<slug:kind>" not in ROUTES[name]):
        place = "/" + re.sub("<int:[a-z_]+>", str(key), ROUTES[name]).replace("<slug:table>", "groups")
        yield name, "get" if "get" in ACCESS[name] else "post", place


@pytest.mark.slow
def test_views_do_not_find_an_unknown_primary_key(max: User) -> None:
    for name, method, place in unknown(10**19):
        view, request = resolve(place), RequestFactory().generic(method.upper(), place)
        request.user = max
        try:
            view.func(request, *view.args, **view.kwargs)
        except Http404:
            continue
        pytest.fail(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "every"),
    [
        (10**19, 16),
        *(pytest.param(key, 1, marks=pytest.mark.exhaustive) for key in (0, 10**18, 10**40)),
    ],
)
def test_unknown_primary_key_is_not_found(key: int, every: int, as_max: Client) -> None:
    for name, method, place in [*unknown(key)][::every]:
        assert getattr(as_max, method)(place).status_code == 404, name

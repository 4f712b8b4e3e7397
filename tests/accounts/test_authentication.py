"""Sessions whose person is loaded in the query for the session."""

from collections.abc import Callable

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.models import User

pytestmark = pytest.mark.django_db


def _save(user: User, **values: object) -> None:
    User.objects.filter(pk=user.pk).update(**values)


def test_one_query_loads_session_person_and_permissions(as_ana: Client) -> None:
    with CaptureQueriesContext(connection) as sent:
        as_ana.get(reverse("preferences"))
    first, *others = [one["sql"] for one in sent.captured_queries]
    assert "django_session" in first
    assert not [one for one in others if "django_session" in one or "auth_permission" in one]
    assert not [one for one in others if 'FROM "person"' in one]


@pytest.mark.parametrize(
    "change",
    [
        lambda _: Session.objects.all().delete(),
        lambda ana: _save(ana, is_active=False),
        lambda ana: _save(ana, password="another hash"),
    ],
    ids=["ended", "deactivated", "new password"],
)
def test_session_ends_with_the_next_request(
    change: Callable[[User], object], as_ana: Client, ana: User
) -> None:
    assert as_ana.get(reverse("start")).status_code < 400
    change(ana)
    assert as_ana.get(reverse("start"))["Location"].startswith(reverse("login"))


@pytest.mark.slow
def test_lost_role_takes_effect_with_the_next_request(as_lea: Client, lea: User) -> None:
    assert as_lea.get(reverse("dashboard")).status_code == 200
    lea.groups.clear()
    assert as_lea.get(reverse("dashboard")).status_code == 403


@pytest.mark.parametrize("is_listed", [True, False])
def test_session_that_is_listed_for_nobody_or_another_person_keeps_its_own(
    is_listed: bool, as_ana: Client, ana: User, bo: User
) -> None:
    logins = UserSession.objects.filter(user=ana)
    assert logins.update(user=bo) if is_listed else logins.delete()
    assert as_ana.get(reverse("preferences")).wsgi_request.user == ana

"""Sessions end at an idle limit and at an absolute limit."""

from datetime import datetime, timedelta

import pytest
from django.conf import LazySettings
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.accounts import session_store
from reviews.models import Evaluation, User
from reviews.queue import claims
from tests.support.factories import PASSWORD, EvaluationFactory

pytestmark = pytest.mark.django_db


class Clock:
    """A clock for the sessions."""

    def __init__(self) -> None:
        self._moved = timedelta()

    def move(self, **span: float) -> None:
        self._moved += timedelta(**span)

    def now(self) -> datetime:
        return timezone.now() + self._moved

    def time(self) -> float:
        return self.now().timestamp()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Clock:
    settings.SESSION_IDLE_LENGTH, settings.SESSION_MAX_LENGTH = timedelta(minutes=30), timedelta(hours=8)
    clock = Clock()
    for module in (session_store, db):
        monkeypatch.setattr(module, "timezone", clock)
    monkeypatch.setattr(session_store, "time", clock)
    return clock


@pytest.fixture
def as_ana(client: Client, ana: User, clock: Clock) -> Client:
    client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
    return client


@pytest.fixture
def record(as_ana: Client, ana: User) -> Evaluation:
    record = EvaluationFactory.create()
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    return record


def is_logged_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


class TestSessionLimits:
    def test_idle_session_ends(self, as_ana: Client, clock: Clock) -> None:
        clock.move(minutes=29)
        assert is_logged_in(as_ana)
        clock.move(minutes=31)
        assert not is_logged_in(as_ana)

    def test_session_continues_and_is_not_longer_after_the_clock_was_set_back(
        self, as_ana: Client, clock: Clock
    ) -> None:
        clock.move(hours=-1)
        assert is_logged_in(as_ana)
        clock.move(minutes=31)
        assert not is_logged_in(as_ana)

    @pytest.mark.slow
    def test_active_session_continues(self, as_ana: Client, clock: Clock) -> None:
        for _ in range(10):
            clock.move(minutes=29)
            assert is_logged_in(as_ana)

    @pytest.mark.slow
    def test_active_session_ends_at_absolute_limit(self, as_ana: Client, clock: Clock) -> None:
        for _ in range(19):
            clock.move(minutes=25)
            assert is_logged_in(as_ana)
        clock.move(minutes=25)
        assert not is_logged_in(as_ana)

    @pytest.mark.slow
    def test_open_page_does_not_extend_session(
        self, as_ana: Client, clock: Clock, record: Evaluation
    ) -> None:
        for _ in range(29):
            clock.move(minutes=1)
            assert as_ana.post(reverse("renew", args=[record.pk])).status_code < 300
        clock.move(minutes=2)
        assert as_ana.post(reverse("renew", args=[record.pk])).status_code == 302

    @pytest.mark.parametrize("element", ["screen", "import-state", "export-state"])
    def test_polling_does_not_extend_session(self, element: str, as_ana: Client, clock: Clock) -> None:
        for _ in range(2):
            clock.move(minutes=20)
            response = as_ana.get(reverse("runs"), headers={"HX-Request": "true", "HX-Trigger": element})
        assert (response.status_code, response["HX-Redirect"]) == (401, f"{reverse('login')}?next=/")

    def test_typing_extends_session(self, as_ana: Client, clock: Clock, record: Evaluation) -> None:
        for revision in range(1, 4):
            clock.move(minutes=20)
            posted = {"revision": revision, "comments": "so far"}
            assert as_ana.post(reverse("draft", args=[record.pk]), posted).status_code < 300

    def test_ended_session_is_rejected(self, as_ana: Client, clock: Clock, record: Evaluation) -> None:
        clock.move(minutes=31)
        headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/evaluations/{record.pk}/"}
        for name, arguments in (("preview", []), ("draft", [record.pk]), ("submit", [record.pk])):
            response = as_ana.post(reverse(name, args=arguments), headers=headers)
            assert response.status_code == 401
            assert response["HX-Redirect"].startswith(reverse("login"))

    def test_session_is_written_at_most_once_a_minute(self, as_ana: Client, clock: Clock) -> None:
        def writes() -> int:
            with CaptureQueriesContext(connection) as queries:
                is_logged_in(as_ana)
            return sum(query["sql"].startswith("UPDATE") for query in queries)

        assert [writes() for _ in range(3)] == [0, 0, 0]
        clock.move(seconds=61)
        assert [writes() for _ in range(3)] == [1, 0, 0]

    def test_shorter_limits_apply_to_existing_sessions(
        self, as_ana: Client, clock: Clock, settings: LazySettings
    ) -> None:
        clock.move(minutes=20)
        settings.SESSION_MAX_LENGTH = timedelta(minutes=10)
        assert not is_logged_in(as_ana)

    def test_password_change_keeps_absolute_limit(self, as_ana: Client, clock: Clock) -> None:
        new = "eleven purple oxen dance"
        clock.move(minutes=20)
        posted = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
        assert as_ana.post(reverse("password"), posted).status_code == 302
        assert Session.objects.get().get_decoded()["began"] < clock.time() - 1000

    @pytest.mark.slow
    def test_login_restarts_absolute_limit(self, as_ana: Client, ana: User, clock: Clock) -> None:
        clock.move(hours=9)
        as_ana.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        assert is_logged_in(as_ana)

    def test_session_cookie_lasts_until_absolute_limit(self, as_ana: Client, settings: LazySettings) -> None:
        cookie = as_ana.cookies[settings.SESSION_COOKIE_NAME]
        assert cookie["max-age"] == settings.SESSION_COOKIE_AGE

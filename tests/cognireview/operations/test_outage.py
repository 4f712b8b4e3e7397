"""Database outages: detection, and the immediate responses to people and programs."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections
from django.test import Client
from django.urls import reverse
from psycopg import errors
from psycopg_pool import PoolTimeout

from cognireview.operations import outage
from reviews.models import User
from tests.support.pages import HTMX, text
from tests.support.waiting import PATIENCE, eventually


def wrapped(cause: Exception) -> OperationalError:
    """As Django raises what psycopg did."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


class TestOutageDetection:
    @pytest.mark.parametrize(
        "cause",
        [
            psycopg.OperationalError("connection refused"),
            PoolTimeout("no connection came"),
            psycopg.InterfaceError("the connection is closed"),
            errors.AdminShutdown("terminating connection"),
            errors.CrashShutdown("terminating connection"),
            errors.CannotConnectNow("the database system is starting up"),
            errors.ConnectionFailure("pgbouncer cannot connect"),
            errors.TooManyConnections("sorry, too many clients already"),
            errors.ReadOnlySqlTransaction("cannot execute UPDATE in a read-only transaction"),
        ],
        ids=lambda cause: type(cause).__name__,
    )
    def test_outage_is_an_error_without_database_response(self, cause: Exception) -> None:
        assert outage.is_outage(wrapped(cause))

    def test_consequence_of_outage_counts_as_outage(self) -> None:
        followed = LookupError("nothing there")
        followed.__context__ = wrapped(errors.AdminShutdown())
        assert outage.is_outage(followed)
        assert outage.is_outage(InterfaceError("connection already closed"))

    @pytest.mark.parametrize(
        "error",
        [
            None,
            ValueError("no number"),
            wrapped(errors.QueryCanceled("statement timeout")),
            wrapped(errors.DeadlockDetected()),
            wrapped(errors.DiskFull()),
            wrapped(errors.LockNotAvailable()),
        ],
        ids=repr,
    )
    def test_error_of_responding_database_is_no_outage(self, error: Exception | None) -> None:
        assert not outage.is_outage(error)


@pytest.fixture
def _away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage._watch, "is_active", True)


@pytest.mark.usefixtures("_away")
class TestDuringOutage:
    """None of these may ask the database, which a test without the mark `django_db` does not let."""

    def test_outage_shows_page_to_people(self, client: Client) -> None:
        response = client.get(reverse("runs"))
        assert (response.status_code, response["Retry-After"]) == (503, "5")
        assert response["Cache-Control"] == "no-store"
        assert "The database does not answer" in text(response)
        assert "X-Request-ID" in response

    def test_outage_sends_only_a_message_to_htmx(self, client: Client) -> None:
        response = client.post(reverse("logout"), headers=HTMX)
        assert response.status_code == 503
        assert f'<div class="toast bad" role="alert"> <p>{outage.MESSAGE}</p>' in text(response)

    def test_outage_sends_problem_to_programs(self, client: Client) -> None:
        response = client.put("/api/v1/runs/one/evaluations/a/review", b"{}", content_type="application/json")
        assert (response.status_code, response["Retry-After"]) == (503, "5")
        assert response["Content-Type"] == "application/problem+json"
        assert response.json()["detail"] == "The database is unavailable. Try again in a moment."

    def test_outage_keeps_process_live_but_not_ready(self, client: Client) -> None:
        assert client.get("/healthz").status_code == 200
        response = client.get("/readyz")
        assert (response.status_code, response.content) == (503, b"The database cannot be reached.")

    def test_outage_leaves_static_files_available(self, client: Client) -> None:
        response = client.get("/static/css/tokens.css")
        assert response.status_code == 200
        assert response.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_outage_during_a_page_responds_503_and_starts_watch(
    client: Client, ana: User, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise wrapped(errors.AdminShutdown("terminating connection"))

    begun: list[object] = []
    # Imports all pages, which would otherwise keep the replaced function.
    address = reverse("runs")
    monkeypatch.setattr("reviews.queue.progress.all_progress", fail)
    monkeypatch.setattr(outage._watch, "start", lambda: begun.append(True))
    client.force_login(ana)
    client.raise_request_exception = False
    response = client.get(address, headers=headers)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert begun


class TestOutageWatch:
    @pytest.fixture
    def answers(self, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
        """The results of the next connection attempts. Once the list is empty, attempts succeed."""
        coming: list[bool] = []
        monkeypatch.setattr(outage, "database_answers", lambda: coming.pop(0) if coming else True)
        return coming

    @pytest.fixture
    def watch(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[outage._Watch]:
        monkeypatch.setattr(outage, "_POLL_SECONDS", 0.01)
        yield outage._Watch()
        for thread in threading.enumerate():
            if thread.name == "outage-watch":
                thread.join(PATIENCE)

    def test_outage_watch_ends_at_once_if_database_responds(
        self, watch: outage._Watch, answers: list[bool]
    ) -> None:
        seen: list[bool] = []
        answers.append(True)
        watch.start()
        assert eventually(lambda: not watch._is_running)
        seen.append(watch.is_active)
        assert seen == [False]

    def test_outage_watch_runs_until_database_responds(
        self, watch: outage._Watch, answers: list[bool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed: list[bool] = []
        monkeypatch.setattr(
            type(connections[DEFAULT_DB_ALIAS]), "close_pool", lambda _self: closed.append(watch.is_active)
        )
        answers += [False, False, False]
        watch.start()
        assert eventually(lambda: bool(closed))
        # Closing the pool releases waiting threads while new ones are rejected.
        assert closed == [True]
        assert eventually(lambda: not watch.is_active)
        assert answers == []

    def test_outage_watch_uses_its_own_connection(
        self, monkeypatch: pytest.MonkeyPatch, django_db_setup: Any, django_db_blocker: Any
    ) -> None:
        with django_db_blocker.unblock():
            assert outage.database_answers()
            with monkeypatch.context() as patch:
                patch.setitem(connection.settings_dict, "NAME", "no such database")
                assert outage.database_answers()
            with monkeypatch.context() as patch:
                # As for the only server that is left of a cluster, which has not become the primary yet.
                patch.setitem(connection.settings_dict["OPTIONS"], "target_session_attrs", "standby")
                assert not outage.database_answers()
            monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
            assert not outage.database_answers()

"""Between the signal to stop and the end: not ready, each answer the last of its connection."""

import signal
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from cognireview.environment import FIELDS
from cognireview.processes import graceful_shutdown, web_server
from tests.support.waiting import PATIENCE


@pytest.fixture
def flag(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    flag = SimpleNamespace(value=0)
    monkeypatch.setattr(graceful_shutdown, "_flag", flag)
    return flag


def application(_environ: dict[str, Any], start: Any) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]


def headers_of(app: Any) -> list[tuple[str, str]]:
    sent: list[tuple[str, str]] = []
    assert app({}, lambda _status, headers: sent.extend(headers)) == [b"ok"]
    return sent


@pytest.mark.django_db
def test_stopping_process_is_live_but_not_ready(client: Client, flag: SimpleNamespace) -> None:
    assert client.get("/readyz").status_code == 200
    flag.value = 1
    response = client.get("/readyz")
    assert (response.status_code, response.content) == (503, b"This process is about to stop.")
    assert client.get("/healthz").status_code == 200


def test_responses_close_connections_during_shutdown(flag: SimpleNamespace) -> None:
    app = graceful_shutdown.close_connections(application)
    assert headers_of(app) == [("Content-Type", "text/plain")]
    flag.value = 1
    assert headers_of(app)[-1] == ("Connection", "close")


class TestShutdownSignal:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> web_server._WebServer:
        return web_server._WebServer("x:y", drain_seconds=60)

    def test_first_signal_reaches_every_process_and_second_ends_wait(
        self, server: web_server._WebServer
    ) -> None:
        server.signal_handler_interrupt(signal.SIGTERM)
        assert (server.flag.value, server.interrupt_signal) == (1, False)
        server.signal_handler_interrupt(signal.SIGTERM)
        assert server.interrupt_signal

    def test_process_stops_after_the_wait(self) -> None:
        server = web_server._WebServer("x:y", drain_seconds=0.01)
        server.signal_handler_interrupt(signal.SIGTERM)
        assert server.main_loop_interrupt.wait(PATIENCE)
        assert server.interrupt_signal

    def test_process_without_wait_stops_at_once(self) -> None:
        server = web_server._WebServer("x:y", drain_seconds=0)
        server.signal_handler_interrupt(signal.SIGTERM)
        assert (server.flag.value, server.interrupt_signal) == (1, True)


def test_default_drain_time_is_positive() -> None:
    assert FIELDS["drain_seconds"].default > 0

"""A stopping process is not ready, and responses announce the end of their connections."""

import signal
from collections.abc import Iterable
from io import BytesIO
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


def headers_of(app: Any, **environ: Any) -> list[tuple[str, str]]:
    sent: list[tuple[str, str]] = []
    assert app(
        {"wsgi.input": BytesIO(b"a body\n"), **environ}, lambda _status, headers: sent.extend(headers)
    ) == [b"ok"]
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


@pytest.mark.parametrize(
    ("reads", "environ", "closes"),
    [
        ([], {}, False),
        ([], {"CONTENT_LENGTH": ""}, False),
        ([], {"CONTENT_LENGTH": "7"}, True),
        (["read"], {"CONTENT_LENGTH": "7"}, False),
        (["readline"], {"CONTENT_LENGTH": "7"}, False),
        (["read"], {"CONTENT_LENGTH": "8"}, True),
        ([], {"HTTP_TRANSFER_ENCODING": "chunked"}, True),
    ],
)
def test_response_closes_the_connection_of_an_unread_body(
    reads: list[str], environ: dict[str, str], closes: bool, flag: SimpleNamespace
) -> None:
    def reader(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        for name in reads:
            assert getattr(environ["wsgi.input"], name)(7) == b"a body\n"
        return application(environ, start)

    app = graceful_shutdown.close_connections(reader)
    assert (("Connection", "close") in headers_of(app, **environ)) is closes


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

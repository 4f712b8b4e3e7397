"""The log: a line for each request, and as JSON which request and whose each line is of."""

import json
import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from cognireview import environment
from cognireview.operations import logs
from reviews.accounts import api_tokens
from reviews.models import User


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """Capture the output of a log handler with the JSON formatter."""
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logs.JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def read(written: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def last(written: StringIO) -> dict[str, Any]:
    return [line for line in read(written) if line["logger"] == "cognireview.operations.logs"][-1]


@pytest.mark.django_db
class TestRequestLine:
    def test_request_line_has_request_user_and_status(
        self, client: Client, ana: User, lines: StringIO
    ) -> None:
        client.force_login(ana)
        response = client.get(reverse("runs"), headers={"x-request-id": "proxy-7.a"})
        line = last(lines)
        assert line["request_id"] == response.headers["X-Request-ID"] == "proxy-7.a"
        assert (line["user_id"], line["method"], line["status"]) == (ana.pk, "GET", response.status_code)
        assert line["ms"] >= 0
        assert line["level"] == "INFO"
        assert line["at"].endswith("+00:00")

    def test_request_line_names_route_without_url_secrets(self, client: Client, lines: StringIO) -> None:
        client.get(f"/welcome/{'a' * 40}/?next=hush")
        line = last(lines)
        assert "welcome/" in line["route"]
        assert "aaaa" not in lines.getvalue()
        assert "hush" not in lines.getvalue()

    def test_request_line_of_public_page_reads_no_session(self, client: Client, lines: StringIO) -> None:
        response = client.get(reverse("login"))
        line = last(lines)
        assert "user_id" not in line
        assert len(line["request_id"]) == 32
        assert line["request_id"] == response.headers["X-Request-ID"]

    def test_request_line_names_user_of_api_token(self, client: Client, ana: User, lines: StringIO) -> None:
        token = api_tokens.create(person=ana, scopes=["read"], actor=None).text
        client.get("/api/v1/runs", headers={"Authorization": f"Bearer {token}"})
        assert last(lines)["user_id"] == ana.pk
        client.get("/api/v1/runs/none/export", headers={"Authorization": f"Bearer {token}"})
        assert (last(lines)["user_id"], last(lines)["status"]) == (ana.pk, 403)
        client.get("/api/v1/runs", headers={"Authorization": "Bearer cr_nothing"})
        assert "user_id" not in last(lines)
        assert token not in lines.getvalue()

    def test_request_line_of_unknown_url_has_no_route(self, client: Client, lines: StringIO) -> None:
        client.get("/nowhere/")
        assert (last(lines)["route"], last(lines)["status"]) == ("", 404)


@pytest.mark.django_db
@pytest.mark.parametrize("given", ["", "two words", 'x", "level": "', "a" * 129, "é"])
def test_invalid_request_id_is_replaced(client: Client, given: str) -> None:
    response = client.get(reverse("login"), headers={"x-request-id": given})
    assert response.headers["X-Request-ID"] != given
    assert len(response.headers["X-Request-ID"]) == 32


class TestJsonLine:
    def test_json_line_contains_traceback(self, lines: StringIO) -> None:
        try:
            [].pop()
        except IndexError:
            logging.getLogger("anywhere").exception("It broke: %s", "\n")
        [line] = read(lines)
        assert line["message"] == "It broke: \n"
        assert line["error"].startswith("Traceback")
        assert line["error"].endswith("\nIndexError: pop from empty list")
        assert "request_id" not in line

    def test_json_line_is_written_for_any_text(self) -> None:
        record = logging.LogRecord("anywhere", logging.INFO, "", 0, "half a character: %s", ("\ud800",), None)
        written = logs.JsonFormatter().format(record)
        assert written.isascii()
        assert json.loads(written)["message"] == "half a character: \ud800"

    def test_json_line_of_failing_page_has_request_and_user(
        self, client: Client, ana: User, lines: StringIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr("reviews.queue.progress.all_progress", fail)
        client.force_login(ana)
        client.raise_request_exception = False
        response = client.get(reverse("runs"))
        assert response.status_code == 500
        [line] = [line for line in read(lines) if line["logger"] == "django.request"]
        assert line["request_id"] == response.headers["X-Request-ID"]
        assert line["user_id"] == ana.pk
        assert "RuntimeError: broken" in line["error"]


class TestLogFormatSetting:
    def test_log_format_takes_two_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_LOG_FORMAT", "json")
        assert environment.read().log_format == "json"
        monkeypatch.setenv("COGNIREVIEW_LOG_FORMAT", "xml")
        with pytest.raises(ImproperlyConfigured, match="COGNIREVIEW_LOG_FORMAT: got 'xml'"):
            environment.read()

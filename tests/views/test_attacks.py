"""Hostile values that try to reach the database or the log through pages and API."""

import json
import logging
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from cognireview.operations.logs import TextFormatter
from reviews.accounts import api_tokens
from reviews.models import Evaluation, User
from tests.support.addresses import one_of_everything
from tests.support.hostile_requests import LOOKUPS, PROBE

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(max: User) -> Evaluation:
    return one_of_everything(max)


class TestFiltersAndOrders:
    """Only known filters reach the database; Django lookups from requests do not."""

    SORTS = ("claimed_by__password", "-password", "pk", "?", "review__reviewer__password", "1; DROP TABLE")

    @pytest.mark.slow
    def test_hostile_sort_orders_are_reported(self, record: Evaluation, as_max: Client) -> None:
        for sort in self.SORTS:
            with CaptureQueriesContext(connection) as asked:
                response = as_max.get(reverse("run", args=[record.run_id]), {"sort": sort})
            assert f"Unknown sort order “{sort}”." in response.context["view"].problems
            ordered = [query["sql"].partition("ORDER BY")[2] for query in asked]
            assert [sql for sql in ordered if "password" in sql or "DROP" in sql] == [], sort

    @pytest.mark.slow
    def test_hostile_filters_are_rejected_by_the_api(self, record: Evaluation, max: User) -> None:
        token = api_tokens.create(person=max, scopes=["read", "review"], actor=None).text
        program = Client(headers={"Authorization": f"Bearer {token}"})
        path = f"/api/v1/runs/{record.run.name}"
        for name in LOOKUPS:
            answer = program.get(f"{path}/evaluations", {name: PROBE})
            assert answer.status_code == 422
            body = json.dumps({"filters": {name: PROBE}})
            claimed = program.post(f"{path}/claims", body, content_type="application/json")
            assert claimed.status_code == 422
        for sort in self.SORTS:
            answer = program.get(f"{path}/evaluations", {"sort": sort})
            assert answer.status_code == 422

    @pytest.mark.slow
    def test_hostile_filters_are_harmless_in_bulk_changes_and_views(
        self, record: Evaluation, as_max: Client
    ) -> None:
        for name in LOOKUPS:
            listed = f"{name}={PROBE}"
            announced = as_max.get(
                reverse("bulk-change", args=[record.run_id]), {"kind": "release", "list": listed}
            )
            assert announced.status_code in {200, 400, 422}
            done = as_max.post(
                reverse("bulk-change", args=[record.run_id]), {"kind": "release", "list": listed}
            )
            assert done.status_code in {302, 400, 422}
            as_max.post(reverse("save-view", args=[record.run_id]), {"name": name, "list": listed})
        kept = record.run.saved_views.values_list("query", flat=True)
        assert [query for query in kept if PROBE in query] == []


class TestLog:
    """Each log event is one line for any input."""

    @pytest.fixture
    def written(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """Return the lines written by the handler of the settings."""
        lines: list[str] = []
        [ours] = [one for one in logging.getLogger().handlers if type(one) is logging.StreamHandler]
        assert isinstance(ours.formatter, TextFormatter)
        formatter = ours.formatter

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                # Tracebacks have several lines.
                alone = logging.makeLogRecord({**vars(record), "exc_info": None, "exc_text": None})
                lines.append(formatter.format(alone))

        listener = Listener()
        logging.getLogger().addHandler(listener)
        yield lines
        logging.getLogger().removeHandler(listener)

    def test_log_lines_cannot_be_forged(
        self, written: list[str], client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made_up = "x\n2026-11-22 00:00:00,000 INFO made.up: max signed in\r\n"
        strict = Client(enforce_csrf_checks=True)
        client.get(f"/{made_up}")
        client.get("/", headers={"host": "evil.example\n"})
        client.get("/", headers={"X-Request-ID": made_up, "User-Agent": made_up, "Referer": made_up})
        client.post(reverse("login"), {"login": made_up, "password": made_up})
        strict.post(reverse("login"), headers={"Origin": made_up, "Referer": made_up})
        client.generic("FOO\nBAR", "/login/")

        def failing(*_: object) -> None:
            raise RuntimeError(made_up)

        monkeypatch.setattr("reviews.accounts.one_time_links.find_pending", failing)
        client.raise_request_exception = False
        assert client.get(f"/join/{made_up.replace('/', '')}/").status_code == 500
        assert len(written) > 6
        assert [line for line in written if len(line.splitlines()) > 1] == []

"""Clients of an admin and a reviewer. They share the certificates of authorities, which no test needs."""

from collections.abc import Iterator
from functools import cache

import httpcore2
import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client
from reviews.models import User
from tests.support.connected_clients import ClientRun, connect
from tests.support.lines import file_of, import_data, line


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """Read certificates once. Each new client reads them, which takes longer than many of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture
def of_max(live_server: LiveServer, max: User) -> Iterator[Client]:
    """A client of the admin, with a run of two records."""
    import_data(file_of(line("a"), line("b")), run="nightly")
    with connect(max, live_server) as client:
        yield client


@pytest.fixture
def of_ana(live_server: LiveServer, ana: User) -> Iterator[Client]:
    """A client of a reviewer."""
    with connect(ana, live_server, "read", "review") as client:
        yield client


@pytest.fixture
def client(live_server: LiveServer, max: User) -> Iterator[Client]:
    """A client of the admin."""
    with connect(max, live_server) as opened:
        yield opened


@pytest.fixture
def run(client: Client) -> ClientRun:
    import_data(file_of(line("a"), line("b/c"), line("d", needs_human_review=False)), run="nightly")
    return client.run("nightly")

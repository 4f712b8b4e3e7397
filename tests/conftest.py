"""Shared fixtures: a private PostgreSQL server, the known people, and checks that apply to every test."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partialmethod
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.conf import settings
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from cognireview.operations import outage
from cognireview.postgres import embedded
from reviews import metrics
from reviews.imports import parser_pool
from reviews.models import Run, User
from reviews.search import listing
from tests.support import audit_check as audit_checks
from tests.support import rare_tests, request_fixture, samples
from tests.support.audit_check import AuditCheck
from tests.support.cleanup import quick_cleanup
from tests.support.data_folders import copy_cluster
from tests.support.factories import RunFactory, UserFactory
from tests.support.live_requests import counted_requests, requests_of_a_test
from tests.support.locked import locked
from tests.support.rewriting import rewrite_assertions
from tests.support.sessions import log_in
from tests.support.shared_world import shared_world
from tests.support.template_database import test_database_from_template
from tests.support.waiting import PATIENCE

request_fixture.create_without_inspection()

# The folders of tests that request pages or the API.
_WITH_PAGES = {"api", "assistants", "browser", "client", "views"}

# For pytest-django: an undefined template variable fails the test.
os.environ["FAIL_INVALID_TEMPLATE_VARS"] = "true"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run the whole suite in several processes. Single tests start sooner in this process.

    One more than there are cores, because tests in a browser often wait.
    """
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    has_browser_tests = config.option.markexpr != "not slow"
    return (os.cpu_count() or 1) + has_browser_tests if is_whole else 0


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Name the profiles of Hypothesis before its plugin looks for the selected one."""
    if config.getoption("--hypothesis-profile"):
        import_module("tests.support.examples")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Load the profile of Hypothesis before a file that uses it. Other files start sooner without it."""
    if isinstance(collector, pytest.Module) and "hypothesis" in collector.path.read_text():
        import_module("tests.support.examples")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only files with exhaustive tests if no others are selected: most of the time goes to imports."""
    is_test_file = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if config.option.markexpr not in rare_tests.SELECTIONS or not is_test_file:
        return None
    return None if rare_tests.may_contain(collection_path) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave exhaustive tests out of the fast suite, too."""
    rare_tests.check_found(items)
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare files without random examples the summary by Hypothesis's plugin, which imports Hypothesis."""
    if "hypothesis" not in sys.modules:
        session.config.pluginmanager.unregister(name="hypothesispytest")


def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Give each process its own data folder, and so its own PostgreSQL."""
    for spec in specs:
        spec.env["COGNIREVIEW_DATA_DIR"] = str(settings.DATA_DIR / "tests" / spec.id)


def pytest_configure_node(node: Any) -> None:
    """Give each process of the whole suite its share of the files to rewrite."""
    if node.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted(map(str, Path(__file__).parent.rglob("test_*.py")))
        given = node.workerinput
        given["to_rewrite"] = files[int(given["workerid"].removeprefix("gw")) :: given["workercount"]]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Rewrite this process's share, so that each file is rewritten once."""
    given = getattr(session.config, "workerinput", {})
    rewrite_assertions(session.config, map(Path, given.get("to_rewrite", ())))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the measurements that tests recorded."""
    passed = terminalreporter.getreports("passed")
    for name, value in (measured for report in passed for measured in report.user_properties):
        terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def pages(request: pytest.FixtureRequest) -> Thread:
    """Import the pages while PostgreSQL and the browser start, if tests request pages."""
    tests = Path(__file__).parent
    folders = {item.path.relative_to(tests).parts[0] for item in request.session.items}
    needed = ["cognireview.urls"] if folders & _WITH_PAGES else []
    thread = Thread(target=lambda: [*map(import_module, needed)])
    thread.start()
    return thread


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    pages: Thread, django_db_modify_db_settings_parallel_suffix: None
) -> Iterator[None]:
    """Run the tests on an embedded cluster of their own, unless `DATABASE_URL` names a server."""
    if settings.ENVIRONMENT.database_url:
        yield
        return
    data_dir = settings.DATA_DIR / "tests"
    # Another test session on the same data folder would use the same test database.
    with locked(data_dir / "session.lock"):
        copy_cluster(data_dir)
        with embedded.running(data_dir, disposable=True):
            settings.DATABASES["default"].update(embedded.connection_settings(data_dir))
            with test_database_from_template():
                yield


@pytest.fixture(scope="session", autouse=True)
def _session() -> Iterator[AuditCheck]:
    """Enter the contexts of all tests, and return the check of their writes.

    In one fixture: before each of thousands of tests, pytest resolves each fixture again.
    """
    with (
        audit_checks.checking() as check,
        _log_keeps_its_stream(),
        _settings_for_tests(),
        pytest.MonkeyPatch.context() as patch,
    ):
        # Queries of pages and metrics may take a minute on a busy machine. Tests of the limits set their own.
        patch.setattr(listing, "TIME_LIMIT", timedelta(seconds=PATIENCE))
        patch.setattr(metrics, "_MILLISECONDS", PATIENCE * 1_000)
        # Processes that parse imports take long to start. Tests of the processes set more cores.
        patch.setattr(parser_pool, "usable_cores", lambda: 1)
        # An outage of one test may not last into the next. Tests of the watch start it themselves.
        patch.setattr(outage._watch, "start", lambda: None)
        # The live server looks for the end of the session every 10 ms. Otherwise, its end takes up to 500 ms.
        serve = partialmethod(ThreadedWSGIServer.serve_forever, poll_interval=0.01)
        patch.setattr(ThreadedWSGIServer, "serve_forever", serve)
        # It sends a body at once. Otherwise, the body waits 40 ms for the client to acknowledge the headers.
        patch.setattr(WSGIRequestHandler, "disable_nagle_algorithm", True)
        yield check


@contextmanager
def _settings_for_tests() -> Iterator[None]:
    """Serve static files from the source tree without collectstatic, and hash passwords quickly."""
    storages = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    with override_settings(
        STORAGES=storages,
        STATIC_ROOT=settings.DATA_DIR / "tests" / "static",  # files that `up` collected may be outdated
        WHITENOISE_AUTOREFRESH=True,
        WHITENOISE_MAX_AGE=600,  # a browser asks for each file once
        WHITENOISE_USE_FINDERS=True,
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        BLIND_SHARE=0,  # tests of blind review set a share
    ):
        yield


@contextmanager
def _log_keeps_its_stream() -> Iterator[None]:
    """Fail if a test has bound the log to its captured stream: each later entry would print a traceback."""

    def streams() -> list[Any]:
        return [one.stream for one in logging.getLogger().handlers if type(one) is logging.StreamHandler]

    before = streams()
    yield
    assert streams() == before


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, pages: Thread) -> Iterator[None]:
    """Clean up quickly after transactional tests."""
    pages.join()
    with quick_cleanup():
        yield


@pytest.fixture(scope="session")
def _counted_requests(django_db_setup: None) -> Iterator[None]:
    with counted_requests():
        yield


@pytest.fixture(autouse=True)
def _no_request_outlives_its_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep requests to the live server away from a database that is being emptied."""
    if "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("_counted_requests")
    request.getfixturevalue("transactional_db")
    with requests_of_a_test():
        yield


@pytest.fixture(scope="session")
def audit_check(_session: AuditCheck) -> AuditCheck:
    """The check of the program's writes in all tests of this process."""
    return _session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: Any) -> Iterator[None]:
    """Fail a test in which the program commits a write to a domain table without an audit event."""
    check: AuditCheck | None = item.funcargs.get("_session")
    found: list[str] = []
    try:
        yield
    finally:
        if check:
            found, check.found = check.found, found
    assert not found, "\n".join(found)


@pytest.fixture(scope="class")
def class_world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep what other fixtures of a class write until its last test: see `shared_world`."""
    with shared_world(django_db_blocker):
        yield


@pytest.fixture(scope="module")
def module_world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep what other fixtures of a module write until its last test: see `shared_world`."""
    with shared_world(django_db_blocker):
        yield


@pytest.fixture(params=samples.SAMPLES)
def sample(request: pytest.FixtureRequest) -> bytes:
    """A file in the format of the CogniBench pipeline."""
    return bytes(request.param())


@pytest.fixture
def ana(db: None) -> User:
    """A reviewer."""
    return UserFactory.create(username="ana", role="reviewer")


@pytest.fixture
def bo(db: None) -> User:
    """A second reviewer."""
    return UserFactory.create(username="bo", role="reviewer")


@pytest.fixture
def lea(db: None) -> User:
    """A lead."""
    return UserFactory.create(username="lea", role="lead")


@pytest.fixture
def max(db: None) -> User:  # noqa: A001 the person, not the function
    """An admin."""
    return UserFactory.create(username="max", role="admin")


@pytest.fixture
def eve(db: None) -> User:
    """A person without a role."""
    return UserFactory.create(username="eve")


@pytest.fixture
def run(db: None) -> Run:
    """A run without records."""
    return RunFactory.create(name="Algebra")


@pytest.fixture
def as_ana(client: Client, ana: User) -> Client:
    log_in(client, ana)
    return client


@pytest.fixture
def as_max(client: Client, max: User) -> Client:
    log_in(client, max)
    return client


@pytest.fixture
def as_bo(bo: User) -> Client:
    client = Client()
    log_in(client, bo)
    return client


@pytest.fixture
def as_lea(lea: User) -> Client:
    client = Client()
    log_in(client, lea)
    return client

"""Ratings and records are loaded once for all figures of a page or a report."""

from collections import Counter

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviews.judge.loading import loads, shares_loads
from reviews.judge.ratings import load_all_ratings, load_ratings
from reviews.judge.report import build_report
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.support.factories import RunFactory
from tests.support.pages import url
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(ana: User) -> Run:
    run = RunFactory.create(rubric=rubric_data("Clarity"), blind_share=0.5)
    for is_flagged in (True, False):
        counted = stratum(run, {"Pass": 100}, is_flagged=is_flagged)
        rated(counted, ana, "Pass", "Pass", 30, is_sampled=not is_flagged)
        rated(counted, ana, "Pass", "Fail", 10, is_sampled=not is_flagged)
    return run


def repeated(queries: CaptureQueriesContext) -> list[str]:
    """Return the statements about all ratings that were executed twice with the same values."""
    counts = Counter(query["sql"] for query in queries.captured_queries if "string_agg" in query["sql"])
    assert counts
    return [statement for statement, times in counts.items() if times > 1]


@pytest.mark.slow
def test_page_and_report_load_no_ratings_twice(as_lea: Client, run: Run) -> None:
    for path in (url("judge", run), url("judge-flags", run), url("judge-report", run), url("run", run)):
        with CaptureQueriesContext(connection) as queries:
            as_lea.get(path)
        assert repeated(queries) == []
    with CaptureQueriesContext(connection) as queries:
        build_report(JudgeScope(run)).as_json()
    assert repeated(queries) == []


def test_loading_function_runs_again_outside_of_a_shared_load() -> None:
    calls = []

    @loads
    def load(number: int, *, factor: int = 2) -> int:
        calls.append(number)
        return number * factor

    @shares_loads
    def action() -> list[int]:
        return [load(1), load(1, factor=2), load(1, factor=3), load(number=1)]

    assert action() == [2, 2, 3, 2]
    assert len(calls) == 2
    assert action() == [2, 2, 3, 2]
    assert load(1) == load(1) == 2
    assert len(calls) == 6


def test_ratings_of_a_criterion_come_from_those_of_all(run: Run) -> None:
    @shares_loads
    def action() -> None:
        found = load_all_ratings(scope)
        with CaptureQueriesContext(connection) as queries:
            assert load_ratings(scope) is found[None]
            assert len(load_ratings(scope, "Depth")) == 0
        assert not len(queries)

    scope = JudgeScope(run)
    action()


@pytest.mark.slow
def test_report_page_loads_assisted_ratings_of_the_verdict_alone(as_lea: Client, run: Run) -> None:
    with CaptureQueriesContext(connection) as queries:
        as_lea.get(url("judge-report", run))
    loads_all = [
        query["sql"]
        for query in queries.captured_queries
        if "string_agg" in query["sql"] and "is_blind = false AND true" in query["sql"]
    ]
    assert loads_all == []

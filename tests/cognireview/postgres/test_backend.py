"""Our database backend: cursors end with their transaction, plans are kept, and rows can be binary."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import DataError, connection, transaction
from psycopg.pq import Format

from cognireview.postgres.backend.pool import WarmestFirstPool, check_connection
from reviews.database.statements import binary_rows, execute, fetch_all, fetch_value, prepared_statements
from reviews.models import User
from tests.support.factories import UserFactory
from tests.support.statements import sent_statements

pytestmark = pytest.mark.django_db(transaction=True)


def cursors_while_iterating() -> set[int]:
    found = set()
    for _ in User.objects.order_by("pk").iterator(chunk_size=1):
        found.add(fetch_value("SELECT count(*) FROM pg_cursors"))
    return found


def test_server_side_cursor_is_used_only_inside_transaction() -> None:
    UserFactory.create_batch(3)
    assert cursors_while_iterating() == {0}
    with transaction.atomic():
        assert cursors_while_iterating() == {1}


def test_check_of_an_idle_connection_sends_nothing() -> None:
    with sent_statements() as statements:
        check_connection(connection.connection)
    assert not statements.sent


@pytest.mark.slow
def test_check_of_a_closed_connection_raises() -> None:
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn) as lost:
        execute("SELECT pg_terminate_backend(%s, 5000)", [lost.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            check_connection(lost)


@pytest.fixture
def pool() -> Iterator[WarmestFirstPool]:
    """A pool with three idle connections."""
    connection.ensure_connection()
    place = connection.connection.info
    with WarmestFirstPool(
        conninfo=place.dsn, kwargs={"password": place.password}, min_size=1, max_size=3, open=True
    ) as opened:
        lent = [opened.getconn() for _ in range(3)]
        for each in lent:
            opened.putconn(each)
        _begin_interval(opened, fewest_idle=3)
        yield opened


def _begin_interval(pool: WarmestFirstPool, *, fewest_idle: int) -> None:
    """Set how many connections were idle at least in the interval after which the pool may close one."""
    pool._nconns_min = fewest_idle


def lend(pool: WarmestFirstPool) -> "psycopg.Connection[Any]":
    with pool.connection() as lent:
        return lent


def test_pool_lends_the_connection_that_was_returned_last(pool: WarmestFirstPool) -> None:
    coldest, middle, warmest = reversed(pool._pool)
    assert [lend(pool) for _ in range(3)] == [warmest] * 3
    with pool.connection() as first, pool.connection() as second:
        assert (first, second) == (warmest, middle)
    assert lend(pool) is warmest
    assert coldest is pool._pool[-1]


def test_pool_closes_the_connection_that_has_been_idle_longest(pool: WarmestFirstPool) -> None:
    coldest, middle, warmest = reversed(pool._pool)
    lend(pool)
    pool._shrink_pool()
    assert [each.closed for each in (coldest, middle, warmest)] == [True, False, False]
    assert lend(pool) is warmest
    _begin_interval(pool, fewest_idle=0)
    pool._shrink_pool()
    assert [each.closed for each in (middle, warmest)] == [False, False]
    assert lend(pool) is warmest


def test_statement_is_parsed_once_in_prepared_block_only() -> None:
    connection.ensure_connection()
    connection.connection.prepare_threshold = 1

    def load() -> None:
        for _ in range(3):
            assert not User.objects.filter(username="nobody").exists()

    with prepared_statements(), sent_statements() as prepared:
        load()
    with sent_statements() as plain:
        load()
    # The first one is not repeated yet, and the second one is prepared.
    assert (len(prepared.sent), len(prepared.parsed)) == (3, 2)
    assert (len(plain.sent), len(plain.parsed)) == (3, 0)


def test_rows_are_binary_in_their_block_only() -> None:
    def fetch() -> tuple[int, Any]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::bytea, %s::bigint, %s::text", [b"\0\xff", 7, "é"])
            return cursor.pgresult.fformat(0), cursor.fetchone()

    with binary_rows():
        assert fetch() == (Format.BINARY, (b"\0\xff", 7, "é"))
    assert fetch() == (Format.TEXT, (b"\0\xff", 7, "é"))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_moments_are_in_utc_whatever_the_time_zone_of_the_session(zone: str) -> None:
    moments = [dt.datetime(2026, 11, 28, 9, 5, 7, fraction, tzinfo=dt.UTC) for fraction in (0, 120, 500_000)]
    with transaction.atomic():
        execute("SELECT set_config('TimeZone', %s, true)", [zone])
        found = [moment for (moment,) in fetch_all("SELECT unnest(%s::timestamptz[])", [[*moments, None]])]
    assert found == [*moments, None]
    assert {moment.tzinfo for moment in found if moment} == {dt.UTC}


@pytest.mark.parametrize("moment", ["infinity", "12000-01-01 00:00Z"])
def test_moment_that_python_has_no_value_for_raises(moment: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [moment])
        with pytest.raises(DataError):
            cursor.fetchone()

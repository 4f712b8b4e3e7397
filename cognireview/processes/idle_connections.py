"""Replace the pooled connections of a web process after a pause in its requests.

After work, a connection takes 12 to 18 MiB of PostgreSQL's memory for plans and catalogs, and maps the
shared buffers that it has read. A new connection takes 2 MiB until it is used. The first requests after the
pause take 0.1 s of CPU time more.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg_pool import ConnectionPool

_PERIOD_SECONDS = 10
# A visible review screen renews its claim once a minute, so this is longer.
_PERIODS_OF_A_PAUSE = 9


def replace_after_pauses() -> None:
    """Start a thread that does it."""
    threading.Thread(target=_watch, args=[_pool, time.sleep], daemon=True).start()


def _pool() -> "ConnectionPool[Any]":
    """Return the pool of this process, which has another one after an outage."""
    return connections[DEFAULT_DB_ALIAS].pool  # type: ignore[attr-defined, no-any-return]


def _watch(pool_now: Callable[[], "ConnectionPool[Any]"], sleep: Callable[[float], object]) -> None:
    periods = before = 0
    while True:
        sleep(_PERIOD_SECONDS)
        pool = pool_now()
        requests = pool.get_stats().get("requests_num", 0)
        periods = periods + 1 if requests == before else 0
        before = requests
        if periods == _PERIODS_OF_A_PAUSE:
            pool.drain()

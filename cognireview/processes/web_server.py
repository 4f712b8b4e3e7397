"""Run granian as the web server, with a graceful shutdown."""

import gc
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.template.loader import get_template
from django.urls import get_resolver, reverse
from granian import Granian
from granian.constants import Interfaces
from psycopg_pool import ConnectionPool

from cognireview.environment import FILES_DIR, Environment
from cognireview.processes import graceful_shutdown
from cognireview.processes.idle_memory import release_when_idle, set_up_heap

_PERIOD_SECONDS = 10
# A visible review screen renews its claim once a minute, so this is longer.
_PERIODS_OF_A_PAUSE = 9


def replace_after_pauses() -> None:
    """Start a thread that replaces the pooled connections after a pause in the requests.

    After work, a connection takes 12 to 18 MiB of PostgreSQL's memory for plans and catalogs, and maps the
    shared buffers that it has read. A new connection takes 2 MiB until it is used. The first requests after
    the pause take 0.1 s of CPU time more.
    """
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


# Folder in which prometheus_client aggregates the metrics of all processes of a web server.
METRICS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_DRAINING = 1
# New objects that start a garbage collection. A page has thousands, which Python's threshold of 700 searches
# several times before they are freed.
_GARBAGE = 10_000
_MOST_DEFAULT_WORKERS = 4
# The templates of the pages that most requests are for, in `templates/`.
_HOT_TEMPLATES = ("base.html", "includes/*.html", "review/**/*.html", "runs/home.html", "runs/run_page.html")
_MEMORY_OF_A_WORKER = 512 * 1024**2
# The limit of a container.
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


class _WebServer(Granian):  # type: ignore[misc, valid-type]  # one of two classes, by the build of Python
    """Granian with a drain: it announces the shutdown and stops after `drain_seconds`.

    A second signal ends the drain. Granian then finishes open requests, closes idle connections and returns.
    """

    def __init__(self, *arguments: Any, drain_seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._drain_seconds = drain_seconds
        # Without a lock, which a killed process would never release.
        self.flag = multiprocessing.get_context(_start_method()).RawValue("b", 0)

    def signal_handler_interrupt(self, *_: Any, **__: Any) -> None:
        if self.flag.value or not self._drain_seconds:
            self._stop()
            return
        self.flag.value = _DRAINING
        timer = threading.Timer(self._drain_seconds, self._stop)
        timer.daemon = True
        timer.start()

    def _stop(self) -> None:
        self.flag.value = _DRAINING
        super().signal_handler_interrupt()


def serve(
    *,
    host: str,
    port: int,
    settings: Environment,
    drain_seconds: float,
    finish_seconds: int,
    shares_machine: bool = False,
    in_each_process: Callable[[], object] = bool,
) -> None:
    """Serve until SIGTERM or SIGINT, drain for `drain_seconds`, then finish open requests.

    Requests that take longer than `finish_seconds` are aborted. `shares_machine` says that PostgreSQL and the
    worker need cores, too.
    """
    set_up_heap()
    server = _WebServer(
        "cognireview.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings.web_workers or default_workers(shares_machine=shares_machine),
        blocking_threads=settings.web_threads,
        workers_kill_timeout=finish_seconds,
        respawn_failed_workers=True,
        drain_seconds=drain_seconds,
    )
    with TemporaryDirectory(prefix="cognireview-metrics-") as folder:
        os.environ[METRICS_DIR_VARIABLE] = folder
        if _start_method() == "fork":
            _preload_application()
        # The processes that it forks have threads of their own.
        release_when_idle()
        server.serve(target_loader=partial(_application, server.flag, in_each_process), wrap_loader=False)


def default_workers(*, shares_machine: bool) -> int:
    """Return the number of web processes: one per core if there is memory for them, at most four.

    On a shared machine, one per two cores: PostgreSQL takes a third of the CPU time of requests.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        memory = min(memory, int(_MEMORY_LIMIT.read_text()))
    cores = (_cores() + 1) // 2 if shares_machine else _cores()
    return max(1, min(cores, _MOST_DEFAULT_WORKERS, memory // _MEMORY_OF_A_WORKER))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_method() -> str:
    """Return granian's start method of processes."""
    method = multiprocessing.get_start_method()
    return method if method in {"fork", "spawn"} else "spawn"


def _preload_application() -> None:
    """Load the application before web processes are forked, so that they share its memory."""
    import_module("cognireview.wsgi")
    preload_pages()
    # The collector would write to the shared objects, which copies them.
    gc.collect()
    gc.freeze()


def preload_pages() -> None:
    """Import the pages and the API, fill the tables of URLs and read the templates of frequent pages.

    Otherwise each web process does it at its first requests.
    """
    get_resolver().check()
    reverse("login")
    folder = FILES_DIR / "templates"
    for file in chain.from_iterable(folder.glob(pattern) for pattern in _HOT_TEMPLATES):
        get_template(str(file.relative_to(folder)))


def _application(flag: graceful_shutdown.Flag, in_each_process: Callable[[], object]) -> Callable[..., Any]:
    """Load the application in a web process."""
    graceful_shutdown.set_flag(flag)
    release_when_idle()
    gc.set_threshold(_GARBAGE)
    in_each_process()
    from cognireview.wsgi import application  # noqa: PLC0415 importing it sets Django up

    replace_after_pauses()
    return graceful_shutdown.close_connections(application)

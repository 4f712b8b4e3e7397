"""The web server: granian, which stops in order."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from granian import Granian
from granian.constants import Interfaces

from cognireview.environment import Environment
from cognireview.processes import graceful_shutdown

# Where prometheus_client lets the processes of one web server count together.
METRICS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_DRAINING = 1


class _WebServer(Granian):  # type: ignore[misc, valid-type]  # one of two classes, by the build of Python
    """Tells its processes of the signal to stop, and stops them when those who send requests know it.

    A second signal ends the wait. granian then lets each request finish that it has begun with, closes the
    connections that wait for another, and returns.
    """

    def __init__(self, *arguments: Any, drain_seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._drain_seconds = drain_seconds
        # As granian starts its processes; without a lock, which a process that is killed would keep.
        method = multiprocessing.get_start_method()
        context = multiprocessing.get_context(method if method in {"fork", "spawn"} else "spawn")
        self.flag = context.RawValue("b", 0)

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
    in_each_process: Callable[[], object] = bool,
) -> None:
    """Serve until SIGTERM or SIGINT, then for `drain_seconds` more, then for what has been begun with.

    What takes longer than `finish_seconds` is cut off.
    """
    server = _WebServer(
        "cognireview.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings.web_workers,
        blocking_threads=settings.web_threads,
        workers_kill_timeout=finish_seconds,
        respawn_failed_workers=True,
        drain_seconds=drain_seconds,
    )
    with TemporaryDirectory(prefix="cognireview-metrics-") as folder:
        os.environ[METRICS_DIR_VARIABLE] = folder
        server.serve(target_loader=partial(_application, server.flag, in_each_process), wrap_loader=False)


def _application(flag: graceful_shutdown.Flag, in_each_process: Callable[[], object]) -> Callable[..., Any]:
    """Load the application in a process of the web server."""
    graceful_shutdown.set_flag(flag)
    in_each_process()
    from cognireview.wsgi import application  # noqa: PLC0415 importing it sets Django up

    return graceful_shutdown.close_connections(application)

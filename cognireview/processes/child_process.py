"""Run the web server and the job worker as children of `up`, which share the memory of the program.

The supervisor imports the program once and forks its children. Where forking is unsafe (macOS), each child
imports the program by itself. A child ends with its parent, even if the parent was killed, so the next `up`
finds no leftover process.
"""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.utils.module_loading import import_string

from cognireview.command_line import run
from cognireview.postgres import embedded
from cognireview.processes.idle_memory import set_up_heap

HOST = "127.0.0.1"
GRACE_SECONDS = 10
_POLL_SECONDS = 0.5


def preload() -> None:
    """Import the program before children are forked, if they are forked. Opens no connection."""
    if not _forks():
        return
    set_up_heap()
    django.setup()
    from procrastinate.contrib.django import app as jobs  # noqa: PLC0415 needs Django's set-up

    from cognireview.processes.web_server import preload_pages  # noqa: PLC0415 commands import this module

    # Everything but `cognireview.wsgi` and the metrics, which are for web processes only: it adds a pool to
    # the settings of the database, and they need the folder of the web server's metrics.
    jobs.perform_import_paths()  # type: ignore[no-untyped-call]
    preload_pages()
    for name in settings.MIDDLEWARE:
        if name not in settings.METRICS_MIDDLEWARE:
            import_string(name)
    import_module("cognireview.processes.job_worker")
    gc.collect()
    # The collector would write to the shared objects, which copies them.
    gc.freeze()


def start(name: str, log: Path, *arguments: int) -> BaseProcess:
    """Start the child `web`, with its port, or `worker`. Its output goes to `log`. Raises `OSError`."""
    log.parent.mkdir(exist_ok=True)
    log.open("ab").close()
    given = (name, log, os.getpid(), *arguments)
    context: Any = multiprocessing.get_context("fork" if _forks() else "spawn")
    process: BaseProcess = context.Process(target=_main, args=given, name=name)
    process.start()
    return process


def exit_with_parent(parent: int) -> None:
    """Stop this process once `parent` has died: first with SIGTERM, after a grace period by force."""
    threading.Thread(target=_watch, args=[parent], daemon=True).start()


def _forks() -> bool:
    return multiprocessing.get_start_method() == "fork"


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def _main(name: str, log: Path, parent: int, *arguments: int) -> None:
    """Run a child in the new process. It never returns to the code of its parent."""
    _detach(name, log)
    exit_with_parent(parent)
    try:
        action = partial(_serve, *arguments) if name == "web" else _work
        run(partial(_use_database, action), needs_database=False)
    except Exception:  # noqa: BLE001 multiprocessing would report it with its message
        sys.excepthook(*sys.exc_info())
        sys.exit(1)


def _use_database(action: Callable[[], None]) -> None:
    """Run `action`, and keep the embedded PostgreSQL from being stopped. The supervisor starts it."""
    if settings.ENVIRONMENT.database_url:
        action()
        return
    with embedded.running(settings.DATA_DIR, is_started=True):
        action()


def _detach(name: str, log: Path) -> None:
    """Leave the session, the signal handlers and the files of the parent."""
    # In a session of its own: Ctrl+C reaches `up` only, which then stops its children in order.
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    with Path(os.devnull).open("rb") as nothing, log.open("ab") as output:
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source.fileno(), target)
    if _forks():
        # A lock is free once no process has its file open. The limit of files may be a billion.
        for file in [*Path("/dev/fd").iterdir()]:
            if (descriptor := int(file.name)) not in range(3):
                with suppress(OSError):  # of the list itself
                    os.close(descriptor)
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/comm").write_text(process_name(name), encoding="ascii")


def process_name(name: str) -> str:
    """Return the name of a child in lists of processes, whose command line is its parent's."""
    return f"cogni-{name}"


def _serve(port: int) -> None:
    from cognireview.processes.web_server import serve  # noqa: PLC0415 the worker needs no web server

    serve(
        host=HOST,
        port=port,
        settings=settings.ENVIRONMENT,
        # No other process takes over requests. The drain only lets open connections close cleanly.
        drain_seconds=0.5,
        finish_seconds=GRACE_SECONDS,
        shares_machine=True,
        # Otherwise they would outlive their parent.
        in_each_process=partial(exit_with_parent, os.getpid()),
    )


def _work() -> None:
    from cognireview.processes import job_worker  # noqa: PLC0415 the web server needs no worker

    django.setup()
    # A fresh fork shares more memory than one that has worked.
    job_worker.work(GRACE_SECONDS, ends_after_work=_forks())

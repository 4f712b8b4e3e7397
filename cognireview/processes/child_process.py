"""Run the web server or the job worker as a child of `up`.

    python -m cognireview.processes.child_process web|worker PARENT_PID [PORT]

A child ends with its parent, even if the parent was killed, so the next `up` finds no leftover process.
"""

import os
import signal
import sys
import threading
import time
from functools import partial

import django
from django.conf import settings
from django.core.management import call_command

from cognireview.command_line import run
from cognireview.processes.supervisor import GRACE_SECONDS, HOST

_POLL_SECONDS = 0.5


def main() -> None:
    name, parent, *rest = sys.argv[1:]
    exit_with_parent(int(parent))
    run(partial(_serve, int(rest[0])) if name == "web" else _work, needs_database=True)


def exit_with_parent(parent: int) -> None:
    """Stop this process once `parent` has died: first with SIGTERM, after a grace period by force."""
    threading.Thread(target=_watch, args=[parent], daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def _serve(port: int) -> None:
    from cognireview.processes.web_server import serve  # noqa: PLC0415 the worker needs no web server

    serve(
        host=HOST,
        port=port,
        settings=settings.ENVIRONMENT,
        # No other process takes over requests. The drain only lets open connections close cleanly.
        drain_seconds=0.5,
        finish_seconds=GRACE_SECONDS,
        # Otherwise they would outlive their parent.
        in_each_process=partial(exit_with_parent, os.getpid()),
    )


def _work() -> None:
    django.setup()
    call_command("work", f"--finish={GRACE_SECONDS}")


if __name__ == "__main__":
    main()

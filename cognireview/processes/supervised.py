"""The processes that `up` keeps running: `python -m cognireview.processes.supervised web|worker PID [PORT]`.

Each of them ends when its parent does, however that died, so that no `up` finds remains of the last.
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
from cognireview.processes.web_server import serve

HOST = "127.0.0.1"
SECONDS_TO_FINISH = 10
_SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    name, parent, *rest = sys.argv[1:]
    end_with(int(parent))
    run(partial(_serve, int(rest[0])) if name == "web" else _work, needs_database=True)


def end_with(parent: int) -> None:
    """Once the process `parent` has died, ask this one to stop, and after a while make it."""
    threading.Thread(target=_watch, args=[parent], daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_FINISH)
    os._exit(1)


def _serve(port: int) -> None:
    serve(
        host=HOST,
        port=port,
        settings=settings.ENVIRONMENT,
        # Nobody else could take requests over: this is for connections that are kept to be closed in order.
        drain_seconds=0.5,
        finish_seconds=SECONDS_TO_FINISH,
        # Else they would outlive their parent.
        in_each_process=partial(end_with, os.getpid()),
    )


def _work() -> None:
    django.setup()
    call_command("work", f"--finish={SECONDS_TO_FINISH}")


if __name__ == "__main__":
    main()

"""The processes that `up` keeps running: `python -m cognireview.supervised web|worker PARENT [PORT]`.

Each of them ends when its parent does, however that died, so that no `up` finds remains of the last.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from granian import Granian
from granian.constants import Interfaces

from cognireview.command_line import run

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
    Granian(
        "cognireview.wsgi:application",
        address=HOST,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings.ENVIRONMENT.web_workers,
        blocking_threads=settings.ENVIRONMENT.web_threads,
        workers_kill_timeout=SECONDS_TO_FINISH,
        respawn_failed_workers=True,
    ).serve(target_loader=partial(_application, os.getpid()), wrap_loader=False)


def _application(parent: int) -> Callable[..., Any]:
    """Load the application in a process of the web server, which would outlive its own parent."""
    end_with(parent)
    from cognireview.wsgi import application  # noqa: PLC0415 importing it sets Django up

    return application


def _work() -> None:
    django.setup()
    call_command("procrastinate", "worker", f"--shutdown-graceful-timeout={SECONDS_TO_FINISH}")


if __name__ == "__main__":
    main()

"""Helpers for tests of real processes: a free port, and waiting for a condition."""

import socket
import time
from collections.abc import Callable

PATIENCE = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(condition: Callable[[], object], *, within: float = PATIENCE) -> bool:
    """Return whether the condition becomes true within that many seconds."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True

"""Helpers for tests of real processes: a free port, and waiting for a condition."""

import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

PATIENCE = 60


def free_port() -> int:
    """Return a port that nobody uses and that the system gives to no other connection by itself."""
    while True:
        # Tests may seed the usual generator, so that two processes would take the same port.
        port = random.SystemRandom().randrange(10_000, 32_000)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def eventually(condition: Callable[[], object], *, within: float = PATIENCE) -> bool:
    """Return whether the condition becomes true within that many seconds."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True

"""What tests of real processes need: a port that nobody has, and patience."""

import socket
import time
from collections.abc import Callable

PATIENCE = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(condition: Callable[[], object], *, within: float = PATIENCE) -> bool:
    """Whether the condition comes true in so many seconds."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True

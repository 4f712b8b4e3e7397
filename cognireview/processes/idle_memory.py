"""Return freed memory to the system while a process has nothing to do.

glibc keeps up to 64 MB of it, and more in the middle of its heaps, for the next request. A lower limit
(`MALLOC_TRIM_THRESHOLD_`) would return each large array at once: a report about the judge then spends a
third of its time on page faults.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from functools import partial

_LIBRARY = ctypes.CDLL(None)
_M_ARENA_MAX = -8
_PERIOD_SECONDS = 5
# CPU time of a period in which a process is idle, and of the work after which memory is worth looking for.
_IDLE_SECONDS, _WORK_SECONDS = 0.05, 0.2


def use_one_heap() -> None:
    """Let all threads allocate from one heap. Call it before threads start. Without glibc, do nothing.

    Otherwise each thread has a heap, and glibc returns the free end of the first one only. Python's threads
    rarely wait for each other here, because they allocate one at a time anyway.
    """
    if mallopt := getattr(_LIBRARY, "mallopt", None):
        mallopt(_M_ARENA_MAX, 1)


def trim_when_idle() -> None:
    """Start a thread that does it after work. Without glibc, do nothing."""
    if malloc_trim := getattr(_LIBRARY, "malloc_trim", None):
        trim = partial(malloc_trim, 0)
        threading.Thread(target=_trim_after_work, args=[trim, time.sleep], daemon=True).start()


def _trim_after_work(trim: Callable[[], object], sleep: Callable[[float], object]) -> None:
    trimmed = before = time.process_time()
    while True:
        sleep(_PERIOD_SECONDS)
        now = time.process_time()
        if now - before < _IDLE_SECONDS and now - trimmed > _WORK_SECONDS:
            trim()
            trimmed = time.process_time()
        before = now

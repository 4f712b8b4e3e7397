"""Freed memory returns to the system when a process is idle."""

import ctypes
import subprocess
import sys
import time

import pytest

from cognireview.processes import idle_memory

# Frees 64 MB in pieces below one that stays, so that `free` alone returns nothing.
_FREES_MEMORY = """
import ctypes
import psutil
from cognireview.processes import idle_memory

class Done(Exception): ...

def two_periods(_, left=[None, None]):
    if not left:
        raise Done
    left.pop()

library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
pieces = [library.malloc(1_000) for _ in range(64_000)]
for piece in pieces:
    ctypes.memset(piece, 1, 1_000)
library.malloc(1_000)
for piece in pieces:
    library.free(piece)
before = psutil.Process().memory_info().rss
idle_memory._WORK_SECONDS = -1
try:
    idle_memory._trim_after_work(lambda: library.malloc_trim(0), two_periods)
except Done:
    print(before - psutil.Process().memory_info().rss)
"""


def trims(monkeypatch: pytest.MonkeyPatch, cpu_times: list[float]) -> list[float]:
    """Return when memory is trimmed, in CPU time. A process has used `cpu_times` at the ends of periods."""
    now, ends, found = [0.0], iter(cpu_times), list[float]()

    def sleep(_: float) -> None:
        now[0] = next(ends)

    monkeypatch.setattr(time, "process_time", lambda: now[0])
    with pytest.raises(StopIteration):
        idle_memory._trim_after_work(lambda: found.append(now[0]), sleep)
    return found


def test_memory_is_trimmed_once_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trims(monkeypatch, [3, 5, 5.01, 5.02, 5.03]) == [5.01]


def test_memory_is_trimmed_again_after_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trims(monkeypatch, [3, 3.01, 3.02, 4, 4.01]) == [3.01, 4.01]


def test_busy_process_is_not_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trims(monkeypatch, [1, 2, 3, 4]) == []


def test_idle_process_is_not_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trims(monkeypatch, [0.01, 0.02, 0.03]) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="without glibc")
def test_freed_memory_returns_to_the_system() -> None:
    returned = subprocess.check_output([sys.executable, "-c", _FREES_MEMORY], text=True)
    assert int(returned) > 50_000_000

"""Freed memory and unused libraries return to the system when a process is idle."""

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
try:
    idle_memory._release_after_work(idle_memory._release, two_periods)
except Done:
    print(before - psutil.Process().memory_info().rss)
"""

# The page faults of arrays that are allocated and freed together, the second to the fifth time.
_REUSES_ARRAYS = """
import resource
import numpy
from cognireview.processes.idle_memory import set_up_heap

set_up_heap()
for time in range(5):
    if time == 1:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    [numpy.ones(250_000) for _ in range(20)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_SMAPS = """\
7f0000000000-7f0000003000 r-xp 00001000 fe:00 12                         /usr/lib/code.so
Anonymous:             0 kB
7f0000003000-7f0000004000 r--p 00004000 fe:00 12                         /usr/lib/code.so
Anonymous:             4 kB
7f0000004000-7f0000006000 r--p 00005000 fe:00 12                         /usr/lib/code.so
Anonymous:             0 kB
7f0000006000-7f0000007000 rw-p 00007000 fe:00 12                         /usr/lib/code.so
Anonymous:             0 kB
7f0000007000-7f0000008000 r--p 00000000 00:00 0                          [vvar]
Anonymous:             0 kB
"""
_RELEASES_LIBRARIES = """
import math
import numpy
import psutil
from cognireview.processes.idle_memory import release_libraries

numpy.linalg.inv(numpy.eye(3))
before = psutil.Process().memory_info().shared
release_libraries()
print(before - psutil.Process().memory_info().shared)
assert numpy.linalg.inv(2 * numpy.eye(3))[0, 0] == math.sqrt(0.25)
"""


def test_only_mappings_equal_to_their_file_are_released() -> None:
    first, second = 0x7F0000000000, 0x7F0000004000
    found = [(first, first + 0x3000), (second, second + 0x2000)]
    assert list(idle_memory._unchanged_mappings(_SMAPS)) == found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="without /proc")
def test_process_works_after_it_has_released_its_libraries() -> None:
    released = subprocess.check_output([sys.executable, "-c", _RELEASES_LIBRARIES], text=True)
    assert int(released) > 3_000_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="without glibc")
def test_freed_arrays_are_used_again() -> None:
    faults = subprocess.check_output([sys.executable, "-c", _REUSES_ARRAYS], text=True)
    assert int(faults) < 1_000


def releases(monkeypatch: pytest.MonkeyPatch, cpu_times: list[float]) -> list[float]:
    """Return when memory is released, in CPU time. A process has used `cpu_times` at the ends of periods."""
    now, ends, found = [0.0], iter(cpu_times), list[float]()

    def sleep(_: float) -> None:
        now[0] = next(ends)

    monkeypatch.setattr(time, "process_time", lambda: now[0])
    with pytest.raises(StopIteration):
        idle_memory._release_after_work(lambda: found.append(now[0]), sleep)
    return found


def test_memory_is_released_once_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert releases(monkeypatch, [3, 5, 5.01, 5.02, 5.03]) == [5.01]


def test_memory_is_released_again_after_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert releases(monkeypatch, [3, 3.01, 3.02, 4, 4.01]) == [3.01, 4.01]


def test_memory_of_a_busy_process_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    assert releases(monkeypatch, [1, 2, 3, 4]) == []


def test_memory_of_a_process_without_work_is_released_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert releases(monkeypatch, [0.01, 0.02, 0.03]) == [0.01]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="without glibc")
def test_freed_memory_returns_to_the_system() -> None:
    returned = subprocess.check_output([sys.executable, "-c", _FREES_MEMORY], text=True)
    assert int(returned) > 50_000_000

"""Return memory to the system while a process has nothing to do: freed memory, and libraries.

The heap keeps up to 64 MiB of freed memory, and more in its middle, for the next request. A lower limit would
return large arrays at once: a report about the judge then spends a third of its time on page faults.

A process also keeps the parts of libraries in its memory that its start or its work has used, 10 to 27 MB,
until the system needs the memory. It reads those that it uses again from the system's cache, in about 1 ms.
"""

import ctypes
import gc
import math
import mmap
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_LIBRARY = ctypes.CDLL(None)
# Numbers of options in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
# The largest allocation that glibc lets a heap have.
_LARGEST_ARRAY = 32 * 1024**2
# A mapping that is never written, of a file (its inode is not 0).
_READ_ONLY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ \S+ [1-9]", re.ASCII)
_PERIOD_SECONDS = 5
# CPU time of a period in which a process is idle, and of the work after which memory is worth looking for.
_IDLE_SECONDS, _WORK_SECONDS = 0.05, 0.2


def set_up_heap() -> None:
    """Let all threads allocate from one heap, which keeps arrays. Call it before threads start.

    Otherwise each thread has a heap, and glibc returns the free end of the first one only. Python's threads
    rarely wait for each other here, because they allocate one at a time anyway. Without glibc, do nothing.
    """
    if mallopt := getattr(_LIBRARY, "mallopt", None):
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _LARGEST_ARRAY)
        mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_ARRAY)


def release_when_idle() -> None:
    """Start a thread that returns memory in the first pause, and in pauses after work."""
    threading.Thread(target=_release_after_work, args=[_release, time.sleep], daemon=True).start()


def _release() -> None:
    gc.collect()
    if malloc_trim := getattr(_LIBRARY, "malloc_trim", None):  # only glibc has it
        malloc_trim(0)
    release_libraries()


def _release_after_work(release: Callable[[], object], sleep: Callable[[float], object]) -> None:
    released, before = -math.inf, time.process_time()
    while True:
        sleep(_PERIOD_SECONDS)
        now = time.process_time()
        if now - before < _IDLE_SECONDS and now - released > _WORK_SECONDS:
            release()
            released = time.process_time()
        before = now


def release_libraries() -> None:
    """Release the pages of libraries. Without Linux, do nothing."""
    mappings = Path("/proc/self/smaps")
    if not mappings.exists():
        return
    for start, end in _unchanged_mappings(mappings.read_text()):
        _LIBRARY.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)


def _unchanged_mappings(smaps: str) -> Iterator[tuple[int, int]]:
    """Yield the first address and the end of each read-only mapping whose pages are those of its file.

    The loader changes some pages before it makes them read-only. They are counted as anonymous.
    """
    for mapping in re.split(r"^(?=[0-9a-f]+-)", smaps, flags=re.MULTILINE):
        if (found := _READ_ONLY.match(mapping)) and re.search(r"^Anonymous: +0 kB$", mapping, re.MULTILINE):
            yield int(found[1], 16), int(found[2], 16)

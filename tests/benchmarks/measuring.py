"""Measure time and memory against a limit."""

import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

ROUNDS = 3


@dataclass(frozen=True)
class Figure:
    """A row of the table. `ratio` must be at least `least` or, if given, at most `most`."""

    name: str
    measured: str
    limit: str
    ratio: float
    least: float | None = None
    most: float | None = None

    @property
    def is_met(self) -> bool:
        return (self.least is None or self.ratio >= self.least) and (
            self.most is None or self.ratio <= self.most
        )

    def __str__(self) -> str:
        target = f"at least {self.least}" if self.most is None else f"at most {self.most}"
        missed = "" if self.is_met else "  MISSED"
        return f"{self.name:58} {self.measured:>9} {self.limit:>9} {self.ratio:7.2f}  {target}{missed}"


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternating(
    action: Callable[[], None], limit: Callable[[], None], *, before: Callable[[], None] = lambda: None
) -> tuple[float, float]:
    """Return the median seconds of both actions. Each runs once unmeasured first."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for measured, times in zip((action, limit), taken, strict=True):
            before()
            spent = seconds(measured)
            if number:
                times.append(spent)
    return median(taken[0]), median(taken[1])


def into_pipe(blocks: Iterable[bytes]) -> None:
    """Write the blocks to a process that discards them."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as drain:
        assert drain.stdin
        for block in blocks:
            drain.stdin.write(block)


def peak_memory(command: list[str]) -> float:
    """Return the peak resident memory of a process and its children in MB, as the sum of their peaks."""
    peaks: dict[int, int] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        tree = psutil.Process(process.pid)
        while process.poll() is None:
            # A process that has just ended reports no memory.
            with suppress(OSError, psutil.NoSuchProcess):
                for one in (tree, *tree.children(recursive=True)):
                    peaks[one.pid] = max(peaks.get(one.pid, 0), _peak(one.pid))
            time.sleep(0.02)
    assert process.returncode == 0, command
    return sum(peaks.values()) / 1000


def _peak(pid: int) -> int:
    """Return the peak resident memory of a process in kB as reported by the kernel; 0 if it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)

"""Parse the lines of a file into rows in separate processes.

Python runs on one core at a time, however many threads it has. The processes use neither Django nor the
database. One of them starts the others: importing what they need takes longer than parsing 500 lines. A
killed process is replaced, and a process ends with its parent.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from io import BufferedReader, BufferedWriter
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from reviews.imports.parsing import ParsedLines, ParseRequest, parse
from reviews.storage.errors import ImportRefused

# A file of so few batches is imported before a process has started.
BATCHES_WITHOUT_POOL = 2
MAX_PROCESSES = 4
# Larger chunks consist of very long lines. They are parsed one at a time, to save memory.
MAX_POOLED_BYTES = 4 * 1024**2
# Idle processes end at once. After so many seconds, they are killed.
_PATIENCE = 5
_T = TypeVar("_T")


class ParserDied(ImportRefused):
    """Two processes in a row died while parsing the same lines. The message is a sentence."""


def parse_ahead(
    batches: Iterable[_T], request: Callable[[_T], ParseRequest], *, cores: int
) -> Generator[tuple[_T, ParsedLines], None, None]:
    """Parse batches of lines ahead of the consumer, and yield each with its result.

    A request is made when its batch is about to be parsed. With one core, and for a file of few batches, no
    process is started. The consumer must close the generator.
    """
    count, left = min(cores, MAX_PROCESSES), iter(batches)
    first = [] if count == 1 else [*islice(left, BATCHES_WITHOUT_POOL + 1)]
    requests = ((batch, request(batch)) for batch in chain(first, left))
    if len(first) <= BATCHES_WITHOUT_POOL:
        yield from _parse_here(requests)
        return
    with closing(_Processes(count)) as processes:
        # The processes start meanwhile.
        yield from _parse_here(islice(requests, 1))
        yield from _parse_in(processes, requests)


def _parse_here(requests: Iterable[tuple[_T, ParseRequest]]) -> Iterator[tuple[_T, ParsedLines]]:
    for batch, work in requests:
        yield batch, parse(work)


def _parse_in(
    processes: "_Processes", requests: Iterable[tuple[_T, ParseRequest]]
) -> Iterator[tuple[_T, ParsedLines]]:
    waiting: deque[tuple[_T, Future[ParsedLines]]] = deque()
    for batch, work in requests:
        if len(work.text) > MAX_POOLED_BYTES:
            while waiting:
                yield _first(waiting)
            yield batch, parse(work)
            continue
        waiting.append((batch, processes.submit(work)))
        if len(waiting) > processes.count:
            yield _first(waiting)
    while waiting:
        yield _first(waiting)


def _first(waiting: deque[tuple[_T, Future[ParsedLines]]]) -> tuple[_T, ParsedLines]:
    batch, parsed = waiting.popleft()
    return batch, parsed.result()


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Processes:
    """A pool of parser processes, with one thread per process that waits for its result."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._all = start_processes(count)
        self._free = deque(self._all)
        self._threads = ThreadPoolExecutor(count, "parse")

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        # Our child is the first one.
        for process in reversed(self._all):
            process.close()

    def submit(self, work: ParseRequest) -> Future[ParsedLines]:
        return self._threads.submit(self._parse, work)

    def _parse(self, work: ParseRequest) -> ParsedLines:
        # Never empty: there is one process per thread.
        process = self._free.popleft()
        try:
            return process.parse(work)
        finally:
            self._free.append(process)


class _Channel(NamedTuple):
    """The pipes of a process."""

    requests: BufferedWriter
    results: BufferedReader
    #: The process, if it is our child. None for a process that was forked from our child.
    child: subprocess.Popen[bytes] | None


def start_processes(count: int) -> list["_Process"]:
    """Start one process, which imports the parser and then forks the others."""
    return [_Process(channel) for channel in _start(count)]


def _start(count: int) -> list[_Channel]:
    pipes = [(*os.pipe(), *os.pipe()) for _ in range(count - 1)]
    forked = [
        _Channel(os.fdopen(requests, "wb"), os.fdopen(results, "rb"), None)
        for _, requests, results, _ in pipes
    ]
    inner = [(requests, results) for requests, _, _, results in pipes]
    # multiprocessing would import the main module again, and does not work in daemons. The processes have
    # their own process group, so Ctrl-C reaches only their parent.
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", _program(inner)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
            pass_fds=[*chain.from_iterable(inner)],
        )
    finally:
        for end in chain.from_iterable(inner):
            os.close(end)
    assert isinstance(child.stdin, BufferedWriter)
    assert isinstance(child.stdout, BufferedReader)
    return [_Channel(child.stdin, child.stdout, child), *forked]


def _program(pipes: list[tuple[int, int]]) -> str:
    return (
        f"import sys; sys.path[:] = {sys.path!r}; from reviews.imports import parsing; parsing.main({pipes})"
    )


class _Process:
    """A process that parses one request after the other. It ends at the end of its input."""

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel

    @property
    def pid(self) -> int:
        assert self._channel.child
        return self._channel.child.pid

    def parse(self, work: ParseRequest) -> ParsedLines:
        """Parse in the process. A process that died is replaced, once. Raises `ParserDied`."""
        for _ in range(2):
            try:
                return self._parse(work)
            except (BrokenPipeError, EOFError, pickle.UnpicklingError):
                self.close()
                child = self._channel.child
                [self._channel] = _start(1)
        raise ParserDied(_death_over(work, child.returncode if child else None))

    def _parse(self, work: ParseRequest) -> ParsedLines:
        requests, results, _ = self._channel
        pickle.dump(work, requests, pickle.HIGHEST_PROTOCOL)
        requests.flush()
        parsed: ParsedLines = pickle.load(results)  # noqa: S301 (from our child process)
        return parsed

    def close(self) -> None:
        """End the process. Our child ends when those that were forked from it have ended."""
        requests, results, child = self._channel
        with suppress(BrokenPipeError):
            requests.close()
        results.close()
        if child:
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _death_over(work: ParseRequest, status: int | None) -> str:
    lines = f"lines {work.first_line:,} to {work.first_line + work.lines - 1:,}"
    return (
        f"The process that parsed {lines} died twice (status {status}), probably out of memory. "
        "Nothing was imported. Check these lines, or give the server more memory, and import again."
    )

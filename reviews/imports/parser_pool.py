"""The lines of a file made into rows, beside whoever sends those: in processes of their own.

Python runs on one core at a time, however many threads it has. These processes know no Django and no
database; one that is killed is replaced, and one whose parent is killed ends too.
"""

import os
import pickle
import resource
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import accumulate
from typing import NamedTuple, TypeVar

from reviews.records.mapping import FieldMapping
from reviews.records.schema import Limits, LineError
from reviews.storage.copy_encoding import RowKeys, content_hash, encode_line

# A file of fewer chunks is through before a process is up.
CHUNKS_WITHOUT_POOL = 4
MAX_PROCESSES = 4
# Of a few very long lines one chunk at a time is in memory.
MAX_POOLED_BYTES = 4 * 1024**2
# The address space of a process. A line that needs more is rejected.
MAX_MEMORY = 1024**3
_T = TypeVar("_T")


class ParserDied(Exception):
    """Two processes in a row died over the same lines. The message is a sentence."""


class ParseRequest(NamedTuple):
    """Some lines of a file, and where their records go.

    So many lines are split off `text`; the first has that number in the file. It `begins_inside` a line
    that is longer than `limits` allow where only the end of that is here. `mapping` says how lines are read
    that are no records as they stand.
    """

    text: bytes
    first_line: int
    lines: int
    begins_inside: bool
    target: RowKeys
    limits: Limits
    mapping: FieldMapping | None = None


class ParsedLines(NamedTuple):
    """What some lines hold. A line that is in none of these is blank.

    `records` are the number of a line, the id of its record and its content hash; the row of each ends
    in `rows` where `ends` says. `errors` are the number of a line, the field and the reason.
    """

    records: list[tuple[int, str, bytes]]
    rows: bytes
    ends: list[int]
    errors: list[tuple[int, str, str]]


def parse(work: ParseRequest) -> ParsedLines:
    """Make rows of lines."""
    records, rows, errors = [], [], []
    limits, target = work.limits, work.target
    for number, line in enumerate(work.text.split(b"\n", work.lines)[: work.lines], start=work.first_line):
        if work.begins_inside and number == work.first_line:
            reason = f"is longer than {limits.line_bytes:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)"
            errors.append((number, "", reason))
        elif line.strip():
            line_hash = content_hash(line)
            try:
                evaluation_id, row = encode_line(
                    line, limits, target, number, line_hash, mapping=work.mapping
                )
            except LineError as error:
                errors.append((number, error.field, error.reason))
            except (MemoryError, SystemError):  # orjson raises the other one, because of the first
                errors.append((number, "", "needs more memory to be read than there is for one line"))
            else:
                records.append((number, evaluation_id, line_hash))
                rows.append(row)
    return ParsedLines(records, b"".join(rows), list(accumulate(map(len, rows))), errors)


def parse_ahead(
    chunks: Iterable[tuple[_T, ParseRequest]], *, cores: int
) -> Generator[tuple[_T, ParsedLines], None, None]:
    """Parse the lines of chunks, some chunks ahead of the consumer; each comes with what it came with.

    With one core, and for a file of few chunks, no process is started. To be closed by the consumer.
    """
    processes = min(cores, MAX_PROCESSES)
    waiting: deque[tuple[_T, Future[ParsedLines]]] = deque()
    with ExitStack() as stack:
        submit = None
        for number, (chunk, work) in enumerate(chunks):
            if processes == 1 or number < CHUNKS_WITHOUT_POOL or len(work.text) > MAX_POOLED_BYTES:
                while waiting:
                    yield _first(waiting)
                yield chunk, parse(work)
                continue
            if submit is None:
                submit = stack.enter_context(closing(_Processes(processes))).submit
            waiting.append((chunk, submit(work)))
            if len(waiting) > processes:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)


def _first(waiting: deque[tuple[_T, Future[ParsedLines]]]) -> tuple[_T, ParsedLines]:
    chunk, parsed = waiting.popleft()
    return chunk, parsed.result()


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Processes:
    """So many processes, and a thread for each that hands it work and waits."""

    def __init__(self, count: int) -> None:
        self._all = [_Process() for _ in range(count)]
        self._free = deque(self._all)
        self._threads = ThreadPoolExecutor(count, "parse")

    def close(self) -> None:
        """End them, whatever they are at."""
        self._threads.shutdown(cancel_futures=True)
        for process in self._all:
            process.close()

    def submit(self, work: ParseRequest) -> Future[ParsedLines]:
        return self._threads.submit(self._parse, work)

    def _parse(self, work: ParseRequest) -> ParsedLines:
        # There is one for each thread.
        process = self._free.popleft()
        try:
            return process.parse(work)
        finally:
            self._free.append(process)


def _program() -> str:
    return (
        f"import sys; sys.path[:] = {sys.path!r}; from reviews.imports import parser_pool; parser_pool.main()"
    )


class _Process:
    """A process that parses, one chunk of work after the other. It ends when its input does."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        # Not by multiprocessing: that imports the main module again, and refuses to daemons. In a
        # process group of its own it does not get the Ctrl-C that is meant for its parent.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def parse(self, work: ParseRequest) -> ParsedLines:
        """Have it parse. A process that died is replaced by another, once. Raises `ProcessDied`."""
        try:
            return self._parse(work)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            self.close()
            self._start()
        try:
            return self._parse(work)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            self.close()
            raise ParserDied(_death_over(work, self._process.returncode)) from None

    def _parse(self, work: ParseRequest) -> ParsedLines:
        assert self._process.stdin
        assert self._process.stdout
        pickle.dump(work, self._process.stdin, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        parsed: ParsedLines = pickle.load(self._process.stdout)  # noqa: S301 (from a child of ours)
        return parsed

    def close(self) -> None:
        """End it; it has nothing of its own to lose."""
        self._process.kill()
        self._process.communicate()


def _death_over(work: ParseRequest, status: int | None) -> str:
    lines = f"lines {work.first_line:,} to {work.first_line + work.lines - 1:,}"
    return (
        f"The process that read {lines} died twice (status {status}), probably for want of memory. "
        "Nothing was imported. Look at these lines, or give the server more memory, and import again."
    )


def main() -> None:
    """Parse what comes in on standard input until that ends: what such a process does."""
    _limit_memory()
    work, done = sys.stdin.buffer, sys.stdout.buffer
    try:
        while True:
            parsed = parse(pickle.load(work))  # noqa: S301 (from our parent)
            pickle.dump(parsed, done, pickle.HIGHEST_PROTOCOL)
            done.flush()
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        # The parent is done, or dead. Nothing is left to be flushed at the end.
        os._exit(0)


def _limit_memory() -> None:
    """Have the system refuse memory beyond `MAX_MEMORY`, rather than end some process for want of it."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > MAX_MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, most))

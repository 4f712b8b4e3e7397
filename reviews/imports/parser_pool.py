"""Parse the lines of a file into rows in separate processes.

Python runs on one core at a time, however many threads it has. The processes use neither Django nor the
database. A killed process is replaced, and a process ends with its parent.
"""

import os
import pickle
import resource
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import accumulate
from typing import NamedTuple, TypeVar

from reviews.records.mapping import FieldMapping
from reviews.records.rubric import Rubric
from reviews.records.schema import Limits, LineError
from reviews.search.index_entries import (
    EncodedEntries,
    IndexEntry,
    NeedsStoredRecord,
    encode_entries,
    entry_of_values,
)
from reviews.storage.copy_encoding import EncodedLine, RowKeys, content_hash, encode_line
from reviews.storage.errors import ImportRefused

# A file of fewer chunks is imported before a process has started.
CHUNKS_WITHOUT_POOL = 2
MAX_PROCESSES = 4
# Larger chunks consist of very long lines. They are parsed one at a time, to save memory.
MAX_POOLED_BYTES = 4 * 1024**2
# Address space of a process in bytes. A line that needs more is rejected.
MAX_MEMORY = 1024**3
_T = TypeVar("_T")


class ParserDied(ImportRefused):
    """Two processes in a row died while parsing the same lines. The message is a sentence."""


class ParseRequest(NamedTuple):
    """Lines to parse."""

    text: bytes
    #: Number of the first line in the file.
    first_line: int
    #: How many lines to split off `text`.
    lines: int
    #: Whether the first line is the end of an overlong line.
    begins_inside: bool
    #: The keys of the run and the import.
    run: int
    source: int
    #: A key for the record in each line.
    keys: Sequence[int]
    limits: Limits
    mapping: FieldMapping | None = None
    #: Whether the lines are members of a document.
    is_document: bool = False
    #: The rubric of the run, to index the records by. None: the records are not indexed.
    rubric: Rubric | None = None


class ParsedLines(NamedTuple):
    """The records and errors of some lines. A line in neither list is blank."""

    #: Line number, evaluation_id and content hash of each record.
    records: list[tuple[int, str, bytes]]
    #: The encoded rows of all records, and the end of each row.
    rows: bytes
    ends: list[int]
    #: Line number, field and reason of each invalid line.
    errors: list[tuple[int, str, str]]
    #: The entries of all records. None if an entry needs its stored record.
    entries: EncodedEntries | None = None


def parse(work: ParseRequest) -> ParsedLines:
    """Parse lines into rows, and index their records."""
    records, rows, errors, limits = [], [], [], work.limits
    entries = _Entries(work.rubric)
    for number, line in enumerate(work.text.split(b"\n", work.lines)[: work.lines], start=work.first_line):
        if work.begins_inside and number == work.first_line:
            reason = f"is longer than {limits.line_bytes:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)"
            errors.append((number, "", reason))
        elif line.strip():
            line_hash = content_hash(line, is_member=work.is_document)
            keys = RowKeys(work.keys[number - work.first_line], work.run, work.source, number, line_hash)
            try:
                encoded = encode_line(line, limits, keys, mapping=work.mapping)
            except LineError as error:
                errors.append((number, error.field, error.reason))
            except (MemoryError, SystemError):  # orjson turns MemoryError into SystemError
                errors.append((number, "", "needs more memory than is available for one line"))
            else:
                records.append((number, encoded.evaluation_id, line_hash))
                rows.append(encoded.row)
                entries.add(keys.evaluation, encoded)
    return ParsedLines(records, b"".join(rows), list(accumulate(map(len, rows))), errors, entries.encoded())


class _Entries:
    """The index entries of lines, unless one of them cannot be computed here."""

    def __init__(self, rubric: Rubric | None) -> None:
        self._rubric = rubric
        self._all: list[IndexEntry] = []

    def add(self, key: int, encoded: EncodedLine) -> None:
        if self._rubric:
            try:
                self._all.append(entry_of_values(key, encoded.values, self._rubric))
            except (NeedsStoredRecord, MemoryError, SystemError):
                self._rubric = None

    def encoded(self) -> EncodedEntries | None:
        return encode_entries(self._all) if self._rubric else None


def parse_ahead(
    chunks: Iterable[tuple[_T, ParseRequest]], *, cores: int
) -> Generator[tuple[_T, ParsedLines], None, None]:
    """Parse chunks ahead of the consumer, and yield each with its result.

    With one core, and for a file of few chunks, no process is started. The consumer must close the generator.
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
    """Return the number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Processes:
    """A pool of parser processes, with one thread per process that waits for its result."""

    def __init__(self, count: int) -> None:
        self._all = [_Process() for _ in range(count)]
        self._free = deque(self._all)
        self._threads = ThreadPoolExecutor(count, "parse")

    def close(self) -> None:
        """Kill all processes."""
        self._threads.shutdown(cancel_futures=True)
        for process in self._all:
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


def _program() -> str:
    return (
        f"import sys; sys.path[:] = {sys.path!r}; from reviews.imports import parser_pool; parser_pool.main()"
    )


class _Process:
    """A process that parses one request after the other. It ends at the end of its input."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        # multiprocessing would import the main module again, and does not work in daemons. The process has
        # its own process group, so Ctrl-C reaches only its parent.
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
        """Parse in the process. A process that died is replaced, once. Raises `ParserDied`."""
        for _ in range(2):
            try:
                return self._parse(work)
            except (BrokenPipeError, EOFError, pickle.UnpicklingError):
                self.close()
                status = self._process.returncode
                self._start()
        raise ParserDied(_death_over(work, status))

    def _parse(self, work: ParseRequest) -> ParsedLines:
        assert self._process.stdin
        assert self._process.stdout
        pickle.dump(work, self._process.stdin, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        parsed: ParsedLines = pickle.load(self._process.stdout)  # noqa: S301 (from our child process)
        return parsed

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()


def _death_over(work: ParseRequest, status: int | None) -> str:
    lines = f"lines {work.first_line:,} to {work.first_line + work.lines - 1:,}"
    return (
        f"The process that parsed {lines} died twice (status {status}), probably out of memory. "
        "Nothing was imported. Check these lines, or give the server more memory, and import again."
    )


def main() -> None:
    """Parse requests from standard input until it ends. This is the main function of a parser process."""
    _limit_memory()
    work, done = sys.stdin.buffer, sys.stdout.buffer
    try:
        while True:
            parsed = parse(pickle.load(work))  # noqa: S301 (from our parent)
            pickle.dump(parsed, done, pickle.HIGHEST_PROTOCOL)
            done.flush()
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        # The parent has finished or died. There is nothing left to flush.
        os._exit(0)


def _limit_memory() -> None:
    """Let allocations beyond `MAX_MEMORY` fail, so the system does not kill a process instead."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > MAX_MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, most))

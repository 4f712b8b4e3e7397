"""Parse lines of a file into rows, and index their records. This is the program of a parser process.

It uses neither Django nor the database, and imports little, because it starts with each import of a file.
"""

import os
import pickle
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import NamedTuple

from reviews.records.mapping import FieldMapping
from reviews.records.rubric import Rubric
from reviews.records.schema import Limits, LineError
from reviews.search.index_entries import EncodedEntries, NeedsStoredRecord, encode_entry, join_entries
from reviews.search.remembered_facets import facets_by
from reviews.storage.copy_encoding import EncodedLine, RowKeys, content_hash, encode_line

# Address space of a process in bytes. A line that needs more is rejected.
MAX_MEMORY = 1024**3


class ParseRequest(NamedTuple):
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
    entries = _Entries(work.run, work.rubric)
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

    def __init__(self, run: int, rubric: Rubric | None) -> None:
        self._run = run
        self._by = facets_by(rubric) if rubric else None
        self._all: list[EncodedEntries] = []

    def add(self, key: int, encoded: EncodedLine) -> None:
        if self._by:
            try:
                self._all.append(encode_entry(key, self._run, encoded.values, self._by))
            except (NeedsStoredRecord, MemoryError, SystemError):
                self._by = None

    def encoded(self) -> EncodedEntries | None:
        return join_entries(self._all) if self._by else None


def main(pipes: Sequence[tuple[int, int]]) -> None:
    """Parse requests from standard input until it ends.

    For each pair of pipes, a forked copy reads requests from the first one and writes results to the second.
    """
    _limit_memory()
    for requests, results in pipes:
        if not os.fork():
            os.dup2(requests, sys.stdin.fileno())
            os.dup2(results, sys.stdout.fileno())
            break
    # A process that keeps the pipe of another one would hide its death.
    for pipe in chain.from_iterable(pipes):
        os.close(pipe)
    _serve()
    # The copies end with their pipes, at the same time. There is nothing left to flush.
    with suppress(ChildProcessError):
        while os.wait():
            pass
    os._exit(0)


def _serve() -> None:
    work, done = sys.stdin.buffer, sys.stdout.buffer
    # At the end of the input, the parent has finished or died.
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
        while True:
            parsed = parse(pickle.load(work))  # noqa: S301 (from our parent)
            pickle.dump(parsed, done, pickle.HIGHEST_PROTOCOL)
            done.flush()


def _limit_memory() -> None:
    """Let allocations beyond `MAX_MEMORY` fail, so the system does not kill a process instead."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > MAX_MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, most))

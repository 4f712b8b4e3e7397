"""Cut a file into chunks of about 1 MiB at line ends, and split chunks into lines.

A line is the text between two LF, whatever else is in it. A line longer than the limit is never in memory as
a whole: it is cut into chunks of its own and read back as `OVERLONG`.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO, TypeVar, overload

from reviews.storage.errors import ImportRefused

BLOCK_SIZE = 1024**2
BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{", b"[\0", b"\0[")
OVERLONG = b"\0overlong"  # no JSON line starts like this
#: How many items `map_ahead` computes before they are asked for.
AHEAD = 4
_T = TypeVar("_T")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file: whole lines, or a part of one overlong line."""

    number: int
    #: Number of the first line in the file, from 1.
    first_line: int
    #: How many lines end in the chunk. The last line of a file ends with or without a line end.
    lines: int
    data: bytes
    #: The frame that a stored chunk was read from.
    frame: bytes = field(default=b"", compare=False, repr=False)

    @property
    def breaks_off(self) -> bool:
        """Whether the chunk ends in the middle of an overlong line."""
        return not self.data.endswith(b"\n") and self.lines == self.data.count(b"\n")


class MeteredStream:
    """Pass blocks on and measure them: `size` in bytes, `sha256` in hexadecimal.

    A thread hashes the next block while the consumer works on the current one.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self._hash = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        return map_ahead(self._measured, self._blocks)

    def _measured(self, block: bytes) -> bytes:
        self._hash.update(block)
        self.size += len(block)
        return block

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def read_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Read a binary file in blocks of 1 MiB."""
    while block := file.read(BLOCK_SIZE):
        yield block


def cut_chunks(blocks: Iterable[bytes], *, line_bytes: int) -> Iterator[Chunk]:
    """Cut a stream into chunks of a block or a little more.

    Memory stays within a line of `line_bytes` and two blocks. Raises `ImportRefused` for UTF-16.
    """
    number, line, pending = 0, 1, b""
    breaks_off = False
    for block in blocks:
        pending += block
        if number == 0 and pending.startswith(_UTF16):
            raise ImportRefused("The file is UTF-16. Save it as UTF-8 and import it again.")
        end = pending.rfind(b"\n") + 1
        if not end and len(pending) > line_bytes:
            end = len(pending)
        if end and len(pending) >= BLOCK_SIZE:
            chunk = Chunk(number, line, pending.count(b"\n", 0, end), pending[:end])
            yield chunk
            number, line, pending = number + 1, line + chunk.lines, pending[end:]
            breaks_off = chunk.breaks_off
    if pending or breaks_off:
        yield Chunk(number, line, pending.count(b"\n") + (not pending.endswith(b"\n")), pending)


class ChunkLines(Sequence[bytes]):
    """The lines that end in a chunk, without LF. They are split on first access.

    `OVERLONG` replaces a line that was cut. A byte order mark at the start of the file is not part of the
    first line.
    """

    def __init__(self, chunk: Chunk, *, begins_inside: bool) -> None:
        self.chunk = chunk
        #: Whether the chunk begins inside an overlong line.
        self.begins_inside = begins_inside

    @property
    def text(self) -> bytes:
        """The unsplit text. Its first `chunk.lines` lines are the lines of the chunk."""
        return self.chunk.data if self.chunk.number else self.chunk.data.removeprefix(BOM)

    @cached_property
    def _lines(self) -> list[bytes]:
        lines = self.text.split(b"\n", self.chunk.lines)[: self.chunk.lines]
        if lines and self.begins_inside:
            lines[0] = OVERLONG
        return lines

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._lines[index]

    def __len__(self) -> int:
        return self.chunk.lines


def split_lines(chunks: Iterable[Chunk]) -> Iterator[ChunkLines]:
    """Yield the lines that end in each chunk."""
    inside = False
    for chunk in chunks:
        yield ChunkLines(chunk, begins_inside=inside)
        inside = chunk.breaks_off


def numbered_lines(blocks: Iterable[bytes], *, line_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without blank ones."""
    for lines in split_lines(cut_chunks(blocks, line_bytes=line_bytes)):
        for number, line in enumerate(lines, start=lines.chunk.first_line):
            if line.strip():
                yield number, line


def read_ahead(items: Iterable[_T]) -> Iterator[_T]:
    """Fetch the next item in a thread while the consumer works on the current one."""
    end = object()
    iterator = iter(items)
    with ThreadPoolExecutor(1, "read") as pool:
        item = pool.submit(next, iterator, end)
        while (read := item.result()) is not end:
            item = pool.submit(next, iterator, end)
            yield read  # type: ignore[misc]


def map_ahead(function: Callable[[_T], _Result], items: Iterable[_T]) -> Iterator[_Result]:
    """Apply a function to the next items in a thread while the consumer works on the current result.

    The consumer's thread fetches the items, because a database connection belongs to its thread. The thread
    is at most `AHEAD` items ahead, so it has work while the consumer waits for a query.
    """
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(1, "ahead") as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

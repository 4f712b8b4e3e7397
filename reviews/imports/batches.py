"""Divide the chunks of a file into batches of lines that are parsed and written at once."""

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from reviews.imports.parser_pool import MAX_POOLED_BYTES
from reviews.storage.chunks import BLOCK_SIZE, Chunk, ChunkLines, split_lines

# Each batch takes about ten statements, whatever its size.
ENOUGH_BYTES = 3 * BLOCK_SIZE
# A batch is about a quarter of the file before it, so that the first ones are written early, and at most
# about a quarter of the rest: while the last ones are written, nothing is left to parse.
_SHARE = 4


def make_batches(
    chunks: Iterable[Chunk], *, most_lines: int, total: float = math.inf
) -> Iterator[ChunkLines]:
    """Yield the lines that end in the chunks, at most `most_lines` at once. `total` as in `join_chunks`.

    So the rejections of one batch fit in memory.
    """
    joined = join_chunks(split_lines(chunks), total=total)
    return chain.from_iterable(split_batch(lines, most_lines) for lines in joined)


def join_chunks(chunks: Iterable[ChunkLines], *, total: float = math.inf) -> Iterator[ChunkLines]:
    """Join consecutive chunks, more of them in the middle of the file. `total` is its size, if known."""
    waiting: list[ChunkLines] = []
    before = size = 0
    for lines in chunks:
        more = len(lines.chunk.data)
        if waiting and (lines.begins_inside or size + more > MAX_POOLED_BYTES):
            yield _joined(waiting)
            before, size, waiting = before + size, 0, []
        waiting.append(lines)
        size += more
        if size >= min(ENOUGH_BYTES, before // _SHARE, (total - before) // _SHARE):
            yield _joined(waiting)
            before, size, waiting = before + size, 0, []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[ChunkLines]) -> ChunkLines:
    if len(parts) == 1:
        return parts[0]
    first, lines = parts[0].chunk, sum(part.chunk.lines for part in parts)
    text = b"".join(part.chunk.data for part in parts)
    whole = Chunk(first.number, first.first_line, lines, text)
    return ChunkLines(whole, begins_inside=parts[0].begins_inside)


def split_batch(lines: ChunkLines, most: int) -> Iterator[ChunkLines]:
    """Split a batch of very short lines into batches of at most `most` lines."""
    chunk, start, done = lines.chunk, 0, 0
    if len(lines) <= most:
        yield lines
        return
    while start < len(chunk.data):
        end = _end_of(chunk.data, start, most)
        count = min(most, chunk.lines - done)
        # Only the first batch keeps the chunk's number: chunk 0 may begin with a byte order mark.
        number = -1 if start else chunk.number
        batch = Chunk(number, chunk.first_line + done, count, chunk.data[start:end])
        yield ChunkLines(batch, begins_inside=lines.begins_inside and not start)
        start, done = end, done + count


def _end_of(data: bytes, start: int, lines: int) -> int:
    """Return the index after so many line ends, or the end of the data."""
    for _ in range(lines):
        start = data.find(b"\n", start) + 1
        if not start:
            return len(data)
    return start

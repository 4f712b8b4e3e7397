"""Batches have all lines of a file, in order."""

import pytest

from reviews.imports import batches
from reviews.imports.batches import ENOUGH_BYTES, join_chunks, split_batch
from reviews.imports.parser_pool import MAX_POOLED_BYTES
from reviews.storage.chunks import BLOCK_SIZE, OVERLONG, Chunk, ChunkLines, cut_chunks, split_lines


@pytest.mark.parametrize("data", [b"a\nb\n\nc\n", b"a\nb\n\nc\nd", b"a\n", b"\n" * 9, b"\xef\xbb\xbfa\nb\nc"])
@pytest.mark.parametrize("most", [1, 2, 3, 100])
@pytest.mark.parametrize("begins_inside", [True, False])
def test_split_batches_contain_the_lines_of_the_chunk(data: bytes, most: int, *, begins_inside: bool) -> None:
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    whole = ChunkLines(Chunk(0, 7, count, data), begins_inside=begins_inside)
    found = list(split_batch(whole, most))
    assert [one for batch in found for one in batch] == list(whole)
    assert b"".join(batch.chunk.data for batch in found) == data
    assert all(len(batch) <= most for batch in found)
    first = 7
    for batch in found:
        assert batch.chunk.first_line == first
        first += len(batch)


@pytest.mark.parametrize("end", [b"", b"\n", b"\nlast"])
def test_joined_batches_contain_the_lines_of_the_file(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "ENOUGH_BYTES", 300)
    monkeypatch.setattr(batches, "MAX_POOLED_BYTES", 400)
    texts = [b"%d" % number * 9 for number in range(90)]
    texts[30], texts[60] = b"x" * 350, b"y" * 1000
    data = b"\xef\xbb\xbf" + b"\n".join(texts) + end
    # Blocks of 100 bytes, and so the line of 1,000 bytes is cut into chunks.
    monkeypatch.setattr("reviews.storage.chunks.BLOCK_SIZE", 100)
    blocks = [data[start : start + 100] for start in range(0, len(data), 100)]
    chunks = list(cut_chunks(blocks, line_bytes=400))
    found = list(join_chunks(split_lines(chunks)))
    assert len(found) < len(chunks)
    assert b"".join(batch.chunk.data for batch in found) == data
    texts[60] = OVERLONG
    assert [line for batch in found for line in batch] == [*texts, *([b"last"] if end == b"\nlast" else [])]
    first = 1
    for batch in found:
        assert (batch.chunk.first_line, len(batch)) == (first, batch.chunk.lines)
        first += len(batch)


def test_batches_grow_with_the_file_and_are_small_at_its_end() -> None:
    data = b"x" * (BLOCK_SIZE - 1) + b"\n"
    chunks = [ChunkLines(Chunk(number, number + 1, 1, data), begins_inside=False) for number in range(40)]
    sizes = [len(batch) for batch in join_chunks(chunks)]
    assert sizes[:9] == [1, 1, 1, 1, 1, 2, 2, 3, 3]
    assert max(sizes) * BLOCK_SIZE == ENOUGH_BYTES < MAX_POOLED_BYTES
    known = [len(batch) for batch in join_chunks(chunks, total=40 * BLOCK_SIZE)]
    assert known[:9] == sizes[:9]
    assert known[-6:] == [3, 2, 2, 1, 1, 1]

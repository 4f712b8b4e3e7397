"""Storage of source files: cut into chunks and read back verbatim, whatever the blocks."""

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from reviews.models import SourceChunk
from reviews.storage import chunks, integrity, line_reader, source_files
from reviews.storage.chunks import BOM, OVERLONG, Chunk, MeteredStream, split_lines
from reviews.storage.errors import ImportRefused
from reviews.storage.integrity import ContentTotals
from tests.support.factories import ImportFactory

LIMIT = 12
SMALL_BLOCK = 8
# Mostly short lines, and sometimes one across several blocks.
lines_of_files = st.lists(st.text("ab{", max_size=5) | st.text("x", min_size=LIMIT, max_size=60), max_size=12)
files = st.builds(
    lambda bom, lines, end: (bom + end.join(lines)).encode(),
    st.sampled_from(["", "\ufeff"]),
    lines_of_files,
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)


def blocks_of(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def cut(data: bytes, size: int, *, line_bytes: int = LIMIT) -> list[Chunk]:
    with patch.object(chunks, "BLOCK_SIZE", SMALL_BLOCK):
        return list(chunks.cut_chunks(blocks_of(data, size), line_bytes=line_bytes))


def expected_lines(data: bytes) -> list[bytes]:
    """Return the lines by definition: between LF, without byte order mark, none after the last LF."""
    lines = data.split(b"\n")
    lines[0] = lines[0].removeprefix(BOM)
    return lines if lines[-1] or (len(lines) == 1 and data) else lines[:-1]


def kept(data: bytes, size: int = SMALL_BLOCK) -> Any:
    """Return an import with a stored file."""
    stored, text = ImportFactory.create(), ContentTotals()
    for _ in source_files.store_chunks(stored, cut(data, size), text):
        pass
    integrity.record_content(stored, text)
    return stored


class TestCut:
    @given(files, st.integers(1, 20))
    def test_chunks_join_to_the_file(self, data: bytes, size: int) -> None:
        assert b"".join(chunk.data for chunk in cut(data, size)) == data

    @given(files, st.integers(1, 20))
    def test_chunks_are_numbered_in_sequence(self, data: bytes, size: int) -> None:
        chunks = cut(data, size)
        assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
        assert [chunk.first_line for chunk in chunks] == [
            1 + sum(before.lines for before in chunks[:place]) for place in range(len(chunks))
        ]

    @given(files, st.integers(1, 20))
    def test_chunk_lines_are_the_lines_of_the_file(self, data: bytes, size: int) -> None:
        read = [line for lines in chunks.split_lines(cut(data, size)) for line in lines]
        expected = expected_lines(data)
        assert len(read) == len(expected)
        for line, true_line, raw in zip(read, expected, data.split(b"\n"), strict=False):
            assert line == true_line or (line is OVERLONG and len(raw) > LIMIT)

    @given(files, st.integers(1, SMALL_BLOCK))
    def test_chunk_is_no_larger_than_a_line_and_two_blocks(self, data: bytes, size: int) -> None:
        assert all(len(chunk.data) <= LIMIT + 2 * SMALL_BLOCK for chunk in cut(data, size))

    def test_endless_line_is_never_in_memory_as_a_whole(self) -> None:
        chunks = cut(b"{}\n" + b"x" * 1000 + b"\n{}\n", SMALL_BLOCK)
        assert max(len(chunk.data) for chunk in chunks) <= LIMIT + 2 * SMALL_BLOCK
        assert [line for lines in split_lines(chunks) for line in lines] == [
            b"{}",
            OVERLONG,
            b"{}",
        ]

    @pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
    def test_lines_end_at_line_feeds_only(self, separator: str) -> None:
        data = f"a{separator}b\nc".encode()
        [lines] = chunks.split_lines(cut(data, 100, line_bytes=100))
        assert list(lines) == [f"a{separator}b".encode(), b"c"]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
    @pytest.mark.parametrize("size", [1, 3, 1000])
    def test_utf_16_is_refused_by_name(self, encoding: str, size: int) -> None:
        with pytest.raises(ImportRefused, match="UTF-16"):
            cut('{"evaluation_id": "eval_1"}\n'.encode(encoding), size)

    def test_empty_file_has_no_chunks(self) -> None:
        assert cut(b"", 10) == []


@pytest.mark.django_db
class TestKeptFile:
    @pytest.mark.slow
    @examples(max_examples=12)
    @given(data=files, size=st.integers(1, 20))
    def test_stored_file_is_read_back_verbatim(self, data: bytes, size: int) -> None:
        stored = kept(data, size)
        assert list(source_files.stored_chunks(stored)) == cut(data, size)

    @pytest.mark.slow
    @examples(max_examples=12)
    @given(data=files)
    def test_stored_line_is_found_by_its_number(self, data: bytes) -> None:
        stored = kept(data)
        for number, line in enumerate(expected_lines(data), start=1):
            if len(line) + len(BOM) <= LIMIT:
                assert line_reader.LineReader().line(stored.pk, number) == line

    def test_neighbouring_lines_are_read_with_one_query(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        one, other = kept(b"a\nb\nc\nd\ne\nf\n", 4), kept(b"A\nB\nC\n", 100)
        reader = line_reader.LineReader()
        with django_assert_num_queries(2):
            read = [reader.line(stored.pk, line) for line in (1, 3, 2) for stored in (one, other)]
        assert read == [b"a", b"A", b"c", b"C", b"b", b"B"]
        assert [reader.line(one.pk, line) for line in (6, 5, 1)] == [b"f", b"e", b"a"]

    @pytest.mark.parametrize("line", [0, 4, 1000])
    def test_line_beyond_the_file_does_not_exist(self, line: int) -> None:
        stored = kept(b"a\nb\nc\n")
        with pytest.raises(SourceChunk.DoesNotExist):
            line_reader.LineReader().line(stored.pk, line)

    def test_stored_file_is_smaller_than_the_original(self) -> None:
        with patch.object(chunks, "BLOCK_SIZE", 1000):
            stored = kept(b'{"evaluation_id": "eval_1"}\n' * 1000, 1000)
        frames = SourceChunk.objects.filter(source=stored)
        assert sum(len(chunk.frame) for chunk in frames) < sum(chunk.size for chunk in frames)


def test_metered_stream_measures_its_blocks() -> None:
    meter = MeteredStream([b"ab", b"", b"c"])
    assert list(meter) == [b"ab", b"", b"c"]
    assert meter.size == 3
    assert meter.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

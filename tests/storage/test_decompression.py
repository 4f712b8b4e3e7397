"""Detection of file formats, damaged files and decompression bombs."""

import bz2
import gzip
import io
import json
import lzma
import re
import resource
import zipfile
from collections.abc import Callable, Iterator

import pytest
import zstandard
from pytest_django import Settings

from cognireview.environment import BASE_DIR, FIELDS
from reviews.exports.jsonl import Form
from reviews.imports.importer import import_stream
from reviews.records.mapping import mapping_from_json
from reviews.storage import decompression
from reviews.storage.chunks import BLOCK_SIZE
from reviews.storage.errors import ImportRefused
from reviews.storage.source_text import SourceText
from tests.support.lines import export_data, file_of, import_data, line

LINES = file_of(line("e-1"), line("e-2"))
ARRAY = b"[%b, %b]" % (line("e-1"), line("e-2"))


def unpacked(data: bytes, *, block: int = BLOCK_SIZE, most: int = 2**40) -> bytes:
    return b"".join(SourceText(blocks_of(data, block), most=most))


def zip_of(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, LINES)
    return file.getvalue()


def blocks_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


PACKED: list[Callable[[bytes], bytes]] = [gzip.compress, zstandard.compress]


class TestFormat:
    @pytest.mark.parametrize(
        "data",
        [
            LINES,
            gzip.compress(LINES),
            zstandard.compress(LINES),
        ],
        ids=["lines", "lines.gz", "lines.zst"],
    )
    @pytest.mark.parametrize("block", [1, 1000])
    def test_format_is_detected_by_content(self, data: bytes, block: int) -> None:
        assert unpacked(data, block=block) == LINES

    @pytest.mark.parametrize(
        "data",
        [ARRAY, gzip.compress(ARRAY), zstandard.compress(ARRAY), b"\xef\xbb\xbf \r\n" + ARRAY + b"\n"],
        ids=["array", "array.gz", "array.zst", "array with BOM"],
    )
    @pytest.mark.parametrize("block", [1, 1000])
    def test_array_is_detected_by_content(self, data: bytes, block: int) -> None:
        text = SourceText(blocks_of(data, block), most=2**40)
        assert (b"".join(text), text.path) == (LINES.rstrip().replace(b"\n", b"\n "), ())

    @pytest.mark.parametrize("data", [b"", b"\n", b"[1, 2]\n" + LINES, b'["a"]\n', b"[broken\n" + LINES])
    def test_jsonl_passes_unchanged(self, data: bytes) -> None:
        assert unpacked(data) == data

    @pytest.mark.parametrize("pack", PACKED)
    def test_compressed_file_may_have_several_frames(self, pack: Callable[[bytes], bytes]) -> None:
        assert unpacked(pack(LINES[:100]) + pack(b"") + pack(LINES[100:])) == LINES

    def test_gzip_file_may_be_padded(self) -> None:
        assert unpacked(gzip.compress(LINES) + bytes(3000)) == LINES

    def test_decompressed_blocks_have_one_size(self) -> None:
        data = zstandard.compress(bytes(10 * BLOCK_SIZE))
        sizes = [len(block) for block in decompression.decompress([data], most=2**40)]
        assert (sum(sizes), min(sizes) >= BLOCK_SIZE) == (10 * BLOCK_SIZE, True)


class TestBrokenFile:
    @pytest.mark.parametrize("pack", PACKED)
    def test_truncated_file_is_refused_with_its_place(self, pack: Callable[[bytes], bytes]) -> None:
        cut = pack(LINES)[:-5]
        with pytest.raises(ImportRefused, match=f"is cut off: its .* data has no end after {len(cut)} bytes"):
            unpacked(cut)

    @pytest.mark.parametrize("pack", PACKED)
    def test_trailing_data_is_refused(self, pack: Callable[[bytes], bytes]) -> None:
        packed = pack(LINES)
        place = f"is damaged: its .* data cannot be read from byte {len(packed)} on"
        with pytest.raises(ImportRefused, match=place):
            unpacked(packed + b"and so on")

    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
    def test_wrong_checksum_is_refused(self, pack: Callable[[bytes], bytes]) -> None:
        data = bytearray(pack(LINES))
        data[-6 if data.startswith(b"\x1f\x8b") else -1] ^= 1
        with pytest.raises(ImportRefused, match="is damaged"):
            unpacked(bytes(data))

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_truncated_array_is_refused_with_its_element(self, pack: Callable[[bytes], bytes]) -> None:
        with pytest.raises(ImportRefused, match="breaks off in element 2"):
            unpacked(pack(ARRAY[:-10]))

    @pytest.mark.parametrize(
        ("data", "name"),
        [(bz2.compress(LINES), "bzip2"), (lzma.compress(LINES), "xz")],
    )
    def test_unsupported_compression_is_named(self, data: bytes, name: str) -> None:
        with pytest.raises(ImportRefused, match=f"compressed with {name}"):
            unpacked(data)

    def test_archive_of_several_files_is_named(self) -> None:
        with pytest.raises(ImportRefused, match=r"a ZIP archive of 2 files: 'a\.jsonl', 'b\.jsonl'"):
            unpacked(zip_of("a.jsonl", "b.jsonl"))


class TestBomb:
    @pytest.mark.parametrize("pack", PACKED)
    def test_decompression_bomb_is_stopped_at_the_limit(self, pack: Callable[[bytes], bytes]) -> None:
        data = pack(bytes(3_000_000))
        assert len(unpacked(data, most=3_000_000)) == 3_000_000
        with pytest.raises(
            ImportRefused, match=r"more than 2,999,999 bytes \(COGNIREVIEW_MAX_UNPACKED_BYTES\)"
        ):
            unpacked(data, most=2_999_999)

    @pytest.mark.slow
    def test_decompression_bomb_takes_little_memory(self) -> None:
        frame = zstandard.compress(bytes(64 * 1024**2))
        size = 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for block in decompression.decompress([frame * 8], most=2**40):
            size += len(block)
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert size == 8 * 64 * 1024**2
        assert taken < 300 * 1024

    def test_unusual_zstd_window_is_refused(self) -> None:
        parameters = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
        compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        data = compressor.compress(LINES) + compressor.flush()
        with pytest.raises(ImportRefused, match="is damaged"):
            unpacked(data)


@pytest.mark.parametrize(
    ("file_name", "stem"),
    [
        ("evaluations.jsonl", "evaluations"),
        ("folder/Set 2.final.jsonl.gz", "Set 2.final"),
        ("a.JSON.zst", "a"),
        ("plain", "plain"),
        (" Set 2 .jsonl", "Set 2"),
        (".jsonl", ".jsonl"),
        ("", ""),
    ],
)
def test_run_name_is_the_file_name_without_endings(file_name: str, stem: str) -> None:
    assert decompression.base_name(file_name) == stem


@pytest.mark.django_db
class TestImport:
    @pytest.mark.slow
    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
    def test_array_of_any_compression_is_exported_as_array_or_as_lines(
        self, pack: Callable[[bytes], bytes]
    ) -> None:
        done = import_data(pack(ARRAY))
        assert (done.lines, done.new, done.size) == (2, 2, len(pack(ARRAY)))
        assert export_data(form=Form.DOCUMENT) == ARRAY
        assert export_data() == export_data(only_import=done) == LINES

    @pytest.mark.slow
    def test_array_and_lines_of_the_same_records_are_unchanged(self) -> None:
        import_data(LINES)
        assert import_data(gzip.compress(ARRAY)).unchanged == 2
        assert import_data(json.dumps(json.loads(ARRAY), indent=2).encode()).unchanged == 2

    def test_array_elements_are_counted_as_lines(self) -> None:
        done = import_data(b"[\n  %b,\n  17,\n  %b\n]\n" % (line("e-1"), line("e-2")))
        assert [(row["line"], row["reason"]) for row in done.listed_exceptions()] == [
            (2, "is not a JSON object but a number")
        ]


# Row of the documented table -> a file of that kind -> the refusal, or the rejected lines.
BLANK = "has a million blank lines (a hundred times that setting) and hardly any others"
DOCUMENTED: dict[str, tuple[bytes, str | list[int]]] = {
    "has 10,000 rejected lines (`COGNIREVIEW_MAX_REJECTED_LINES`) and fewer than one good line for a "
    "hundred of them": (gzip.compress(b"0\n" * 20_000), "the first 10,000 lines were rejected; line 1"),
    BLANK: (gzip.compress(b"\n" * 11_000), "10,000 of its lines are blank"),
    "has packed data that is cut off or damaged": (gzip.compress(LINES)[:-1], "after 517 bytes"),
    "is compressed with xz or bzip2": (bz2.compress(LINES), "compressed with bzip2"),
    "is a ZIP archive of several files, without a mapping that names those with records": (
        zip_of("a", "b"),
        "a ZIP archive of 2 files",
    ),
    "is a ZIP archive that is damaged, encrypted or compressed with other methods than deflate and zstd": (
        zip_of("a")[:-30],
        "that is damaged or cut off",
    ),
    "is an array that is cut off": (ARRAY[:-1], "element 2"),
    "is an array with text after it": (ARRAY + ARRAY, "text after it"),
    "is an array with an element that is no record": (b"[{}, %b]" % line("e-1"), [1]),
    "is an array with a line break inside a string": (
        ARRAY.replace(b"States", b"Sta\ntes", 1),
        [1],
    ),
}
_LIST = b'{"a": [%b]' % line("e-1")
DOCUMENTS: dict[str, tuple[bytes, str]] = {
    "is a document that is cut off, or no JSON around its list": (
        _LIST,
        "around its list at `a` is not JSON",
    ),
    "is a document without the list of the mapping": (
        _LIST.replace(b'"a"', b'"b"').replace(b", ", b",\n") + b"}",
        "without a list at `a`. It has a list of 1 object at `b`",
    ),
    "is a document with the list of the mapping twice": (_LIST + b', "a": []}', "more than one value at `a`"),
}
LIMITS = {
    "decompresses to more than 64 GiB (`COGNIREVIEW_MAX_UNPACKED_BYTES`)": FIELDS["max_unpacked_bytes"],
    "is larger than 16 GiB (`COGNIREVIEW_MAX_UPLOAD_BYTES`; browser only)": FIELDS["max_upload_bytes"],
}


class TestDocument:
    def test_documented_table_has_a_row_for_each_format(self) -> None:
        text = (BASE_DIR / "docs" / "file-outcomes.md").read_text()
        table = text.partition("| The packed file or array | Outcome |\n|---|---|\n")[2].partition("\n\n")[0]
        assert set(re.findall(r"^\| (.+?) \|", table, re.MULTILINE)) == {*DOCUMENTED, *DOCUMENTS, *LIMITS}

    @pytest.mark.parametrize("name", DOCUMENTED)
    @pytest.mark.django_db
    def test_documented_table_matches_the_outcomes(self, name: str, settings: Settings) -> None:
        data, expected = DOCUMENTED[name]
        if name == BLANK:
            assert settings.MAX_REJECTED_LINES == 10_000
            settings.MAX_REJECTED_LINES = 100
        if isinstance(expected, str):
            with pytest.raises(ImportRefused, match=expected):
                import_data(data)
        else:
            assert [row["line"] for row in import_data(data).listed_exceptions()] == expected

    @pytest.mark.parametrize("name", DOCUMENTS)
    @pytest.mark.django_db
    def test_documented_table_matches_the_outcomes_of_documents(self, name: str) -> None:
        data, expected = DOCUMENTS[name]
        how = mapping_from_json({"inherit": True, "records": "a"})
        with pytest.raises(ImportRefused, match=re.escape(expected)):
            import_stream(blocks=[data], run_name="e", file_name="e", actor=None, mapping=how)

    @pytest.mark.parametrize("name", LIMITS)
    def test_documented_table_has_the_limits(self, name: str) -> None:
        assert f"{LIMITS[name].default // 1024**3} GiB" in name

"""Files that are not JSONL are described by their first bytes, and JSONL with errors is not."""

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.storage.file_formats import LOOKED_AT, describe_format, foreign_keys, office_format
from reviews.storage.json_outline import ObjectList, outline
from tests.support.json_texts import json_texts
from tests.support.lines import line

COLUMNS = "a CSV file with the columns a, b, c, d, e, f, g, h and 2 more"


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.jsonl"))
    return file.getvalue()


def archive_of(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    return file.getvalue()


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"PAR1\x15\x04\x15\x10\x15\x14", "a Parquet file"),
        (tar(), "a tar archive"),
        (archive_of("a.jsonl"), "a ZIP archive in a compressed file"),
        (gzip.compress(b"{}", mtime=0), "a gzip file in a compressed file"),
        ("id,score\n1,Yes\n".encode("utf-16-le"), "UTF-16 text"),
        ("id,score\n1,Yes\n".encode("utf-16-be"), "UTF-16 text"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"\n <HTML lang=en>", "an HTML page"),
        (b'<?xml version="1.0"?>\n<a/>', "an XML or HTML document"),
    ],
)
def test_format_is_described(start: bytes, name: str) -> None:
    assert describe_format(start) == name


def test_sqlite_database_is_described(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE a (b)")
    database.close()
    assert describe_format((tmp_path / "a.db").read_bytes()) == "an SQLite database"


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"), "an Excel workbook (XLSX)"),
        (("[Content_Types].xml", "word/document.xml"), "a Word document (DOCX)"),
        (("a.jsonl", "folder/xl/a"), ""),
    ],
)
def test_office_document_is_distinguished_from_other_archives(names: tuple[str, ...], name: str) -> None:
    assert office_format(archive_of(*names)) == name


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"id,score\n1,Yes\n", "a CSV file with the columns id, score"),
        (b'"id","a text"\r\n1,"Yes,\nno"\r\n', "a CSV file with the columns id, a text"),
        (b"id;score\n1;2,5\n", "a CSV file with the columns id, score"),
        (b"id\tscore\n1\tYes\n", "a TSV file with the columns id, score"),
        (b"a,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,0", COLUMNS),
        (b"id,text\n" + b'1,"' + b"x" * 90_000 + b'"\n', ""),
        (b'id,text\n1,a\n2,"' + b"x" * 90_000 + b'"\n', "a CSV file with the columns id, text"),
        (b"id,score\n", ""),
        (b"id\n1\n", ""),
        (b"id,id\n1,2\n", ""),
        (b"Dear all, hello,\nthis is, a\nletter\n", ""),
    ],
)  # fmt: skip
def test_table_with_a_header_is_described_by_its_columns(start: bytes, name: str) -> None:
    assert describe_format(start) == name


DOCUMENT = {"version": 3, "results": {"stats": {"n": [1]}, "results": [{"a": [{"b": 1}]}] * 12}}


@pytest.mark.parametrize("indent", [None, 2])
def test_json_document_is_described_by_its_lists_of_objects(indent: int | None) -> None:
    text = json.dumps(DOCUMENT, indent=indent).encode()
    assert describe_format(text) == "a JSON document with a list of 12 objects at `results.results`"


def test_json_document_has_its_largest_lists_first() -> None:
    text = json.dumps({"few": [{}], "not these": [1, {}], "many ones": [{}] * 1_200}).encode()
    name = 'a JSON document with a list of 1,200 objects at `"many ones"` and a list of 1 object at `few`'
    assert describe_format(text) == name


def test_json_document_that_is_cut_off_has_at_least_the_objects_so_far() -> None:
    text = json.dumps({"results": [{"text": "x" * 1000}] * 3_000}).encode()
    assert len(text) > 2 * LOOKED_AT
    described = describe_format(text)
    objects = f"{LOOKED_AT // 1014 + 1:,} objects"
    assert described == f"a JSON document with a list of at least {objects} at `results`"
    assert describe_format(text[:LOOKED_AT]) == described


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (json.dumps({"a": 1}, indent=2).encode(), "one JSON object in several lines"),
        (json.dumps({"a": 1}, indent=2).encode() * 2, "JSON objects that take several lines each"),
    ],
)
def test_json_objects_in_several_lines_are_described(start: bytes, name: str) -> None:
    assert describe_format(start) == name


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"\n\n",
        b"no record",
        b"no record\nnor this\n",
        b"{}\n{}\n",
        b"0\n0\n",
        b"[]\n[1, 2]\n",
        b'{"a": 1\n{"b": 2\n',
        b'{"a": [{}]}\n{"a": [{}]}\n',
        b'{"a": 1}\n',
        b'{"a"',
        b'{"a": [}',
        line()[:100] + b"\nno record\n",
        b"%b\n%b\n" % (line()[:100], line()[:200]),
        b'{"a":' + b"[" * 1_000_000,
        line(human_review_status="Done", extra=[{}, {}]) + b"\n",
        line(review_reasons=[{}, {}])[:-10],
    ],
)  # fmt: skip
def test_lines_with_errors_are_not_described(start: bytes) -> None:
    assert describe_format(start) == ""


def test_mapped_line_with_a_list_is_not_described() -> None:
    text = b'{"components": [{}, {}]}\n'
    assert describe_format(text) != ""
    assert describe_format(text, is_mapped=True) == ""


@given(st.binary())
def test_any_bytes_are_accepted(start: bytes) -> None:
    describe_format(start)
    describe_format(b"{" + start)
    describe_format(b'{"a": [{' + start)
    office_format(start)


@given(json_texts)
@pytest.mark.slow
def test_outline_of_a_list_counts_its_objects(element: str) -> None:
    found = outline(b'{"a": [{"b": %b}, {}], "c": %b}' % (element.encode(), element.encode()))
    assert found
    assert found.keys == ["a", "c"]
    assert ObjectList("a", 2, is_complete=True) in found.lists


@pytest.mark.parametrize(
    ("start", "keys"),
    [
        (b'{"uid": 1, "score": [1]}\n{"other": 2}', "uid, score"),
        (b'{"a": {"b": 1}}', "a"),
        (json.dumps(dict.fromkeys("abcdefghij")).encode(), "a, b, c, d, e, f, g, h and 2 more"),
        (line() + b"\n", ""),
        (b'{"task_id": 1, "judge_llm_model": 7}', ""),
        (b"{}\n", ""),
        (b'{"a": 1', ""),
        (b"1\n", ""),
    ],
)
def test_line_of_another_tool_is_described_by_its_keys(start: bytes, keys: str) -> None:
    assert foreign_keys(start) == keys

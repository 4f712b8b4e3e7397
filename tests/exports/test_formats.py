"""Conversion of exports to CSV and Parquet, and compression."""

import csv
import gzip
import importlib.util
import io
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from reviews.exports import formats
from reviews.records.schema import FIELDS, Record
from tests.support.lines import RECORD, file_of, line

BOM = b"\xef\xbb\xbf"


def blocks(data: bytes, size: int = 700) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def csv_rows(data: bytes) -> list[list[str]]:
    text = b"".join(formats.convert(blocks(data), "csv")).decode()
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def without_apostrophes(cell: str) -> str:
    """Undo `escape_formulas` as described in docs/exports.md."""
    cell = re.sub(r"\A'(?='*[\t\r\n])", "", cell)
    skipped = r"\s\x00-\x1f\"'\u00ad\u180e\u200b-\u200f\u2060\ufeff"
    return re.sub(rf"((?:\A|[;\t\r\n])[;{skipped}]*)'(?=[=+@\uff1d\uff0b\uff0d\uff20-])", r"\1", cell)


def csv_record(text: bytes) -> dict[str, str]:
    head, row = csv_rows(file_of(text))
    return dict(zip(head, row, strict=True))


def parquet_table(data: bytes) -> Any:
    written = b"".join(formats.convert(blocks(data), "parquet"))
    return parquet.read_table(io.BytesIO(written))


class TestJsonl:
    def test_jsonl_is_exported_verbatim(self) -> None:
        data = BOM + file_of(line(), b"", b"no record")
        assert b"".join(formats.convert(blocks(data), "jsonl")) == data


class TestCsv:
    def test_csv_has_a_column_per_field_and_a_row_per_record(self) -> None:
        head, *rows = csv_rows(BOM + file_of(line("eval_a"), b"", line("eval_b"), b" ")[:-1])
        assert head == [*FIELDS, "extra", "task_context"]
        assert [row[0] for row in rows] == ["eval_a", "eval_b"]

    def test_csv_lines_end_as_in_rfc_4180(self) -> None:
        written = b"".join(formats.convert([file_of(line())], "csv"))
        assert written.count(b"\r\n") == written.count(b"\n") == 2

    def test_csv_has_json_in_json_fields(self) -> None:
        record = csv_record(line(structured_ideal_response="-1", x=[1]))
        assert json.loads(record["parsed_rubric_scores"]) == RECORD["parsed_rubric_scores"]
        assert json.loads(record["structured_ideal_response"]) == "-1"
        assert record["extra"] == '{"x":[1]}'

    def test_csv_encodes_times_booleans_and_null(self) -> None:
        record = csv_record(line(final_answer_verified=None))
        assert record["created_at"] == "2025-04-12T01:55:23.111185Z"
        assert (record["needs_human_review"], record["final_answer_verified"]) == ("true", "")

    def test_csv_distinguishes_empty_text_from_null(self) -> None:
        text = b"".join(formats.convert([file_of(line(parsing_error="", verification_message=None))], "csv"))
        [_, row] = text.decode().split("\r\n")[:2]
        assert ',"","Needs Review",' in row

    @pytest.mark.parametrize(
        "start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
    )
    def test_csv_escapes_spreadsheet_formulas_with_an_apostrophe(self, start: str) -> None:
        harmful = f'{start}HYPERLINK("http://evil.example","Pass")'
        assert csv_record(line(human_review_comments=harmful))["human_review_comments"] == f"'{harmful}"

    @pytest.mark.parametrize(
        ("text", "written"),
        [
            (" =1+1", " '=1+1"),
            ("'=1+1", "''=1+1"),
            ('"=1+1', "\"'=1+1"),
            ("\ufeff\u200b@SUM(1)", "\ufeff\u200b'@SUM(1)"),
            ("\t=1", "'\t'=1"),
            ("a;=1+1;b", "a;'=1+1;b"),
            ("a; \n \uff1d1", "a; \n '\uff1d1"),
            ("a\t-1", "a\t'-1"),
            ("- one\r\n- two", "'- one\r\n'- two"),
            ("x = 1, y - 2", "x = 1, y - 2"),
        ],
    )
    def test_csv_escapes_formulas_after_spaces_quotes_and_delimiters(self, text: str, written: str) -> None:
        assert formats.escape_formulas(text) == written

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize(
        "field", ["human_review_comments", "raw_model_response", "structured_model_response", "x"]
    )
    @given(st.text(st.sampled_from("ab1 ;\t\r\n\"',=+-@\uff1d\ufeff\\|")))
    def test_csv_has_no_formula_for_any_delimiter(self, field: str, delimiter: str, text: str) -> None:
        written = b"".join(formats.convert([line(**{field: text})], "csv")).decode()
        for row in csv.reader(io.StringIO(written, newline=""), delimiter=delimiter):
            cells = [cell.lstrip('\t\r\n "\ufeff') for cell in row]
            assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d"))] == []

    def test_csv_quotes_every_text_and_no_number(self) -> None:
        assert formats.csv_row(["a", "", None, 1, -2.5, True]) == b'"a","",,1,-2.5,true\r\n'

    @pytest.mark.slow
    @given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
    def test_csv_escapes_json_without_changing_its_value(self, text: str) -> None:
        record = csv_record(line(structured_model_response={"a": [text]}, x=text))
        assert json.loads(record["structured_model_response"]) == {"a": [text]}
        assert json.loads(record["extra"]) == {"x": text}

    def test_csv_escapes_ids(self) -> None:
        assert csv_record(line("=1+1", task_id=b"-7"))["evaluation_id"] == "'=1+1"
        assert csv_record(line("=1+1", task_id=b"-7"))["task_id"] == "'-7"

    @pytest.mark.slow
    @given(
        st.one_of(st.text(), st.text(st.sampled_from("a ;\t\r\n\"'=-"))).filter(lambda text: "\0" not in text)
    )
    def test_csv_is_reversible_by_removing_apostrophes(self, comment: str) -> None:
        assert without_apostrophes(formats.escape_formulas(comment)) == comment


class TestParquet:
    def test_parquet_has_typed_columns(self) -> None:
        schema = parquet_table(file_of(line())).schema
        types = {field.name: str(field.type) for field in schema}
        assert [*types] == [*Record._fields, "scores"]
        assert (types["evaluation_id"], types["raw_judge_output"]) == ("string", "string")
        assert (types["needs_human_review"], types["created_at"]) == ("bool", "timestamp[us, tz=UTC]")
        assert types["review_reasons"].startswith("list<")

    def test_parquet_has_the_values(self) -> None:
        [row] = parquet_table(file_of(line(final_answer_verified=None, x=[1]))).to_pylist()
        assert (row["evaluation_id"], row["task_id"]) == ("eval_1", "4711")
        assert (row["needs_human_review"], row["final_answer_verified"]) == (True, None)
        assert row["created_at"] == datetime(2025, 4, 12, 1, 55, 23, 111185, tzinfo=UTC)
        assert json.loads(row["structured_model_response"]) == {"final_answer": "1/2"}
        assert row["review_reasons"] == RECORD["review_reasons"]
        assert row["extra"] == '{"x":[1]}'

    def test_parquet_has_no_reasons_as_an_empty_list(self) -> None:
        assert parquet_table(file_of(line(review_reasons=[])))["review_reasons"].to_pylist() == [[]]

    def test_parquet_has_scores_of_judge_and_reviewer_per_criterion(self) -> None:
        judge = {"Clarity": {"score": "Yes", "justification": "a"}, "Depth": {"score": 3}}
        human = {"Clarity": {"score": "No", "justification": "b"}, "Brevity": "odd"}
        [row] = parquet_table(
            file_of(line(parsed_rubric_scores=judge, human_corrected_scores=human))
        ).to_pylist()
        names = ("criterion", "judge", "judge_justification", "human", "human_justification")
        assert [tuple(score[name] for name in names) for score in row["scores"]] == [
            ("Clarity", "Yes", "a", "No", "b"),
            ("Depth", "3", None, None, None),
            ("Brevity", None, None, "odd", None),
        ]

    def test_parquet_has_scores_that_are_extracted_from_raw_output(self) -> None:
        [row] = parquet_table(file_of(line(parsed_rubric_scores={}))).to_pylist()
        [score] = row["scores"]
        assert (score["criterion"], score["judge"], score["human"]) == ("Clarity", "Yes", None)
        assert row["parsed_rubric_scores"] == "{}"

    def test_parquet_keeps_the_order_across_row_groups(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(formats, "ROW_GROUP_BYTES", 2500)
        ids = [f"eval_{number}" for number in range(9)]
        data = file_of(*map(line, ids))
        written = b"".join(formats.convert(blocks(data), "parquet"))
        file = parquet.ParquetFile(io.BytesIO(written))
        assert file.num_row_groups > 2
        assert file.read(columns=["evaluation_id"])["evaluation_id"].to_pylist() == ids

    def test_empty_parquet_is_a_table_without_rows(self) -> None:
        assert parquet_table(b"").num_rows == 0

    def test_parquet_without_pyarrow_names_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
        assert [name for name in formats.ENDINGS if formats.is_installed(name)] == [
            "jsonl",
            "json",
            "zip",
            "csv",
        ]
        with pytest.raises(formats.PackageMissing, match="pip install pyarrow"):
            formats.convert([], "parquet")


class TestTables:
    @pytest.mark.parametrize("name", ["csv", "parquet"])
    def test_tables_contain_records_imported_under_wider_limits(self, name: str) -> None:
        wide = line("x" * 5000, extra=[[[[]]]])
        assert b"".join(formats.convert([wide], name))


class TestCompression:
    @pytest.mark.parametrize(
        ("file_name", "compression"),
        [("a.jsonl", ""), ("a.jsonl.gz", "gzip"), ("A.CSV.GZ", "gzip"), ("a.zst", "zstd"), ("gz", "")],
    )
    def test_compression_follows_the_file_name(self, file_name: str, compression: str) -> None:
        assert formats.compression_for_name(file_name) == compression

    def test_compression_is_reversible(self) -> None:
        data = file_of(*map(line, "abc"))
        packed = {name: b"".join(formats.compress(blocks(data), name)) for name in ("", "gzip", "zstd")}
        assert packed[""] == gzip.decompress(packed["gzip"]) == data
        assert zstandard.ZstdDecompressor().decompressobj().decompress(packed["zstd"]) == data

    @pytest.mark.parametrize("name", ["gzip", "zstd"])
    def test_compression_is_deterministic(self, name: str) -> None:
        assert len({b"".join(formats.compress([line()], name)) for _ in range(2)}) == 1

    def test_compressed_empty_file_is_valid(self) -> None:
        assert gzip.decompress(b"".join(formats.compress([], "gzip"))) == b""

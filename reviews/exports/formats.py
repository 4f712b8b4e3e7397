"""Convert exported JSONL to CSV or Parquet, and compress it, as streams of blocks.

Both tables have one row per record, with the 23 fields under their own names, `extra` and `task_context`.
Blank lines are omitted. Neither table can be imported again: docs/exports.md lists the losses.
"""

import datetime as dt
import importlib
import importlib.util
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import zstandard

from reviews.records.schema import Record
from reviews.records.score_extraction import extract_scores
from reviews.records.translation import read_whole_line
from reviews.storage.chunks import BOM
from reviews.storage.copy_encoding import JSON_FIELDS

ENDINGS = {"jsonl": ".jsonl", "json": ".json", "zip": ".zip", "csv": ".csv", "parquet": ".parquet"}
# The formats of imported files. The others are tables.
OF_LINES = ("jsonl", "json", "zip")
COMPRESSION_ENDINGS = {"": "", "gzip": ".gz", "zstd": ".zst"}
CONTENT_TYPES = {
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".zip": "application/zip",
    ".eval": "application/zip",
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
}
ROW_GROUP_BYTES = 16 * 1024**2
_CSV_BLOCK_BYTES = 1024**2

_JSON_FIELDS = set(JSON_FIELDS)
_TEXTS_FIELDS = {"review_reasons"}
_BOOLEAN_FIELDS = {"final_answer_verified", "needs_human_review"}
_TIMESTAMP_FIELDS = {"human_review_timestamp", "created_at"}


class PackageMissing(Exception):
    """A format needs a package that is not installed. The message says how to install it."""


def compression_for_name(file_name: str) -> str:
    """Return the compression that the ending of a file name stands for."""
    endings = {ending: name for name, ending in COMPRESSION_ENDINGS.items() if ending}
    return next((name for ending, name in endings.items() if file_name.lower().endswith(ending)), "")


def is_installed(format_name: str) -> bool:
    return format_name != "parquet" or importlib.util.find_spec("pyarrow") is not None


def check_installed(format_name: str) -> None:
    """Raise `PackageMissing` if the format cannot be written."""
    if not is_installed(format_name):
        raise PackageMissing(
            "Parquet needs the package pyarrow, which is not installed here: "
            "uv sync --extra parquet, or python -m pip install pyarrow."
        )


def convert(jsonl: Iterable[bytes], format_name: str) -> Iterator[bytes]:
    """Convert JSONL of records to a format, a key of `ENDINGS`. Raises `PackageMissing`."""
    check_installed(format_name)
    return _CONVERTERS[format_name](jsonl)


def compress(blocks: Iterable[bytes], compression: str) -> Iterator[bytes]:
    """Compress a stream, by a key of `COMPRESSION_ENDINGS`. The same input gives the same output."""
    if not compression:
        yield from blocks
        return
    if compression == "gzip":
        compressor: Any = zlib.compressobj(wbits=31)
    else:
        compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    for block in blocks:
        yield compressor.compress(block)
    yield compressor.flush()


def _lines(jsonl: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines that are not blank."""
    pending, first = b"", True
    for block in jsonl:
        lines = (pending + (block.removeprefix(BOM) if first else block)).split(b"\n")
        first, pending = False, lines.pop()
        yield from filter(bytes.strip, lines)
    if pending.strip():
        yield pending


def _groups(jsonl: Iterable[bytes], size: int) -> Iterator[list[Record]]:
    """Yield records in groups of at least `size` bytes of JSONL."""
    group: list[Record] = []
    taken = 0
    for line in _lines(jsonl):
        group.append(read_whole_line(line))
        taken += len(line)
        if taken >= size:
            yield group
            group, taken = [], 0
    if group:
        yield group


def json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


# CSV: RFC 4180


# A spreadsheet executes a cell that begins with one of these signs, also in full width.
_SIGNS = "=+@\uff1d\uff0b\uff0d\uff20-"
# Characters that it may skip before the sign: space, quotes and zero-width characters.
_SKIPPED = r"\s\x00-\x1f\"'\u00ad\u180e\u200b-\u200f\u2060\ufeff"
# The beginning of a cell: of the text, or inside it for programs that split cells differently, as
# spreadsheets do in some countries. Possessive, so the time is linear in the length of the text.
_CELL_BEGIN = re.compile(rf"(\A|[;\t\r\n])([;{_SKIPPED}]*+)([{_SIGNS}]?)")
# A leading tab or line end. It includes the apostrophes before it, so adding one more is reversible.
_LEADING_TAB = re.compile(r"'*[\t\r\n]")


def _csv(jsonl: Iterable[bytes]) -> Iterator[bytes]:
    yield csv_row(Record._fields)
    for group in _groups(jsonl, _CSV_BLOCK_BYTES):
        yield b"".join(csv_row(map(_csv_value, Record._fields, record)) for record in group)


def csv_row(values: Iterable[str | float | None]) -> bytes:
    """Encode a row of CSV. Texts are quoted and safe for spreadsheets, and null is empty."""
    return (",".join(map(_cell, values)) + "\r\n").encode()


def escape_formulas(text: str) -> str:
    """Insert an apostrophe before each sign that begins a spreadsheet formula, and before a leading tab.

    Removing these apostrophes restores the text (docs/exports.md).
    """
    marked = _CELL_BEGIN.sub(lambda begin: f"{begin[1]}{begin[2]}'{begin[3]}" if begin[3] else begin[0], text)
    return f"'{marked}" if _LEADING_TAB.match(text) else marked


class _Plain(str):
    """A text that needs no escaping except quotes."""

    __slots__ = ()


def _csv_value(name: str, value: Any) -> str | bool | None:
    if value is None or isinstance(value, bool):
        return value
    if name in _JSON_FIELDS:
        return json_cell(value)
    return time_cell(value) if isinstance(value, dt.datetime) else str(value)


def json_cell(value: Any) -> str:
    """Return a JSON value as the text of a cell. Signs of formulas are escaped: they are inside strings."""
    text = _CELL_BEGIN.sub(
        lambda begin: (
            f"{begin[1]}{begin[2]}\\u{ord(begin[3]):04x}" if begin[3] and begin[1] + begin[2] else begin[0]
        ),
        json_text(value),
    )
    return _Plain(text)


def time_cell(moment: dt.datetime) -> str:
    """Return a time in UTC as the text of a cell."""
    return _Plain(moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = value if isinstance(value, _Plain) else escape_formulas(value)
    return '"{}"'.format(text.replace('"', '""'))


# Parquet


def _parquet(jsonl: Iterable[bytes]) -> Iterator[bytes]:
    # Dictionary encoding of unique long texts costs memory and saves nothing.
    ids = [name for name in Record._fields if name.endswith("_id") or name.startswith("judge_")]
    schema = _schema(importlib.import_module("pyarrow"))
    yield from write_parquet(schema, map(_columns, _groups(jsonl, ROW_GROUP_BYTES)), use_dictionary=ids)


def write_parquet(schema: Any, batches: Iterable[Iterable[list[Any]]], **options: Any) -> Iterator[bytes]:
    """Write batches of columns as Parquet, with further options of `ParquetWriter`."""
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    drain = Drain()
    with parquet.ParquetWriter(drain, schema, compression="zstd", **options) as writer:
        for columns in batches:
            arrays = [
                pyarrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
            yield drain.taken()
    yield drain.taken()


def _schema(pyarrow: Any) -> Any:
    """Return the column types: the fields of a record, and a list with the scores of each criterion."""
    text = pyarrow.string()
    types = dict.fromkeys(_BOOLEAN_FIELDS, pyarrow.bool_())
    types |= dict.fromkeys(_TIMESTAMP_FIELDS, pyarrow.timestamp("us", tz="UTC"))
    types |= dict.fromkeys(_TEXTS_FIELDS, pyarrow.list_(text))
    names = ("criterion", "judge", "judge_justification", "human", "human_justification")
    scores = pyarrow.list_(pyarrow.struct([(name, text) for name in names]))
    return pyarrow.schema([*((name, types.get(name, text)) for name in Record._fields), ("scores", scores)])


def _columns(records: list[Record]) -> Iterator[list[Any]]:
    for name, column in zip(Record._fields, zip(*records, strict=True), strict=True):
        if name in _JSON_FIELDS - _TEXTS_FIELDS:
            yield [None if value is None else json_text(value) for value in column]
        else:
            yield list(column)
    yield [_scores(record) for record in records]


def _scores(record: Record) -> list[dict[str, str | None]]:
    """Return the scores of judge and reviewer for each criterion, in the judge's order.

    Where the pipeline parsed no scores, the judge's are extracted from the raw output, as at import.
    """
    judge, human = record.parsed_rubric_scores or _extracted(record), record.human_corrected_scores or {}
    return [
        {
            "criterion": criterion,
            "judge": _part(judge, criterion, "score"),
            "judge_justification": _part(judge, criterion, "justification"),
            "human": _part(human, criterion, "score"),
            "human_justification": _part(human, criterion, "justification"),
        }
        for criterion in dict.fromkeys([*judge, *human])
    ]


def _extracted(record: Record) -> dict[str, Any]:
    proposals = extract_scores(record.raw_judge_output).proposals
    return {one.criterion: {"score": one.score, "justification": one.justification} for one in proposals}


def _part(scores: dict[str, Any], criterion: str, part: str) -> str | None:
    """Return one value of a criterion as text. The scores of a file may have any shape."""
    judged = scores.get(criterion)
    value = judged.get(part) if isinstance(judged, dict) else judged if part == "score" else None
    return score_text(value)


def score_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


class Drain:
    """A writable file whose bytes are removed as they are written."""

    closed = False

    def __init__(self) -> None:
        self._blocks: list[bytes] = []

    def write(self, data: Any) -> int:
        self._blocks.append(bytes(data))
        return len(self._blocks[-1])

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def taken(self) -> bytes:
        taken, self._blocks = b"".join(self._blocks), []
        return taken


_CONVERTERS: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "jsonl": iter,
    "json": iter,
    "zip": iter,
    "csv": _csv,
    "parquet": _parquet,
}

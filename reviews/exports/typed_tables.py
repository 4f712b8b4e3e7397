"""Write rows with declared columns as JSONL, CSV or Parquet, as streams of blocks."""

import datetime as dt
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import orjson

from reviews.exports import formats

FORMATS = ("jsonl", "csv", "parquet")
Kind = Literal["text", "integer", "number", "boolean", "time", "texts", "scores"]
Row = Mapping[str, Any]
_ROWS = 5_000


class Column(NamedTuple):
    """A column. Every value may be null."""

    name: str
    #: The type: "texts" is a list of texts, and "scores" a list of objects with the members `SCORE_PARTS`.
    kind: Kind


#: The members of a score. In Parquet they are texts, and JSON for other values than texts.
SCORE_PARTS = ("criterion", "judge", "human", "final")


def write_table(rows: Iterable[Row], columns: Sequence[Column], format_name: str) -> Iterator[bytes]:
    """Write rows, column name -> value, in one of `FORMATS`. Raises `formats.PackageMissing`.

    Times are aware datetimes. CSV has cells that are safe for spreadsheets.
    """
    formats.check_installed(format_name)
    return _WRITERS[format_name](_batches(rows), columns)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _ROWS)):
        yield batch


def _jsonl(batches: Iterable[list[Row]], columns: Sequence[Column]) -> Iterator[bytes]:
    for batch in batches:
        yield b"".join(
            orjson.dumps({name: _json_value(row[name]) for name, _ in columns}) + b"\n" for row in batch
        )


def _json_value(value: Any) -> Any:
    return str(formats.time_cell(value)) if isinstance(value, dt.datetime) else value


def _csv(batches: Iterable[list[Row]], columns: Sequence[Column]) -> Iterator[bytes]:
    yield formats.csv_row(name for name, _ in columns)
    for batch in batches:
        yield b"".join(formats.csv_row(_csv_value(row[name]) for name, _ in columns) for row in batch)


def _csv_value(value: Any) -> str | float | None:
    if isinstance(value, dt.datetime):
        return formats.time_cell(value)
    return formats.json_cell(value) if isinstance(value, list) else value


def _parquet(batches: Iterable[list[Row]], columns: Sequence[Column]) -> Iterator[bytes]:
    pyarrow = importlib.import_module("pyarrow")
    schema = pyarrow.schema([(name, _arrow_type(pyarrow, kind)) for name, kind in columns])
    data = ([[_arrow_value(row[name], kind) for row in batch] for name, kind in columns] for batch in batches)
    yield from formats.write_parquet(schema, data)


def _arrow_type(pyarrow: Any, kind: Kind) -> Any:
    text = pyarrow.string()
    types: dict[Kind, Any] = {
        "text": text,
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "texts": pyarrow.list_(text),
        "scores": pyarrow.list_(pyarrow.struct([(name, text) for name in SCORE_PARTS])),
    }
    return types[kind]


def _arrow_value(value: Any, kind: Kind) -> Any:
    if kind != "scores" or value is None:
        return value
    return [{name: formats.score_text(score[name]) for name in SCORE_PARTS} for score in value]


_WRITERS: dict[str, Callable[[Iterable[list[Row]], Sequence[Column]], Iterator[bytes]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
}

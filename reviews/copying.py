"""Rows into PostgreSQL by COPY: what the importer writes in bulk."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import orjson
from django.db import connection
from django.db.models import Model
from psycopg import sql

from reviews.merge import Incoming
from reviews.models import Evaluation, Import, ImportLine
from reviews.record import Record

_JSON_PLACES = tuple(
    place
    for place, name in enumerate(Record._fields)
    if Evaluation._meta.get_field(name).get_internal_type() == "JSONField"
)


_JSONB_VERSION = b"\x01"

_PLACE_COLUMNS = (
    "run_id",
    "first_import_id",
    "first_line",
    "source_import_id",
    "source_line",
    "content_hash",
)
_LINE_COLUMNS = ("source_id", "line", "outcome", "field", "reason", "evaluation_id")


class _Table:
    """A table to copy rows into, in PostgreSQL's binary format: nothing to escape on either side."""

    def __init__(self, model: type[Model], columns: tuple[str, ...]) -> None:
        self.columns = columns
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        table = sql.Identifier(model._meta.db_table)
        self.statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(table, names)
        self._fields = [model._meta.get_field(name) for name in columns]

    def copy(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write the rows; JSON is to come as `binary_json`. All of them or an exception."""
        with connection.cursor() as cursor, cursor.copy(self.statement) as copy:
            copy.set_types([self._type(field) for field in self._fields])
            for row in rows:
                copy.write_row(row)

    @staticmethod
    def _type(field: Any) -> str:
        kind: str = field.db_type(connection)
        return "bytea" if kind == "jsonb" else kind.partition("(")[0]


EVALUATIONS = _Table(Evaluation, (*_PLACE_COLUMNS, *Record._fields))
_IMPORT_LINES = _Table(ImportLine, _LINE_COLUMNS)


def binary_json(value: Any) -> bytes:
    """JSON as PostgreSQL takes a jsonb in binary."""
    return _JSONB_VERSION + orjson.dumps(value)


def text_json(value: Any) -> str:
    """JSON as text."""
    return orjson.dumps(value).decode()


def row_values(record: Record, spelled: Callable[[Any], bytes | str] = text_json) -> list[Any]:
    """The mirrored columns of a record in `Record` order, its JSON as `spelled`."""
    values: list[Any] = list(record)
    for place in _JSON_PLACES:
        if values[place] is not None:
            values[place] = spelled(values[place])
    return values


def copy_new(target: Import, records: Collection[Incoming]) -> None:
    """Write records as new evaluations of the import's run. All of them or an exception."""
    if records:
        EVALUATIONS.copy(
            (
                target.run_id,
                target.pk,
                incoming.line,
                target.pk,
                incoming.line,
                incoming.content_hash,
                *row_values(incoming.record, binary_json),
            )
            for incoming in records
        )


def copy_import_lines(lines: Collection[ImportLine]) -> None:
    """Write what became of lines that are no new records."""
    if lines:
        _IMPORT_LINES.copy(
            (line.source_id, line.line, str(line.outcome), line.field, line.reason, line.evaluation_id)
            for line in lines
        )

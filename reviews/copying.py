"""Rows into PostgreSQL by COPY: what the importer writes in bulk."""

from collections.abc import Iterable
from typing import Any

import orjson
from django.db import connection
from psycopg import sql

from reviews.merge import Incoming
from reviews.models import Evaluation, Import, ImportLine
from reviews.record import Record

_JSON_PLACES = tuple(
    place
    for place, name in enumerate(Record._fields)
    if Evaluation._meta.get_field(name).get_internal_type() == "JSONField"
)


def _copy_statement(table: str, columns: Iterable[str]) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)


_PLACE_COLUMNS = (
    "run_id",
    "first_import_id",
    "first_line",
    "source_import_id",
    "source_line",
    "content_hash",
)
_COPY_EVALUATIONS = _copy_statement("evaluation", (*_PLACE_COLUMNS, *Record._fields))
_COPY_IMPORT_LINES = _copy_statement(
    "import_line", ("source_id", "line", "outcome", "field", "reason", "evaluation_id")
)


def row_values(record: Record) -> list[Any]:
    """The mirrored columns of a record in `Record` order, its JSON as text."""
    values: list[Any] = list(record)
    for place in _JSON_PLACES:
        if values[place] is not None:
            values[place] = orjson.dumps(values[place]).decode()
    return values


def copy_new(target: Import, records: Iterable[Incoming]) -> None:
    """Write records as new evaluations of the import's run. All of them or an exception."""
    _copy(
        _COPY_EVALUATIONS,
        (
            (
                target.run_id,
                target.pk,
                incoming.line,
                target.pk,
                incoming.line,
                incoming.content_hash,
                *row_values(incoming.record),
            )
            for incoming in records
        ),
    )


def copy_import_lines(lines: Iterable[ImportLine]) -> None:
    """Write what became of lines that are no new records."""
    _copy(
        _COPY_IMPORT_LINES,
        (
            (line.source_id, line.line, line.outcome, line.field, line.reason, line.evaluation_id)
            for line in lines
        ),
    )


def _copy(statement: sql.Composed, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)

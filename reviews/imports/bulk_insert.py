"""Insert the rows of an import in bulk, by COPY."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, LiteralString

import psycopg
from django.db import connection
from django.db.models import Model
from psycopg import sql

from reviews.database.statements import fetch_all
from reviews.imports.reconcile import IncomingRecord
from reviews.models import Evaluation, EvaluationFacets, EvaluationWords, ImportLine
from reviews.search.index_entries import FACET_COLUMNS, WORD_COLUMNS, EncodedEntries
from reviews.storage import copy_encoding

_LINE_COLUMNS = (
    "source_id",
    "line",
    "lines",
    "outcome",
    "field",
    "reason",
    "evaluation_id",
    "first_import_id",
    "first_line",
)
_LINE_TYPES = ["int8", "int8", "int8", "varchar", "varchar", "text", "int8", "int8", "int8"]


def copy_statement(model: type[Model], columns: tuple[str, ...]) -> sql.Composed:
    """Return a COPY statement in PostgreSQL's binary format, which needs no escaping."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    table = sql.Identifier(model._meta.db_table)
    return sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(table, names)


COPY_EVALUATIONS = copy_statement(Evaluation, copy_encoding.COLUMNS)
_COPY_IMPORT_LINES = copy_statement(ImportLine, _LINE_COLUMNS)
_COPY_FACETS = copy_statement(EvaluationFacets, FACET_COLUMNS)
_COPY_WORDS = copy_statement(EvaluationWords, WORD_COLUMNS)
_RESERVE = "SELECT nextval('evaluation_id_seq') FROM generate_series(1, %s)"


def execute_with_bound_parameters(statement: LiteralString, parameters: Sequence[Any]) -> None:
    """Execute a statement with server-side parameters, for parameters that contain file contents.

    Django's cursors interpolate parameters into the statement. If a full disk stops the server, PostgreSQL
    logs the current statement whatever its settings.
    """
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, parameters)


def insert_evaluations(records: Collection[IncomingRecord]) -> None:
    if records:
        _copy_rows(COPY_EVALUATIONS, [record.row for record in records])


def insert_entries(entries: EncodedEntries) -> None:
    _copy_rows(_COPY_FACETS, [entries.facets])
    _copy_rows(_COPY_WORDS, [entries.words])


def _copy_rows(statement: sql.Composed, rows: Iterable[bytes | memoryview]) -> None:
    """Insert rows that are encoded for a binary COPY."""
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"".join((copy_encoding.COPY_HEADER, *rows, copy_encoding.COPY_TRAILER)))


def reserve_keys(count: int) -> list[int]:
    """Return keys for new evaluations, in ascending order."""
    return [key for (key,) in fetch_all(_RESERVE, [count])]


def insert_import_lines(lines: Collection[ImportLine]) -> None:
    """Insert the outcomes of lines that are not new records."""
    if lines:
        with connection.cursor() as cursor, cursor.copy(_COPY_IMPORT_LINES) as copy:
            copy.set_types(_LINE_TYPES)
            for line in lines:
                place = (line.source_id, line.line, line.lines)
                outcome = (str(line.outcome), line.field, line.reason)
                copy.write_row((*place, *outcome, line.evaluation_id, line.first_import_id, line.first_line))

"""Compile queries of Django's ORM once, for statements that every request sends.

Compiling a statement takes longer than all other work of Python on it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BooleanField, JSONField, Model, QuerySet, prefetch_related_objects
from django.db.models.expressions import RawSQL
from django.db.models.query import get_related_populators
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from psycopg.sql import Literal

Row = TypeVar("Row", bound=Model)


class _Parameter(str):
    """The name of a parameter, in place of its value."""

    __slots__ = ()


def parameter(name: str) -> RawSQL:
    """Return the expression for a value that `CompiledQuery.rows` gets under this name."""
    return RawSQL("%s", [_Parameter(name)])


def is_any_of(column: str, name: str) -> RawSQL:
    """Return the condition that a column has one of the values of the parameter with this name, a list."""
    return RawSQL(f"{column} = ANY(%s)", [_Parameter(name)], output_field=BooleanField())  # noqa: S611 (a constant)


def with_constants(
    statement: str, values: Sequence[Any], *, parameters: Collection[Any]
) -> tuple[str, list[Any]]:
    """Write the values into a statement, but for those in `parameters`. Return it with these in their order.

    A plan that is kept for all values of a parameter cannot use a partial index whose condition is on it.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    [first, *rest], written = statement.split("%s"), []
    for value, text in zip(values, rest, strict=True):
        is_parameter = value in parameters
        literal = "%s" if is_parameter else Literal(value).as_string(connection.connection).replace("%", "%%")
        written += [literal, text]
    return "".join([first, *written]), [value for value in values if value in parameters]


class _Converters:
    """The functions that turn values of some columns of a row into those of Django's fields."""

    def __init__(self, expressions: list[Any]) -> None:
        compiler = SQLCompiler(Query(None), connections[DEFAULT_DB_ALIAS], DEFAULT_DB_ALIAS)
        self._by_column = [
            (column, _read_json if _is_plain_json(expression) else function, expression)
            for column, (functions, expression) in compiler.get_converters(expressions).items()
            for function in functions
        ]

    def convert(self, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """Return the rows with converted values."""
        if not self._by_column:
            return list(rows)
        connection, converted = connections[DEFAULT_DB_ALIAS], list(map(list, rows))
        for column, function, expression in self._by_column:
            for row in converted:
                row[column] = function(row[column], expression, connection)
        return converted


def _is_plain_json(expression: Any) -> bool:
    field = expression.output_field
    return type(field) is JSONField and field.decoder is None


def _read_json(value: str | None, *_: Any) -> Any:
    """Read JSON faster than `JSONField`. Integers beyond 64 bits become floats, as which files have them."""
    return None if value is None else orjson.loads(value)


Values = Sequence[Any]
_Create = Callable[[Values], Any]


def _creator(queryset: QuerySet[Any], compiler: Any) -> _Create:
    """Return the function that creates a row from its values: an instance, or a dict after `values()`."""
    if selected := queryset.query.selected:
        names = list(selected)
        return lambda values: dict(zip(names, values, strict=True))
    described = compiler.klass_info
    columns, from_db = described["select_fields"], described["model"].from_db
    own = slice(columns[0], columns[-1] + 1)
    names = [expression.target.attname for expression, *_ in compiler.select[own]]
    related = get_related_populators(described, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotations = tuple(compiler.annotation_col_map.items())

    def create(values: Values) -> Any:
        row = from_db(DEFAULT_DB_ALIAS, names, values[own])
        for one in related:
            one.populate(values, row)
        for name, column in annotations:
            setattr(row, name, values[column])
        return row

    return create


class _Compiled(NamedTuple):
    create: _Create
    converters: _Converters
    sql: str
    values: tuple[Any, ...]


class CompiledQuery(Generic[Row]):
    """A query that is compiled when it is first used, and not again.

    `build` returns the query, with a `parameter` for each value that differs from use to use.
    """

    def __init__(self, build: Callable[[], QuerySet[Row]]) -> None:
        self._build = build

    def rows(self, **values: Any) -> list[Row]:
        """Load the rows for these values of the parameters."""
        found = self.create(self.load(**values))
        if lookups := self.queryset._prefetch_related_lookups:  # type: ignore[attr-defined]  # noqa: SLF001
            prefetch_related_objects(found, *lookups)
        return found

    def load(self, **values: Any) -> list[tuple[Any, ...]]:
        """Load the rows as tuples of the values that PostgreSQL returns. `create` makes rows of them."""
        connection = connections[DEFAULT_DB_ALIAS]
        try:
            compiled = self._compiled
        except EmptyResultSet:  # a condition that no row can fulfil
            return []
        if self.queryset.query.select_for_update and not connection.in_atomic_block:
            raise TransactionManagementError
        given = [values[one] if isinstance(one, _Parameter) else one for one in compiled.values]
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, given)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def create(self, loaded: Iterable[Values]) -> list[Row]:
        """Return the rows that `load` has loaded, without the rows that the query prefetches."""
        compiled = self._compiled
        return [compiled.create(row) for row in compiled.converters.convert(loaded)]

    def first(self, **values: Any) -> Row | None:
        """Return the only row for these values, if there is one."""
        return next(iter(self.rows(**values)), None)

    @cached_property
    def queryset(self) -> QuerySet[Row]:
        """The query with its parameters, to derive another one from it."""
        return self._build()

    @cached_property
    def _compiled(self) -> _Compiled:
        compiler = self.queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, values = compiler.as_sql()
        converters = _Converters([expression for expression, *_ in compiler.select])
        return _Compiled(_creator(self.queryset, compiler), converters, sql, tuple(values))


class CompiledStatement(Generic[Row]):
    """A statement whose columns are those of a model, and more that become attributes of its rows."""

    def __init__(self, model: type[Row], statement: str) -> None:
        self._model, self._statement = model, statement
        self._names: list[str] = []

    def rows(self, values: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        """Load the rows for these values of the placeholders."""
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(self._statement, values)
            # PostgreSQL describes the columns with each answer, but they stay the same.
            self._names = self._names or [column.name for column in cursor.description]
            found = cursor.fetchall()
        return [
            self._model.from_db(DEFAULT_DB_ALIAS, self._names, row) for row in self._converters.convert(found)
        ]

    @cached_property
    def _converters(self) -> _Converters:
        """The converters of the model's columns, once the names are known."""
        fields = {field.attname: field for field in self._model._meta.concrete_fields}
        table = self._model._meta.db_table
        return _Converters([fields[name].get_col(table) if name in fields else None for name in self._names])

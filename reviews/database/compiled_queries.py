"""Compile queries of Django's ORM once, for statements that every request sends.

Compiling a statement takes longer than all other work of Python on it.
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet
from django.db.models.expressions import RawSQL
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


class _Compiled(NamedTuple):
    compiler: SQLCompiler
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
        compiled, connection = self._compiled, connections[DEFAULT_DB_ALIAS]
        if self.queryset.query.select_for_update and not connection.in_atomic_block:
            raise TransactionManagementError
        given = tuple(values[one] if isinstance(one, _Parameter) else one for one in compiled.values)
        compiler: Any = copy(compiled.compiler)
        compiler.connection = connection
        compiler.as_sql = lambda *_, **__: (compiled.sql, given)
        rows: Any = self.queryset.all()
        rows.query.get_compiler = lambda *_, **__: compiler
        return list(rows)

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
        return _Compiled(compiler, sql, tuple(values))

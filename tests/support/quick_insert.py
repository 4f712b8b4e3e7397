"""Insert rows by statements that are written once for each set of columns.

Django compiles a statement for each row, which takes about as long as all other work on the row.
"""

from functools import cache
from itertools import compress
from typing import Any

from django.db import connection
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault

from reviews.database.statements import fetch_one


def insert(row: Model) -> None:
    """Insert a new row, and set its key and the columns that the database fills in. Sends no signals."""
    model: Any = type(row)
    fields = _fields(model)
    values = [field.pre_save(row, add=True) for field in fields]
    # The database fills in the others.
    given = tuple(
        not isinstance(value, DatabaseDefault) and (value is not None or not field.primary_key)
        for field, value in zip(fields, values, strict=True)
    )
    sql, filled_in = _statement(model, given)
    parameters = [
        field.get_db_prep_save(value, connection)
        for field, value in compress(zip(fields, values, strict=True), given)
    ]
    vars(row).update(zip(filled_in, fetch_one(sql, parameters) or (), strict=True))
    row._state.adding, row._state.db = False, connection.alias


@cache
def _fields(model: Any) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if not field.generated]


@cache
def _statement(model: Any, given: tuple[bool, ...]) -> tuple[str, list[str]]:
    """Return the statement with the given columns, and the attributes that it returns."""
    key, fields = model._meta.pk, list(compress(_fields(model), given))
    filled_in = [key, *(field for field in model._meta.db_returning_fields if field is not key)]
    assert not any(hasattr(field, "from_db_value") for field in filled_in), "Django converts such values"
    names, returned = (", ".join(f'"{field.column}"' for field in some) for some in (fields, filled_in))
    values = ", ".join(["%s"] * len(fields))
    sql = f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({values}) RETURNING {returned}'
    return sql, [field.attname for field in filled_in]

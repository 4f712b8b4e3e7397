"""The first migration creates each table with its columns, indexes and constraints in one step."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.operations import AddField, RunPython
from django.db.models import Model, TextField

from cognireview.postgres.created_tables import CreateTables

MODELS = [*apps.get_app_config("reviews").get_models()]


@pytest.mark.django_db
@pytest.mark.parametrize("model", MODELS, ids=[model.__name__ for model in MODELS])
def test_table_has_the_columns_indexes_and_constraints_of_its_model(model: type[Model]) -> None:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        columns = {column.name for column in connection.introspection.get_table_description(cursor, table)}
        made = connection.introspection.get_constraints(cursor, table)
    assert columns == {field.column for field in model._meta.concrete_fields}
    assert {one.name for one in (*model._meta.indexes, *model._meta.constraints)} <= {*made}
    references = {one["columns"][0] for one in made.values() if one["foreign_key"]}
    assert references == {
        field.column
        for field in model._meta.concrete_fields
        if field.remote_field and getattr(field, "db_constraint", False)
    }


def test_operation_that_creates_no_table_is_refused() -> None:
    CreateTables([AddField("Run", "colour", TextField())])
    with pytest.raises(TypeError, match="only tables are created here"):
        CreateTables([RunPython(RunPython.noop)])

"""Migrations are safe while the previous version still serves.

docs/upgrading.md lists the rules. They hold from FIRST on: the migrations before it create an empty database.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations import AddField, Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddIndex, RunSQL
from django.db.models import Index, IntegerField, TextField
from django_migration_linter import MigrationLinter
from django_migration_linter.sql_analyser.analyser import analyse_sql_statements

FIRST = "0003"
# Accepted findings of the linter: (migration, code of the finding) -> why it is safe.
ACCEPTED: dict[tuple[str, str], str] = {}
OURS = sorted(path.stem for path in Path("reviews/migrations").glob("0*.py") if path.stem >= FIRST)


def findings(migration: Migration, statements: list[str]) -> dict[str, str]:
    """Return the changes that could break the previous version or block its queries: code -> message."""
    linter = MigrationLinter(no_cache=True, no_output=True, include_apps=["reviews"])
    of_sql = analyse_sql_statements(linter.sql_analyser_class, statements)
    of_data = linter.analyse_data_migration(migration)
    found = [*of_sql[0], *of_sql[2], *of_data[0], *of_data[2]]
    return {issue.code: issue.message for issue in found if (migration.name, issue.code) not in ACCEPTED}


def statements_of(migration: Migration) -> list[str]:
    loader = MigrationLoader(connection)
    state = loader.project_state(migration.dependencies)
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state, editor, collect_sql=True)
    return [statement for statement in editor.collected_sql if not statement.startswith("--")]


@pytest.mark.django_db
class TestMigration:
    @pytest.mark.parametrize("name", OURS)
    def test_migration_keeps_the_previous_version_working(self, name: str) -> None:
        migration = MigrationLoader(connection).get_migration("reviews", name)
        assert findings(migration, statements_of(migration)) == {}

    @pytest.mark.parametrize("name", OURS)
    def test_migration_locks_at_most_one_table(self, name: str) -> None:
        # Two locked tables can deadlock with a request.
        migration = MigrationLoader(connection).get_migration("reviews", name)
        altered = re.findall(r'ALTER TABLE "(\w+)" (?:ADD|ALTER) COLUMN', "\n".join(statements_of(migration)))
        assert len(set(altered)) <= 1

    @pytest.mark.parametrize(
        ("operation", "code"),
        [
            (AddField("Run", "colour", TextField(default="")), "NOT_NULL"),
            (RunSQL("ALTER TABLE run DROP COLUMN name"), "DROP_COLUMN"),
            (RunSQL("ALTER TABLE run RENAME COLUMN name TO title"), "RENAME_COLUMN"),
            (RunSQL("DROP TABLE draft"), "DROP_TABLE"),
            (AddIndex("Evaluation", Index(fields=["task_id"], name="by_task")), "CREATE_INDEX"),
        ],
    )
    def test_unsafe_operation_is_reported(self, operation: Any, code: str) -> None:
        assert code in findings(*self.with_one(operation))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "operation",
        [
            AddField("Run", "colour", TextField(null=True)),
            AddField("Run", "colour", IntegerField(db_default=0)),
            RunSQL(
                "CREATE INDEX CONCURRENTLY by_task ON evaluation (task_id)", "DROP INDEX CONCURRENTLY by_task"
            ),
        ],
    )
    def test_safe_operation_is_accepted(self, operation: Any) -> None:
        assert findings(*self.with_one(operation)) == {}

    def with_one(self, operation: Any) -> tuple[Migration, list[str]]:
        """Make a next migration that consists of one operation, and its statements."""
        [last] = MigrationLoader(connection).graph.leaf_nodes("reviews")
        migration = Migration("9999_next", "reviews")
        vars(migration).update(operations=[operation], dependencies=[last])
        return migration, statements_of(migration)


@pytest.mark.django_db
def test_migrations_form_one_line() -> None:
    assert len(MigrationExecutor(connection).loader.graph.leaf_nodes("reviews")) == 1

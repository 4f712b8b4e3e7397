"""Migrations go in while the version before still serves: what it reads and writes stays, and nobody waits.

docs/upgrading.md says what that asks of a migration. It holds from FIRST on; those before came in one piece.
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

FIRST = "0016"
# What the linter finds and somebody looked at: (migration, code of the finding) -> why it is right.
LOOKED_AT: dict[tuple[str, str], str] = {
    ("0021_file_order", "ADD_UNIQUE"): "the column is new and empty, and nobody but the trigger writes it",
    ("0020_frame_checksums", "NOT_NULL"): "columns of a table that is new",
    ("0020_frame_checksums", "DROP_TABLE"): "on the way back only",
    ("0020_frame_checksums", "DROP_COLUMN"): "on the way back only",
    ("0019_retention", "CREATE_INDEX"): "only imports write to import_line, and a new partial index is empty",
}
OURS = sorted(path.stem for path in Path("reviews/migrations").glob("0*.py") if path.stem >= FIRST)


def findings(migration: Migration, statements: list[str]) -> dict[str, str]:
    """What could break the version that still serves, or make people wait: code -> message."""
    linter = MigrationLinter(no_cache=True, no_output=True, include_apps=["reviews"])
    of_sql = analyse_sql_statements(linter.sql_analyser_class, statements)
    of_data = linter.analyse_data_migration(migration)
    found = [*of_sql[0], *of_sql[2], *of_data[0], *of_data[2]]
    return {issue.code: issue.message for issue in found if (migration.name, issue.code) not in LOOKED_AT}


def statements_of(migration: Migration) -> list[str]:
    loader = MigrationLoader(connection)
    state = loader.project_state(migration.dependencies)
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state, editor, collect_sql=True)
    return [statement for statement in editor.collected_sql if not statement.startswith("--")]


@pytest.mark.django_db
class TestAMigration:
    @pytest.mark.parametrize("name", OURS)
    def test_leaves_the_version_before_at_work(self, name: str) -> None:
        migration = MigrationLoader(connection).get_migration("reviews", name)
        assert findings(migration, statements_of(migration)) == {}

    @pytest.mark.parametrize("name", OURS)
    def test_takes_one_table_away_from_people_at_most(self, name: str) -> None:
        # With two, it may wait for somebody who waits for it.
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
    def test_would_be_stopped_here(self, operation: Any, code: str) -> None:
        assert code in findings(*self.with_one(operation))

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
    def test_may_add_what_nobody_has_to_know(self, operation: Any) -> None:
        assert findings(*self.with_one(operation)) == {}

    def with_one(self, operation: Any) -> tuple[Migration, list[str]]:
        """A migration that would come next, with this operation alone."""
        [last] = MigrationLoader(connection).graph.leaf_nodes("reviews")
        migration = Migration("9999_next", "reviews")
        vars(migration).update(operations=[operation], dependencies=[last])
        return migration, statements_of(migration)


@pytest.mark.django_db
def test_there_is_one_line_of_migrations() -> None:
    assert len(MigrationExecutor(connection).loader.graph.leaf_nodes("reviews")) == 1

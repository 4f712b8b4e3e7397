"""A migrated database has the functions, triggers and storage settings of reviews/database/sql."""

import re
from pathlib import Path

import pytest

from cognireview.environment import BASE_DIR
from reviews.database.statements import execute, fetch_all

FILES = sorted((BASE_DIR / "reviews/database/sql").glob("*.sql"))
FUNCTIONS = """
    SELECT oid::regprocedure::text, pg_get_functiondef(oid) || coalesce(array_to_string(proacl, ','), '')
    FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND proname NOT LIKE 'procrastinate%'
"""
TRIGGERS = """
    SELECT tgname || ' ON ' || tgrelid::regclass, pg_get_triggerdef(pg_trigger.oid)
    FROM pg_trigger
    WHERE NOT tgisinternal AND tgrelid::regclass::text NOT LIKE 'procrastinate%'
      AND tgname NOT LIKE 'audit_check%' -- only in the tests' database
"""
STORAGE = """
    SELECT relname || '.' || attname, attstorage::text || coalesce(array_to_string(reloptions, ','), '')
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
"""
COMMENT_OR_BODY = re.compile(r"--[^\n]*|\$\$.*?\$\$", re.DOTALL)


def definitions(*queries: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for query in queries:
        found |= dict(fetch_all(query))
    return found


def drop_all() -> None:
    """Drop our functions and triggers, and what storage.sql sets."""
    execute("DROP SCHEMA audit_check CASCADE")  # its triggers read columns that are dropped below
    for name in definitions(TRIGGERS):
        execute(f"DROP TRIGGER {name}")
    execute("ALTER TABLE evaluation DROP COLUMN has_answer, DROP COLUMN blind_position")
    for name in definitions(FUNCTIONS):
        execute(f"DROP FUNCTION IF EXISTS {name} CASCADE")
    execute("DROP TABLE cache")
    execute("ALTER TABLE evaluation RESET (autovacuum_vacuum_scale_factor)")
    execute("ALTER TABLE source_chunk ALTER COLUMN frame SET STORAGE EXTENDED")


@pytest.mark.django_db
def test_migrated_database_equals_the_sql_files() -> None:
    migrated = definitions(FUNCTIONS, TRIGGERS, STORAGE)
    drop_all()
    assert not definitions(FUNCTIONS, TRIGGERS)
    for path in sorted(FILES, key=lambda path: path.stem != "has_answer"):
        execute(path.read_text())
    made = definitions(FUNCTIONS, TRIGGERS, STORAGE)
    # The generated columns were dropped with their functions.
    del migrated["evaluation.has_answer"], migrated["evaluation.blind_position"]
    assert made == migrated


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sql_file_says_what_it_keeps_and_who_reads_it(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("-- ")
    triggers = re.findall(r"CREATE (?:CONSTRAINT )?TRIGGER", COMMENT_OR_BODY.sub("", text))
    assert not triggers or "fired" in text.partition("CREATE")[0].lower()

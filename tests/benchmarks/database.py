"""Prepare and reset the database between measurements."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection, transaction
from psycopg import sql

from reviews.database.statements import execute
from reviews.imports import bulk_insert, importer
from reviews.models import Evaluation, Import, User
from reviews.storage import chunks, copy_encoding

RUN = "benchmark"

# Skips the triggers of append-only tables.
_EMPTY = """
    SET session_replication_role = replica;
    TRUNCATE run CASCADE;
    RESET session_replication_role;
"""
_MULTIPLY = """
    INSERT INTO evaluation (evaluation_id, first_line, {columns})
    SELECT evaluation_id || '-' || copy, first_line + copy * 10000000::bigint, {columns}
    FROM evaluation, generate_series(1, %s) AS copy
"""
_REVIEW_EVERY_THIRD = """
    WITH decided AS (
        INSERT INTO review (evaluation_id, run_id, version, reviewer_id, submitted_at, corrected_scores,
                            comments, origins, causes, submission)
        SELECT id, run_id, 1, %s, now(), parsed_rubric_scores, 'Checked against the reference.', '{}', '{}',
               gen_random_uuid()
        FROM evaluation WHERE first_line %% 3 = 0
        RETURNING id, evaluation_id, submitted_at, corrected_scores, comments
    )
    UPDATE evaluation
    SET review_id = decided.id, version = version + 1, human_review_status = 'Completed',
        human_reviewer_id = 'ana', human_review_timestamp = decided.submitted_at,
        human_corrected_scores = decided.corrected_scores, human_review_comments = decided.comments
    FROM decided WHERE evaluation.id = decided.evaluation_id
"""
# Reclaims the space of the rows, so each measurement starts from the same table.
_REMOVE = """
    DELETE FROM evaluation_words USING evaluation JOIN run ON run.id = run_id
        WHERE evaluation.id = evaluation_words.evaluation_id AND run.name = %(run)s;
    DELETE FROM evaluation_facets USING evaluation JOIN run ON run.id = run_id
        WHERE evaluation.id = evaluation_facets.evaluation_id AND run.name = %(run)s;
    DELETE FROM evaluation USING run WHERE run.id = run_id AND run.name = %(run)s;
    DELETE FROM source_chunk USING import JOIN run ON run.id = run_id
        WHERE import.id = source_id AND run.name = %(run)s;
    DELETE FROM import_sums USING import JOIN run ON run.id = run_id
        WHERE import.id = source_id AND run.name = %(run)s;
"""


def empty() -> None:
    """Remove all runs."""
    execute(_EMPTY)
    execute("CHECKPOINT")


def remove_records() -> None:
    """Remove the records of the measured run and keep other runs."""
    execute(_REMOVE, {"run": RUN})
    for table in ("evaluation", "evaluation_facets", "evaluation_words", "source_chunk"):
        execute(f"VACUUM {table}")
    execute("CHECKPOINT")


def import_path(file: Path, *, run: str = RUN) -> Import:
    with file.open("rb") as opened, transaction.atomic():
        return importer.import_stream(
            blocks=chunks.read_blocks(opened), run_name=run, file_name=file.name, actor=None
        )


def save_rows(path: Path) -> None:
    """Write the rows of all records in the importer's COPY format."""
    columns = sql.SQL(", ").join(map(sql.Identifier, copy_encoding.COLUMNS))
    select = sql.SQL("COPY (SELECT {} FROM evaluation ORDER BY id) TO STDOUT (FORMAT BINARY)").format(columns)
    with path.open("wb") as file, connection.cursor() as cursor, cursor.copy(select) as copy:
        for block in copy:
            file.write(block)


def copy_rows(path: Path) -> None:
    """Copy saved rows into the table and nothing else."""
    rows_in = bulk_insert.COPY_EVALUATIONS
    with path.open("rb") as file, connection.cursor() as cursor, cursor.copy(rows_in) as copy:
        for block in chunks.read_blocks(file):
            copy.write(block)


def multiply(copies: int) -> None:
    """Copy each record `copies` times, with new ids and positions."""
    columns = [field.column for field in Evaluation._meta.concrete_fields if not field.generated]
    plain = [name for name in columns if name and name not in {"id", "evaluation_id", "first_line"}]
    execute(_MULTIPLY.format(columns=", ".join(plain)), [copies])
    execute("VACUUM ANALYZE evaluation")


def review_every_third() -> None:
    """Decide every third record as a reviewer would, in one statement."""
    reviewer, _ = User.objects.get_or_create(username="ana")
    execute(_REVIEW_EVERY_THIRD, [reviewer.pk])
    execute("VACUUM ANALYZE evaluation")
    execute("CHECKPOINT")


def copy_database(copy: str) -> None:
    name = connection.settings_dict["NAME"]
    with using("postgres"):
        execute(f"CREATE DATABASE {copy} TEMPLATE {name}")


def drop_database(name: str) -> None:
    execute(f"DROP DATABASE {name}")


@contextmanager
def using(database: str) -> Iterator[None]:
    """Connect to another database of the same server."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before

"""Databases that are backed up and restored, and their state."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from cognireview.postgres import embedded
from tests.support.commands import Completed

Commands = Callable[..., Completed]
RUNS = ("Algebra", "Geometry", "Physics")
FILL = f"""
from reviews.models import Evaluation
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide
for name in {RUNS}:
    import_data(file_of(*(line(f"eval_{{number}}", task_id=str(number)) for number in range(10))), run=name)
ana = UserFactory.create(username="ana", role="reviewer")
for record in Evaluation.objects.order_by("pk")[:13]:
    decide(record, ana)
"""
COUNTS = "3 runs, 30 records, 13 decisions, 1 account"
STATE = f"""
from hashlib import sha256
from django.core.management import call_command
from reviews.exports import jsonl
from reviews.models import Run
call_command("verify_audit")
for name in {RUNS}:
    print(sha256(b"".join(jsonl.export_lines(Run.objects.get(name=name)))).hexdigest())
"""


def connect(data_dir: Path, name: str = embedded.DATABASE) -> psycopg.Connection[Any]:
    place = embedded.connection_settings(data_dir)
    return psycopg.connect(
        dbname=name, user=place["USER"], host=place["HOST"], port=place["PORT"], autocommit=True
    )


def succeeded(done: Completed) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def state(run: Commands) -> list[str]:
    """The observable state of a database: the head of its valid hash chain and the digests of its exports."""
    lines = succeeded(run("shell", "--no-imports", "-c", STATE)).splitlines()
    assert len(lines) == 2 + len(RUNS)
    return lines


# Do not compare SQL: PostgreSQL rewrites some conditions when a dump is restored.
DEFINED = """
    SELECT 'relation', relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
        FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, contype::text
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'trigger', tgrelid::regclass || '.' || tgname, tgenabled::text
        FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', oid::regprocedure::text, concat(prosecdef, proconfig, prosrc)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


def definitions(data_dir: Path, name: str = embedded.DATABASE) -> set[tuple[str, str, str]]:
    """Every table, column, index, constraint, trigger and function."""
    with connect(data_dir, name) as opened:
        return set(opened.execute(DEFINED).fetchall())


def names(data_dir: Path) -> set[str]:
    with connect(data_dir) as opened:
        return {name for (name,) in opened.execute("SELECT name FROM run")}

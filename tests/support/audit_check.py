"""Find transactions of the program that write to a domain table and leave no audit event.

Find also those that change ratings, or the state, of a record without an event of it: figures about the judge
stay cached for records that no event names (`reviews/judge/figure_cache.py`). An event without a record is
enough.

Triggers in the tests' database note each table that a transaction writes to, and these records. The check
reads the notes before each commit of a transaction that the program began. Writes by tests and their
factories are not checked.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.transaction import Atomic
from psycopg.pq import TransactionStatus

EVENTS = "audit_event"
# Tables whose rows need no event, grouped by reason.
EXEMPT_TABLES = {
    "the audit log itself": {"audit_seal"},
    "derived from other tables": {
        "cause_mention",
        "criterion_day",
        "evaluation_facets",
        "evaluation_words",
        "facet_count",
        "import_sums",
        "rating",
        "rating_cell",
        "notified_events",
        "queue_filled",
        "reason_count",
        "record_day",
        "reviewer_day",
        "run_count",
        "run_facet",
        "stratum",
        "stratum_count",
        "unindexed_import",
    },
    "a step of an upload or a job, which leaves events": {
        "export_part",
        "export_progress",
        "import_progress",
        "upload_part",
    },
    "the response to a request, which leaves its own event": {"repeatable_request"},
    "saved dozens of times for one review, which leaves an event": {"draft"},
    "the error of a job, which the program's log has, too": {"job_error"},
    "kept for 90 days as a record of its own": {"notification", "webhook_delivery", "webhook_attempt"},
}
# Columns whose changes need no event.
EXEMPT_COLUMNS = {
    "api_token": {"last_used_at"},
    "evaluation": {"claim_is_prefetched", "claimed_until"},
    # The figures of a built file, which the event of the finished export has.
    "export": {"lines", "lines_changed", "lines_left_out", "sha256", "size"},
    "person": {"last_login", "password"},
    # The last part leaves the event of the import.
    "upload": {"changed_at", "chunked", "offset"},
}
# Tables whose expired rows are removed without an event.
EXEMPT_DELETIONS = {"one_time_link", "upload"}

_FUNCTION = """
    CREATE SCHEMA audit_check;
    CREATE FUNCTION audit_check.note_write() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        noted text := coalesce(current_setting('audit_check.writes', true), '');
        exempt text[] := coalesce(TG_ARGV, '{}'); -- null for a trigger without arguments
    BEGIN
        IF strpos(noted || ' ', ' ' || TG_TABLE_NAME || ' ') > 0 THEN
            RETURN NULL;
        ELSIF TG_OP <> 'UPDATE' OR to_jsonb(NEW) - exempt IS DISTINCT FROM to_jsonb(OLD) - exempt THEN
            -- Undone with the savepoint or the transaction, as the write itself.
            PERFORM set_config('audit_check.writes', noted || ' ' || TG_TABLE_NAME, false);
        END IF;
        RETURN NULL;
    END $$;
"""
# A note is the run and the record of a change, or of an event; 0 for an event without a record. Ratings of a
# deleted record are ignored.
_RECORDS = """
    CREATE FUNCTION audit_check.note_record() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        noted text := coalesce(current_setting('audit_check.records', true), '');
        record bigint;
        run bigint;
        note text;
    BEGIN
        IF TG_TABLE_NAME = 'evaluation' THEN
            record := NEW.id;
            run := NEW.run_id;
        ELSIF TG_TABLE_NAME = 'audit_event' THEN
            record := coalesce(NEW.evaluation_id, 0);
            run := NEW.run_id;
        ELSE
            record := coalesce(NEW.evaluation_id, OLD.evaluation_id);
            run := (SELECT run_id FROM evaluation WHERE id = record);
        END IF;
        note := TG_ARGV[0] || ':' || run || '/' || record;
        IF strpos(noted || ' ', ' ' || note || ' ') = 0 THEN
            PERFORM set_config('audit_check.records', noted || ' ' || note, false);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER audit_check_records AFTER INSERT ON audit_event
    FOR EACH ROW EXECUTE FUNCTION audit_check.note_record('event');
    CREATE TRIGGER audit_check_records AFTER INSERT OR UPDATE OR DELETE ON rating
    FOR EACH ROW EXECUTE FUNCTION audit_check.note_record('changed');
    CREATE TRIGGER audit_check_records AFTER UPDATE ON evaluation FOR EACH ROW WHEN (
        (OLD.human_review_status, OLD.review_id, OLD.was_shown, OLD.has_answer, OLD.needs_human_review,
         OLD.is_sampled, OLD.judge_llm_model, OLD.judge_prompt_template_path, OLD.model_id, OLD.task_id)
        IS DISTINCT FROM
        (NEW.human_review_status, NEW.review_id, NEW.was_shown, NEW.has_answer, NEW.needs_human_review,
         NEW.is_sampled, NEW.judge_llm_model, NEW.judge_prompt_template_path, NEW.model_id, NEW.task_id)
    ) EXECUTE FUNCTION audit_check.note_record('changed');
"""
_TRIGGER = """
    CREATE TRIGGER audit_check AFTER {operations} ON {table}
    FOR EACH ROW EXECUTE FUNCTION audit_check.note_write({columns});
"""
_EVENT, _CHANGED = "event:", "changed:"
_TEST = "a test"
_PROGRAM = ("reviews.", "cognireview.")
_ENTRY_POINTS = ("reviews.views", "reviews.api", "reviews.management", "reviews.tasks")
_NO_WRITE = ("SELECT", "(SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET", "DECLARE", "FETCH", "CLOSE")
_READ = """
    SELECT coalesce(current_setting('audit_check.writes', true), '') || '|'
        || coalesce(current_setting('audit_check.records', true), '')
"""
_RESET = "SELECT set_config('audit_check.writes', '', false), set_config('audit_check.records', '', false)"


def install_triggers(connection: Any) -> None:
    """Create the triggers on every table of the app that is not exempt."""
    exempt = set().union(*EXEMPT_TABLES.values())
    tables = {model._meta.db_table for model in apps.get_app_config("reviews").get_models()}
    assert exempt <= tables, exempt - tables
    with connection.cursor() as cursor:
        cursor.execute(_FUNCTION + _RECORDS)
        for table in sorted(tables - exempt):
            columns = ", ".join(f"'{name}'" for name in sorted(EXEMPT_COLUMNS.get(table, ())))
            operations = "INSERT OR UPDATE" if table in EXEMPT_DELETIONS else "INSERT OR UPDATE OR DELETE"
            cursor.execute(_TRIGGER.format(table=table, operations=operations, columns=columns))


class AuditCheck:
    """Collects transactions without an event, each with the place in the program that began it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def begin_block(self, connection: Any, *, is_fixture: bool) -> None:
        """Note the code that begins a transaction. Call it before the transaction begins."""
        blocks = connection.__dict__.setdefault("audit_check_blocks", [])
        opener = "" if is_fixture or any(blocks) else _opener() or _entry_point()
        blocks.append(opener)
        if opener not in {"", _TEST}:
            _ask(connection, _RESET)

    def end_block(self, connection: Any, *, commits: bool) -> None:
        """Check a transaction that the program began. Call it before the commit."""
        opener = connection.audit_check_blocks.pop()
        if commits and opener not in {"", _TEST}:
            self._look(connection, opener)

    def begin_statement(self, connection: Any, sql: str) -> str:
        """Return the place in the program that sends a statement which must be checked, "" for any other."""
        if any(connection.__dict__.get("audit_check_blocks", ())) or sql.lstrip().startswith(_NO_WRITE):
            return ""
        place = _entry_point()
        if place:
            _ask(connection, _RESET)
        return place

    def end_statement(self, connection: Any, place: str) -> None:
        """Check a statement that the program sent from a place outside a transaction."""
        if place:
            self._look(connection, place)

    def _look(self, connection: Any, place: str) -> None:
        written, noted = (_ask(connection, _READ) or "|").split("|")
        tables = set(written.split())
        if tables and EVENTS not in tables:
            self.found.append(f"{place} writes to {', '.join(sorted(tables))} without an audit event")
        for record in _unnamed(noted.split()):
            self.found.append(f"{place} changes record {record} without an event of it or of its run")


def _unnamed(notes: list[str]) -> list[str]:
    """Return the changed records that no event names, of runs without an event that has no record."""
    events = {note.removeprefix(_EVENT) for note in notes if note.startswith(_EVENT)}
    changed = [note.removeprefix(_CHANGED) for note in notes if note.startswith(_CHANGED)]
    return [one for one in changed if one not in events and f"{one.split('/')[0]}/0" not in events]


def _ask(connection: Any, question: str) -> Any:
    """Query without a trace in query counts and logs. Return None after an error."""
    connection.ensure_connection()
    driver = connection.connection
    if driver.info.transaction_status == TransactionStatus.INERROR:
        return None
    with driver.cursor() as cursor:
        return cursor.execute(question).fetchone()[0]


def _callers() -> Iterator[tuple[str, str]]:
    """Yield module and place of each caller up to the test, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame:
        module, place = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if frame.f_code.co_name == "inner" and frame.f_code.co_filename == contextlib.__file__:
            # For `@transaction.atomic`, the block belongs to the decorated function.
            function = frame.f_locals["func"]
            module, place = function.__module__, function.__qualname__
        if module not in {__name__, "contextlib"}:
            yield module, f"{module}.{place}"
        if module.startswith("tests.") and module != __name__:
            return
        frame = frame.f_back


def _opener() -> str:
    """Return the place in the program that begins a block, `_TEST` for a test, "" for a library."""
    module, place = next(_callers())
    if module.startswith("tests."):
        return _TEST
    return place if module.startswith(_PROGRAM) else ""


def _entry_point() -> str:
    """Return the innermost place in the program during a request, a command or a job."""
    callers = list(_callers())
    if any(module.startswith(_ENTRY_POINTS) for module, _ in callers):
        return next(place for module, place in callers if module.startswith(_PROGRAM))
    return ""


@contextmanager
def checking() -> Iterator[AuditCheck]:
    """Check every transaction of the default database in this process."""
    check = AuditCheck()
    enter, leave = Atomic.__enter__, Atomic.__exit__
    cursors: Any = CursorWrapper
    execute, execute_many = cursors._execute, cursors._executemany

    def is_checked(alias: str | None) -> bool:
        return (alias or DEFAULT_DB_ALIAS) == DEFAULT_DB_ALIAS

    def enter_and_note(block: Any) -> None:
        if is_checked(block.using):
            is_fixture = bool(block._from_testcase)
            check.begin_block(connections[DEFAULT_DB_ALIAS], is_fixture=is_fixture)
        enter(block)

    def look_and_leave(block: Any, kind: Any, error: Any, trace: Any) -> None:
        if is_checked(block.using):
            connection = connections[DEFAULT_DB_ALIAS]
            check.end_block(connection, commits=kind is None and not connection.needs_rollback)
        leave(block, kind, error, trace)

    def execute_and_look(cursor: Any, sql: str, *arguments: Any) -> Any:
        if not is_checked(cursor.db.alias):
            return execute(cursor, sql, *arguments)
        place = check.begin_statement(cursor.db, str(sql))
        result = execute(cursor, sql, *arguments)
        check.end_statement(cursor.db, place)
        return result

    def execute_many_and_look(cursor: Any, sql: str, *arguments: Any) -> Any:
        place = check.begin_statement(cursor.db, str(sql))
        result = execute_many(cursor, sql, *arguments)
        check.end_statement(cursor.db, place)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Atomic, "__enter__", enter_and_note)
        patch.setattr(Atomic, "__exit__", look_and_leave)
        patch.setattr(CursorWrapper, "_execute", execute_and_look)
        patch.setattr(CursorWrapper, "_executemany", execute_many_and_look)
        yield check

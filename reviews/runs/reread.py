"""Read the stored files of an undecided run again, with another mapping.

All records are replaced. A record is identified by its place, the line of its first appearance: it keeps its
key, and so its claim, drafts, skips, assignment and events. Its evaluation_id may change. Nothing changes if
an accepted line would be rejected, or if a record would become another version of a record in another line.
"""

from dataclasses import asdict
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Sum

from cognireview.types.files import Reread
from reviews.audit import events
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer
from reviews.imports.runs import check_open, run_mapping
from reviews.models import BlindScores, Escalation, FileConflict, Import, Review, Run, User
from reviews.queue.claim_columns import put_back_claims, stored_claims
from reviews.records.mapping import FieldMapping
from reviews.review import blind_scoring
from reviews.rubric import inference
from reviews.rubric.run_rubric import declare_rubric
from reviews.sampling import draws
from reviews.search import indexing
from reviews.storage import integrity
from reviews.storage.errors import ImportRefused

SHOWN_LINES = 20
# A request reads at most so many lines. The command has no limit.
MAX_LINES_IN_REQUEST = 20_000

# A decision that waits for a row fails or finds the new row, so none is made meanwhile.
_LOCK = """
    SELECT count(*)
    FROM (SELECT FROM evaluation WHERE run_id = %(run)s ORDER BY id FOR UPDATE) locked
"""
# Rows that refer to a record find it again under the same key, before the constraints are checked.
_SET_ASIDE = (
    "SET CONSTRAINTS ALL DEFERRED",
    """
    CREATE TEMPORARY TABLE earlier_record ON COMMIT DROP AS
    SELECT id, first_import_id, first_line, evaluation_id, version, was_shown, assigned_to_id, priority,
           due_on
    FROM evaluation WHERE run_id = %(run)s
    """,
    """
    CREATE TEMPORARY TABLE earlier_rejection ON COMMIT DROP AS
    SELECT source_id, line FROM import_line WHERE source_id = ANY(%(imports)s) AND outcome = 'rejected'
    """,
    "ANALYZE earlier_record, earlier_rejection",
    "DELETE FROM import_line WHERE source_id = ANY(%(imports)s)",
    "DELETE FROM unindexed_import WHERE source_id = ANY(%(imports)s)",
    """
    DELETE FROM evaluation_words words USING evaluation record
    WHERE words.evaluation_id = record.id AND run_id = %(run)s
    """,
    "DELETE FROM evaluation_facets WHERE run_id = %(run)s",
    "DELETE FROM run_facet WHERE run_id = %(run)s",
    "DELETE FROM evaluation WHERE run_id = %(run)s",
)
_REJECTED = """
    SELECT count(*) OVER (), file_name, line, field, reason
    FROM import_line noted JOIN import ON import.id = source_id
    WHERE source_id = ANY(%(imports)s) AND outcome = 'rejected' AND NOT EXISTS (
        SELECT FROM earlier_rejection earlier
        WHERE earlier.source_id = noted.source_id AND earlier.line = noted.line
    )
    ORDER BY sequence, line LIMIT %(shown)s
"""
_MERGED = """
    SELECT count(*) OVER (), file_name, earlier.first_line, 'evaluation_id',
           'is that of another line: two records would be one'
    FROM earlier_record earlier JOIN import ON import.id = first_import_id
    WHERE NOT EXISTS (
        SELECT FROM evaluation record WHERE record.run_id = %(run)s
          AND record.first_import_id = earlier.first_import_id AND record.first_line = earlier.first_line
    )
    ORDER BY sequence, first_line LIMIT %(shown)s
"""
_RESTORE = (
    """
    UPDATE import_line SET evaluation_id = earlier.id
    FROM evaluation record JOIN earlier_record earlier USING (first_import_id, first_line)
    WHERE record.run_id = %(run)s AND import_line.evaluation_id = record.id
      AND source_id = ANY(%(imports)s)
    """,
    """
    UPDATE evaluation record SET
        id = earlier.id, version = earlier.version + 1, was_shown = earlier.was_shown,
        assigned_to_id = earlier.assigned_to_id, priority = earlier.priority,
        due_on = earlier.due_on
    FROM earlier_record earlier
    WHERE record.run_id = %(run)s AND record.first_import_id = earlier.first_import_id
      AND record.first_line = earlier.first_line
    """,
)
_COUNT = """
    SELECT count(*), count(*) FILTER (WHERE earlier.id IS NULL),
           count(*) FILTER (WHERE earlier.evaluation_id <> record.evaluation_id)
    FROM evaluation record LEFT JOIN earlier_record earlier USING (first_import_id, first_line)
    WHERE record.run_id = %(run)s
"""
_FORGET = "DROP TABLE earlier_record, earlier_rejection"


class LineProblem(NamedTuple):
    """A line that prevents the reading, with the field and the reason."""

    file_name: str
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        field = f"{self.field} " if self.field else ""
        return f"{self.file_name}, line {self.line:,}: {field}{self.reason}"


class RereadRefused(ImportRefused):
    """The run cannot be read again with the mapping. Nothing was changed."""

    def __init__(self, reason: str, problems: list[LineProblem] | None = None) -> None:
        super().__init__(reason, "mapping")
        #: The first `SHOWN_LINES` lines that prevent it.
        self.problems = problems or []


@transaction.atomic
def reread_run(*, run_id: int, mapping: FieldMapping, actor: User | None, is_trial: bool = False) -> Reread:
    """Replace all records of a run by those that its stored lines give with the mapping.

    A trial changes nothing. Raises `RereadRefused`, `ImportRefused` for an archived run, and `CorruptData`.
    """
    # In the order of imports and of the job that indexes.
    locks.acquire(Lock.IMPORT)
    locks.acquire(Lock.INDEXING)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    check_open(run)
    _execute(run, [], _LOCK)
    _check_undecided(run)
    before = run_mapping(run)
    if run.blind_share:
        blind_scoring.reveal_served(run.evaluations.all(), share=1)
    _set_rubric(run, before, mapping, actor)
    report = _replace_records(run, mapping)
    events.record(
        "reread run",
        actor=actor,
        run=run,
        before=before.as_json() if before else None,
        after=run.mapping,
        **asdict(report),
    )
    if is_trial:
        transaction.set_rollback(True)
    return report


@transaction.atomic
def reread_in_request(*, run_id: int, mapping: FieldMapping, actor: User, is_trial: bool = False) -> Reread:
    """Read a run again as `reread_run`, while a program or a browser waits.

    Raises `RereadRefused` also for a large run, and while any file is being imported.
    """
    if not locks.try_acquire(Lock.IMPORT):
        raise RereadRefused("A file is being imported into some run. Try again when it is done.")
    lines = Run.objects.get(pk=run_id).files.aggregate(sum=Sum("lines"))["sum"] or 0
    if lines > MAX_LINES_IN_REQUEST:
        raise RereadRefused(
            f"This run has {lines:,} lines, and a request reads at most {MAX_LINES_IN_REQUEST:,}. "
            "Use manage.py reread_run."
        )
    return reread_run(run_id=run_id, mapping=mapping, actor=actor, is_trial=is_trial)


def _check_undecided(run: Run) -> None:
    """Raise `RereadRefused` if an import is running, or if decisions depend on the records."""
    if run.imports.filter(state__in=Import.UNFINISHED).exists():
        raise RereadRefused("A file is being imported into this run. Wait for its end, or cancel the import.")
    made = {
        "decisions": Review.objects.filter(run=run),
        "blind scores": BlindScores.objects.filter(evaluation__run=run),
        "escalations": Escalation.objects.filter(run=run),
        "conflicts": FileConflict.objects.filter(run=run),
    }
    for name, rows in made.items():
        if rows.exists():
            raise RereadRefused(f"This run has {name}. Import its files into a new run with the mapping.")


def _set_rubric(run: Run, before: FieldMapping | None, mapping: FieldMapping, actor: User | None) -> None:
    """Replace the rubric by that of the new mapping, unless somebody has declared another one.

    A rubric that is neither in the mapping nor declared is inferred after the records are replaced.
    """
    is_of_mapping = before and before.rubric and before.rubric.as_json() == run.rubric
    if run.is_rubric_declared and not is_of_mapping:
        return
    run.rubric, run.is_rubric_declared = {}, False
    run.save(update_fields=["rubric", "is_rubric_declared"])
    if mapping.rubric:
        declare_rubric(run_id=run.pk, actor=actor, rubric=mapping.rubric)
        run.refresh_from_db(fields=["rubric", "is_rubric_declared"])


def _replace_records(run: Run, mapping: FieldMapping) -> Reread:
    run.mapping = mapping.as_json()
    run.save(update_fields=["mapping"])
    sources, claims = list(run.files), stored_claims(run.evaluations.all())
    _check_places(sources, mapping)
    imports = [source.pk for source in sources]
    _execute(run, imports, *_SET_ASIDE)
    for source in sources:
        source.run = run
        try:
            importer.import_again(source)
        except ImportRefused as refused:
            raise RereadRefused(f"{source.file_name}: {refused} Nothing was changed.") from refused
    _check_lines(run, imports)
    [(records, new_records, new_ids)] = _execute(run, imports, _COUNT)
    _execute(run, imports, *_RESTORE, importer.CHECK_AT_ONCE, _FORGET)
    for source in sources:
        integrity.record_result(source)
    inference.infer_rubric(run)
    for source in sources:
        indexing.index_import(source)
    draws.draw_sample(run_id=run.pk)
    return Reread(records, new_records, new_ids, put_back_claims(claims))


def _check_places(sources: list[Import], mapping: FieldMapping) -> None:
    """Raise `RereadRefused` if the records of a document or archive are in another place by the mapping."""
    for source in sources:
        in_archive = mapping.archive.records if mapping.archive else ""
        place = in_archive if source.is_archive else mapping.records
        if source.records_path and source.records_path != place:
            raise RereadRefused(
                f"The records of {source.file_name} are at `{source.records_path}`, and the mapping reads "
                f"them {f'at `{place}`' if place else 'from lines'}. Import the file into a new run."
            )


def _check_lines(run: Run, imports: list[int]) -> None:
    """Raise `RereadRefused` if an accepted line is rejected now, or if two records became one."""
    for what, statement in (
        ("accepted line{} would be rejected", _REJECTED),
        ("record{} would be lost", _MERGED),
    ):
        found = _execute(run, imports, statement)
        if found:
            count = found[0][0]
            raise RereadRefused(
                f"With this mapping, {count:,} {what.format('s' * (count != 1))}. Nothing was changed.",
                [LineProblem(*row) for _, *row in found],
            )


def _execute(run: Run, imports: list[int], *statements: str) -> list[tuple[Any, ...]]:
    """Execute statements, and return the rows of the last one."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"run": run.pk, "imports": imports, "shown": SHOWN_LINES})
        return cursor.fetchall() if cursor.description else []

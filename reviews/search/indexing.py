"""Index records by their facets (criterion and score, reason, model...) and their words.

The index has its own tables. An import writes most entries itself (`reviews/imports/import_index.py`). The
others are computed here, from stored records, in the import's transaction. A job indexes huge imports and
large runs whose rubric was changed, in chunks.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import orjson
from django.db import transaction
from django.db.models import QuerySet, Sum
from procrastinate.contrib.django import app as jobs

from reviews.database import locks
from reviews.database.locks import Lock
from reviews.database.statements import execute, fetch_value
from reviews.models import Evaluation, Import, ImportLine, Run, RunFacet, UnindexedImport
from reviews.queue import progress
from reviews.records.rubric import VERDICT_OF_LEVEL
from reviews.rubric.run_rubric import run_rubric
from reviews.search import strata
from reviews.search.facets import CONTRADICTIONS, READ_VERDICT, VERIFIED, Facet, facet_key, judged_criteria
from reviews.search.index_entries import SearchedRow, facets_as_json, index_entry
from reviews.search.remembered_facets import facets_by

JOB = "reviews.tasks.index_records"
# So many records are indexed in their import's transaction, and so large a run is counted in it.
MAX_RECORDS_INLINE = 1_000_000
# A request indexes at most so many lines itself.
MAX_LINES_IN_REQUEST = 2_000
# Tables are analysed after imports with more records. All columns of the records take longer, so a smaller
# import analyses only the columns that the queue and the list select records by, and autovacuum the others.
MAX_RECORDS_UNANALYSED = 2_000
MAX_RECORDS_LEFT_TO_AUTOVACUUM = 100_000
_SELECTED_BY = "run_id, first_import_id, human_review_status, claimed_by_id, assigned_to_id, review_id"
# An import that adds at most this share to the index changes its statistics little, except for the new run.
# Autovacuum analyses a table that has grown more.
GROWTH_LEFT_TO_AUTOVACUUM = 0.1
# As of the last ANALYZE or VACUUM; -1 before the first one.
_INDEXED_RECORDS = "SELECT reltuples FROM pg_class WHERE oid = 'evaluation_words'::regclass"
# Lines of a file that are indexed at once: by the job, in one transaction.
CHUNK_LINES = 1_000
_COLUMNS = ("pk", *SearchedRow._fields)

_PUT_FACETS = """
    INSERT INTO evaluation_facets AS known (
        evaluation_id, run_id, keys, verdict_order, is_flagged, response, cluster, pair
    )
    SELECT id, run_id, keys, verdict, needs_human_review,
           response_key(
               task_id, evaluation_id, model_id, own_answer(structured_model_response, task_context)
           ),
           task_cluster(task_id, evaluation_id),
           CASE WHEN task_context IS NOT NULL THEN
               pair_key(task_id, evaluation_id, task_context -> 'responses')
           END
    FROM json_to_recordset(%s::json) AS new (id bigint, keys bigint[], verdict smallint)
    JOIN evaluation USING (id)
    ON CONFLICT (evaluation_id) DO UPDATE SET
        keys = excluded.keys, verdict_order = excluded.verdict_order, is_flagged = excluded.is_flagged,
        response = excluded.response, cluster = excluded.cluster, pair = excluded.pair
    WHERE (known.keys, known.is_flagged, known.response, known.cluster, known.pair) IS DISTINCT FROM
        (excluded.keys, excluded.is_flagged, excluded.response, excluded.cluster, excluded.pair)
"""
_PUT_WORDS = """
    INSERT INTO evaluation_words (evaluation_id, words)
    SELECT id, array_to_tsvector(words) FROM json_to_recordset(%s::json) AS new (id bigint, words text[])
    ON CONFLICT (evaluation_id) DO UPDATE SET words = excluded.words
"""
_ADD_CHOICES = """
    INSERT INTO run_facet (run_id, name, value, title)
    SELECT %s, name, value, title FROM json_to_recordset(%s::json) AS new (name text, value text, title text)
    ON CONFLICT DO NOTHING
"""


def lock_before_run() -> None:
    """Acquire the lock that indexing needs. Call it before the transaction locks the run's row.

    The job acquires this lock before it locks the run; the opposite order could deadlock.
    """
    locks.acquire(Lock.INDEXING)


class LineRange(NamedTuple):
    #: The number of the line before the first one.
    after: int
    #: The number of the last line.
    until: int

    def chunks(self) -> Iterator["LineRange"]:
        """Cut the range into ranges of at most `CHUNK_LINES` lines."""
        for after in range(self.after, self.until, CHUNK_LINES):
            yield LineRange(after, min(after + CHUNK_LINES, self.until))


def index_import(done: Import, *, new: Collection[LineRange] | None = None) -> None:
    """Index the records of an import and count its run, or enqueue a job if there are too many.

    `new` are the lines whose new records are not indexed yet. None: all lines of the file.
    """
    changed = done.updated + done.conflicts
    if not (done.new or changed):
        return
    everything = LineRange(0, done.lines)
    ranges = [everything] if new is None else new
    left = changed + min(done.new, sum(lines.until - lines.after for lines in ranges))
    if left > MAX_RECORDS_INLINE:
        _leave_to_job(done, line=0, records=left)
        return
    lock_before_run()
    for lines in ranges:
        for chunk in lines.chunks():
            _index(done, _new_records(done, chunk))
    if changed:
        for chunk in everything.chunks():
            _index(done, _changed_records(done, chunk))
    _analyse(done.new + changed)
    if progress.count_records(done.target_run) <= MAX_RECORDS_INLINE:
        _update_counts(done.target_run)
    else:
        _leave_to_job(done, line=done.lines, records=0)


def _leave_to_job(done: Import, *, line: int, records: int) -> None:
    UnindexedImport.objects.create(source=done, line=line, evaluations=records)
    jobs.configure_task(JOB).defer()


def index_at_once(run: Run, sources: Iterable[Import]) -> None:
    """Index all lines of these imports and count the run. The caller has acquired `Lock.INDEXING`."""
    for source in sources:
        for chunk in LineRange(0, source.lines).chunks():
            _index_lines(source, chunk)
    _update_counts(run)


def index_again(run: Run, *, except_for: Import | None = None) -> None:
    """Index all records of a run, those of a large run in a job.

    With `except_for`, an import waits for it, and not a request. The caller has acquired the lock by
    `lock_before_run`.
    """
    sources: QuerySet[Import] = run.imports.filter(state=Import.State.DONE, new__gt=0)
    if except_for:
        sources = sources.exclude(pk=except_for.pk)
    lines = sources.aggregate(sum=Sum("lines"))["sum"] or 0
    if lines > (MAX_RECORDS_INLINE if except_for else MAX_LINES_IN_REQUEST):
        left = [UnindexedImport(source=source, line=0, evaluations=source.new) for source in sources]
        UnindexedImport.objects.bulk_create(
            left, update_conflicts=True, unique_fields=["source"], update_fields=["line", "evaluations"]
        )
        jobs.configure_task(JOB).defer()
    elif lines:
        index_at_once(run, sources)


def index_next_chunk() -> bool:
    """Index the next chunk of records. Return whether there was one."""
    with transaction.atomic():
        locks.acquire(Lock.INDEXING)
        waiting = UnindexedImport.objects.order_by("pk").first()
        if not waiting:
            return False
        until = waiting.line + CHUNK_LINES
        indexed = _index_lines(waiting.source, LineRange(waiting.line, until))
        if until < waiting.source.lines:
            left = max(waiting.evaluations - indexed, 0)
            UnindexedImport.objects.filter(pk=waiting.pk).update(line=until, evaluations=left)
        else:
            source = waiting.source
            waiting.delete()
            _analyse(source.new + source.updated + source.conflicts)
            _update_counts(source.target_run)
    return True


def _analyse(records: int) -> None:
    """Let the query planner know the rows of an import with so many new or changed records.

    Without statistics, it would sort a run for each page of its list, and a connection might keep this plan
    for as long as it is used: of autovacuum, VACUUM counts the rows, and ANALYZE then changes no kept plan.
    """
    if records <= MAX_RECORDS_UNANALYSED:
        return
    indexed = fetch_value(_INDEXED_RECORDS)
    is_small = records <= indexed * GROWTH_LEFT_TO_AUTOVACUUM
    # Otherwise any import would take as long as one of 30,000 records, which ANALYZE reads.
    index = "evaluation_facets (run_id)" if is_small else "evaluation_facets, evaluation_words"
    execute(f"ANALYZE {index}")
    if records > MAX_RECORDS_LEFT_TO_AUTOVACUUM:
        execute("ANALYZE evaluation")
    else:
        # A sample of 3,000 rows, which takes a sixth of the time.
        execute("SET LOCAL default_statistics_target = 10")
        execute(f"ANALYZE evaluation ({_SELECTED_BY})")
        execute("SET LOCAL default_statistics_target = DEFAULT")


def _update_counts(run: Run) -> None:
    """Count the records of a completely indexed run."""
    counted = {
        "reason": RunFacet.objects.filter(run=run, name="reason").values_list("value", flat=True),
        "verified": VERIFIED,
        "contradiction": CONTRADICTIONS,
        READ_VERDICT: VERDICT_OF_LEVEL.values(),
    }
    strata.recount(
        run, {(name, value): facet_key(name, value) for name in counted for value in counted[name]}
    )


def _index_lines(source: Import, lines: LineRange) -> int:
    """Index the new and the changed records of these lines. Return their number."""
    return _index(source, _new_records(source, lines)) + _index(source, _changed_records(source, lines))


def _index(source: Import, records: QuerySet[Evaluation]) -> int:
    """Write the facets and words of stored records. Return their number."""
    by = facets_by(run_rubric(source.target_run))
    # In small batches, because a record can have megabytes.
    entries = [
        index_entry(record.pk, record, judged_criteria(record), by)
        for record in records.only(*_COLUMNS).iterator(chunk_size=20)
    ]
    if not entries:
        return 0
    words = [{"id": entry.key, "words": [word.decode() for word in entry.words]} for entry in entries]
    execute(_PUT_FACETS, [facets_as_json(entries).decode()])
    execute(_PUT_WORDS, [_json(words)])
    add_options(source.target_run, {facet for entry in entries for facet in entry.facets.options})
    return len(entries)


def add_options(run: Run, facets: Iterable[Facet]) -> None:
    """Add facets to the options of a run's filters. The caller has acquired `Lock.INDEXING`."""
    execute(_ADD_CHOICES, [run.pk, _json([facet._asdict() for facet in facets])])


def _new_records(source: Import, lines: LineRange) -> QuerySet[Evaluation]:
    """Return the records that appeared first in these lines."""
    records = Evaluation.objects.filter(run=source.run_id, first_import=source)
    return records.filter(first_line__gt=lines.after, first_line__lte=lines.until)


def _changed_records(source: Import, lines: LineRange) -> QuerySet[Evaluation]:
    """Return the earlier records that these lines changed."""
    changing = ImportLine.objects.filter(
        source=source,
        line__gt=lines.after,
        line__lte=lines.until,
        outcome__in=(ImportLine.Outcome.UPDATED, ImportLine.Outcome.CONFLICT),
    )
    return Evaluation.objects.filter(pk__in=changing.values("evaluation"))


def _json(rows: list[dict[str, Any]]) -> str:
    return orjson.dumps(rows).decode()


def is_indexed(run: Run) -> bool:
    """Return whether all records of a run are indexed."""
    return (
        RunFacet.objects.filter(run=run).exists()
        and not UnindexedImport.objects.filter(source__run=run).exists()
    )


def unindexed_count(run: Run) -> int:
    left = UnindexedImport.objects.filter(source__run=run).aggregate(sum=Sum("evaluations"))["sum"]
    return left or 0

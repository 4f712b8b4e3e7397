"""Index records by their facets (criterion and score, reason, model...) and their words.

The index has its own tables. A job fills them in chunks, so that large imports need not wait. The records of
small imports are indexed in the import's transaction.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from procrastinate.contrib.django import app as jobs

from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import Evaluation, Import, ImportLine, Run, RunCount, RunFacet, UnindexedImport
from reviews.records.verdict import VERDICT_OF_LEVEL
from reviews.rubric.run_rubric import run_rubric
from reviews.search import strata
from reviews.search.facets import (
    CONTRADICTIONS,
    READ_VERDICT,
    VERIFIED,
    facet_key,
    judged_criteria,
    names_of,
    record_facets,
    texts_of,
)
from reviews.search.terms import distinct_words, name_words

JOB = "reviews.tasks.index_records"
# Imports with at most this many lines are indexed in their own transaction.
MAX_LINES_INLINE = 2_000
# Runs with at most this many records are also counted in that transaction.
MAX_RECORDS_COUNTED_INLINE = 20_000
# Lines of a file that the job indexes in one transaction.
CHUNK_LINES = 1_000
_COLUMNS = (
    "pk",
    "evaluation_id",
    "task_id",
    "model_id",
    "response_id",
    "judge_llm_model",
    "judge_prompt_template_path",
    "raw_judge_output",
    "parsed_rubric_scores",
    "extracted_scores",
    "aggregated_score",
    "final_answer_verified",
    "verification_message",
    "review_reasons",
    "parsing_error",
    "human_review_comments",
)

_PUT_FACETS = """
    INSERT INTO evaluation_facets AS known (
        evaluation_id, run_id, keys, verdict_order, is_flagged, response, cluster, pair
    )
    SELECT id, run_id, keys, verdict, needs_human_review,
           response_key(
               task_id, evaluation_id, model_id, own_answer(structured_model_response, task_context)
           ),
           task_cluster(task_id, evaluation_id),
           pair_key(task_id, evaluation_id, task_context -> 'responses')
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
# Lets the query planner know the new rows at once.
_ANALYZE = "ANALYZE evaluation_facets, evaluation_words"


def lock_before_run() -> None:
    """Acquire the lock that indexing needs. Call it before the transaction locks the run's row.

    The job acquires this lock before it locks the run; the opposite order could deadlock.
    """
    locks.acquire(Lock.INDEXING)


def index_import(done: Import) -> None:
    """Index the records of an import and count its run, or enqueue a job if there are many."""
    left = _records_to_index(done)
    if not left:
        return
    last_line = 0
    if done.lines <= MAX_LINES_INLINE:
        lock_before_run()
        _index_lines(done, after=0, until=done.lines)
        last_line, left = done.lines, 0
        if _size(done.target_run) <= MAX_RECORDS_COUNTED_INLINE:
            _update_counts(done.target_run)
            return
    UnindexedImport.objects.create(source=done, line=last_line, evaluations=left)
    jobs.configure_task(JOB).defer()


def index_at_once(run: Run, sources: Iterable[Import]) -> None:
    """Index all lines of these imports and count the run. The caller has acquired `Lock.INDEXING`."""
    for source in sources:
        _index_lines(source, after=0, until=source.lines)
    _update_counts(run)


def _records_to_index(done: Import) -> int:
    return done.new + done.updated + done.conflicts


def index_next_chunk() -> bool:
    """Index the next chunk of records. Return whether there was one."""
    with transaction.atomic():
        locks.acquire(Lock.INDEXING)
        waiting = UnindexedImport.objects.order_by("pk").first()
        if not waiting:
            return False
        until = waiting.line + CHUNK_LINES
        indexed = _index_lines(waiting.source, after=waiting.line, until=until)
        if until < waiting.source.lines:
            left = max(waiting.evaluations - indexed, 0)
            UnindexedImport.objects.filter(pk=waiting.pk).update(line=until, evaluations=left)
        else:
            run = waiting.source.target_run
            waiting.delete()
            with connection.cursor() as cursor:
                cursor.execute(_ANALYZE)
            _update_counts(run)
    return True


def _size(run: Run) -> int:
    return RunCount.objects.filter(run=run).aggregate(sum=Sum("evaluations"))["sum"] or 0


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


def _index_lines(source: Import, *, after: int, until: int) -> int:
    """Write facets and words for the records of lines `after`+1 to `until`. Return the number of records."""
    facets, words, occurring = [], [], set()
    rubric = run_rubric(source.target_run)
    # In small batches, because a record can have megabytes.
    for record in chain.from_iterable(rows.iterator(20) for rows in _records(source, after, until)):
        judged = judged_criteria(record)
        found = record_facets(record, judged, rubric)
        occurring |= found.options
        facets.append({"id": record.pk, "keys": found.keys, "verdict": found.verdict_order})
        found_by = [*name_words(names_of(record)), *distinct_words(texts_of(record, judged))]
        words.append({"id": record.pk, "words": found_by})
    if not facets:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_PUT_FACETS, [_json(facets)])
        cursor.execute(_PUT_WORDS, [_json(words)])
        cursor.execute(_ADD_CHOICES, [source.run_id, _json([facet._asdict() for facet in occurring])])
    return len(facets)


def _records(source: Import, after: int, until: int) -> Iterator[QuerySet[Evaluation]]:
    """Yield the new and the changed records of these lines."""
    records = Evaluation.objects.only(*_COLUMNS)
    yield records.filter(run=source.run_id, first_import=source, first_line__gt=after, first_line__lte=until)
    changing = ImportLine.objects.filter(
        source=source,
        line__gt=after,
        line__lte=until,
        outcome__in=(ImportLine.Outcome.UPDATED, ImportLine.Outcome.CONFLICT),
    )
    yield records.filter(pk__in=changing.values("evaluation"))


def _json(rows: list[dict[str, Any]]) -> str:
    return orjson.dumps(rows).decode()


def is_indexed(run: Run) -> bool:
    """Return whether all records of a run are indexed."""
    return (
        RunFacet.objects.filter(run=run).exists()
        and not UnindexedImport.objects.filter(source__run=run).exists()
    )


def unindexed_count(run: Run) -> int:
    """Return the number of records of a run that are not indexed yet."""
    left = UnindexedImport.objects.filter(source__run=run).aggregate(sum=Sum("evaluations"))["sum"]
    return left or 0

"""Index records by their facets (criterion and score, reason, model...) and their words.

The index has its own tables. A job fills them in chunks, so that large imports need not wait. The records of
small imports are indexed in the import's transaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from procrastinate.contrib.django import app as jobs

from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import Evaluation, Import, ImportLine, Run, RunCount, RunFacet, UnindexedImport
from reviews.records import extracted_scores
from reviews.records.contradictions import find_contradictions
from reviews.records.reason_families import reason_family
from reviews.records.rubric import Rubric
from reviews.records.score_extraction import raw_text
from reviews.records.scores import format_score, is_score, justification_of, score_of
from reviews.records.verdict import VERDICT_OF_LEVEL
from reviews.records.verification import read_verification
from reviews.rubric.run_rubric import run_rubric
from reviews.search import strata
from reviews.search.terms import distinct_words, name_words

JOB = "reviews.tasks.index_records"
# Imports with at most this many lines are indexed in their own transaction.
MAX_LINES_INLINE = 2_000
# Runs with at most this many records are also counted in that transaction.
MAX_RECORDS_COUNTED_INLINE = 20_000
# Lines of a file that the job indexes in one transaction.
CHUNK_LINES = 1_000
NO_VERDICT = "none"
# In the order of a list that is sorted by verdict: `EvaluationFacets.verdict_order`.
VERDICT_ORDER = ("Fail", "Partial", "Pass", NO_VERDICT)
MAX_VALUE_LENGTH = 512
# Per record. Further criteria and reasons cannot be used in filters.
MAX_FACETS = 500
_VERIFIED = {"match": "yes", "mismatch": "no", "no reference": "no reference"}
_NOT_VERIFIED = "none"
# Kinds of contradictions that can be found in the record alone: see `find_contradictions`.
CONTRADICTIONS = ("verdict", "verifier", "justification")


@dataclass(frozen=True)
class Facet:
    """A property that many records share."""

    #: The name of the filter.
    name: str
    value: str
    #: The label for people, if it differs from the value.
    title: str = ""


def facet_key(name: str, value: str) -> int:
    """Return the stored form of a facet: a 64-bit hash, which keeps rows narrow and needs no lookup."""
    digest = blake2b(f"{name}\0{value}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def score_value(criterion: str, score: Any) -> str:
    """Return a criterion and its score as the value of a facet."""
    return f"{criterion}={format_score(score)}"[:MAX_VALUE_LENGTH]


# A record


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


class JudgedCriterion(NamedTuple):
    """The judge's score and justification for a criterion. The score is any JSON value."""

    criterion: str
    score: Any
    justification: str


def judged_criteria(record: Evaluation) -> list[JudgedCriterion]:
    """Return the judge's scores as parsed by the pipeline, or else as extracted from the raw output."""
    parsed = record.parsed_rubric_scores
    if not parsed:
        found = extracted_scores.read_extracted(record).proposals
        return [JudgedCriterion(one.criterion, one.score, one.justification) for one in found]
    return [JudgedCriterion(name, score_of(entry), justification_of(entry)) for name, entry in parsed.items()]


def facets_of(record: Evaluation, judged: Sequence[JudgedCriterion], rubric: Rubric) -> Iterator[Facet]:
    """The facets of a record, some of them perhaps twice. `rubric` is its run's."""
    if record.model_id is not None:
        yield Facet("model", record.model_id)
    yield Facet("judge", record.judge_llm_model)
    yield Facet("template", record.judge_prompt_template_path)
    yield Facet("parse-error", "no" if record.parsing_error is None else "yes")
    outcome = read_verification(record.final_answer_verified, record.verification_message).outcome
    yield Facet("verified", _VERIFIED.get(outcome, _NOT_VERIFIED))
    yield from _facets_by_rule(record, judged, rubric)
    for criterion, score, _ in judged:
        if is_score(score):
            yield Facet("score", score_value(criterion, score))
    for reason in record.review_reasons:
        yield Facet("reason", *reason_family(reason))


def _facets_by_rule(record: Evaluation, judged: Sequence[JudgedCriterion], rubric: Rubric) -> Iterator[Facet]:
    verdict = rubric.judge_verdict(record.aggregated_score, {one.criterion: one.score for one in judged})
    yield Facet("verdict", verdict or NO_VERDICT)
    if not record.aggregated_score and verdict:
        yield Facet(strata.READ_VERDICT, verdict)
    scores = {one.criterion: {"score": one.score, "justification": one.justification} for one in judged}
    for kind, _ in find_contradictions(record, scores, rubric):
        if kind in CONTRADICTIONS:
            yield Facet("contradiction", kind)


def names_of(record: Evaluation) -> Iterator[str]:
    """Yield ids, model and judge: they can be searched even while the record is reviewed blind."""
    names = (
        record.evaluation_id,
        record.task_id,
        record.model_id,
        record.response_id,
        record.judge_llm_model,
    )
    yield from filter(None, names)


def texts_of(record: Evaluation, judged: Iterable[JudgedCriterion]) -> Iterator[str]:
    """Yield the searchable texts of a record, names first because only the beginning of long text counts.

    Flag reasons are not searchable: they would distinguish flagged records from random samples.
    """
    yield from names_of(record)
    messages = (record.verification_message, record.parsing_error, record.human_review_comments)
    yield from filter(None, messages)
    for criterion, _, justification in judged:
        yield criterion
        yield justification
    yield raw_text(record.raw_judge_output)


# The tables


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
# Facets whose values in a run are listed as options.
FACETS_WITH_OPTIONS = ("model", "judge", "template", "score", "reason")
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
        "verified": [*_VERIFIED.values(), _NOT_VERIFIED],
        "contradiction": CONTRADICTIONS,
        strata.READ_VERDICT: VERDICT_OF_LEVEL.values(),
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
        found = set(islice(facets_of(record, judged, rubric), MAX_FACETS))
        occurring |= {facet for facet in found if facet.name in FACETS_WITH_OPTIONS}
        keys = sorted(facet_key(facet.name, facet.value) for facet in found)
        verdict = next(facet.value for facet in found if facet.name == "verdict")
        facets.append({"id": record.pk, "keys": keys, "verdict": VERDICT_ORDER.index(verdict)})
        found_by = [*name_words(names_of(record)), *distinct_words(texts_of(record, judged))]
        words.append({"id": record.pk, "words": found_by})
    if not facets:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_PUT_FACETS, [_json(facets)])
        cursor.execute(_PUT_WORDS, [_json(words)])
        cursor.execute(_ADD_CHOICES, [source.run_id, _json([asdict(facet) for facet in occurring])])
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

"""What each record can be found by: its facets (criterion and score, reason, model...) and its words.

They stand in tables of their own, so that an import of many records need not wait for their indexes: a job
fills them, chunk by chunk. What a small import brings can be found as soon as it is there.
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
from reviews.models import Evaluation, Import, ImportLine, Run, RunCount, RunFacet, Uncovered
from reviews.records import extracted_scores
from reviews.records.contradictions import find_contradictions
from reviews.records.reason_families import reason_family
from reviews.records.score_extraction import raw_text
from reviews.records.scores import format_score, is_score, score_of
from reviews.records.verdict import VERDICT_OF_LEVEL, VerdictRule, read_verification
from reviews.rubric import definition
from reviews.sampling import strata
from reviews.search.terms import distinct_words, name_words

JOB = "reviews.tasks.index_records"
# Imports of no more lines than this are covered in their own transaction.
MAX_LINES_INLINE = 2_000
# Runs of no more records than this are counted there as well.
MAX_RECORDS_COUNTED_INLINE = 20_000
# Lines of a file that the job covers in one transaction.
CHUNK_LINES = 1_000
NO_VERDICT = "none"
MAX_VALUE_LENGTH = 512
# Of one record; beyond it, criteria and reasons cannot be filtered by.
MAX_FACETS = 500
_VERIFIED = {"match": "yes", "mismatch": "no", "no reference": "no reference"}
_NOT_VERIFIED = "none"
# Kinds of contradictions that a record tells by itself, and nothing else says: see `find_contradictions`.
CONTRADICTIONS = ("verdict", "verifier", "justification")


@dataclass(frozen=True)
class Facet:
    """Something that many records have in common. `name` is that of a filter; `title` is for people."""

    name: str
    value: str
    title: str = ""


def facet_key(name: str, value: str) -> int:
    """A facet as it is stored: 64 bits, so that a row is narrow and nobody has to look up a number for it."""
    digest = blake2b(f"{name}\0{value}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def score_value(criterion: str, score: Any) -> str:
    """A criterion and its score as the value of a facet."""
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
    """A criterion as the judge saw it. The score is any JSON value."""

    criterion: str
    score: Any
    justification: str


def judged_criteria(record: Evaluation) -> list[JudgedCriterion]:
    """What the judge said, parsed by the pipeline, or else found in its raw output."""
    parsed = record.parsed_rubric_scores
    if not parsed:
        found = extracted_scores.read_extracted(record).proposals
        return [JudgedCriterion(one.criterion, one.score, one.justification) for one in found]
    return [
        JudgedCriterion(
            criterion, score_of(entry), str(entry.get("justification", "")) if isinstance(entry, dict) else ""
        )
        for criterion, entry in parsed.items()
    ]


def facets_of(record: Evaluation, judged: Sequence[JudgedCriterion], rule: VerdictRule) -> Iterator[Facet]:
    """The facets of a record, some of them perhaps twice. `rule` is its run's."""
    if record.model_id is not None:
        yield Facet("model", record.model_id)
    yield Facet("judge", record.judge_llm_model)
    yield Facet("template", record.judge_prompt_template_path)
    yield Facet("verdict", record.aggregated_score or NO_VERDICT)
    yield Facet("parse-error", "no" if record.parsing_error is None else "yes")
    outcome = read_verification(record.final_answer_verified, record.verification_message).outcome
    yield Facet("verified", _VERIFIED.get(outcome, _NOT_VERIFIED))
    yield from _facets_by_rule(record, judged, rule)
    for criterion, score, _ in judged:
        if is_score(score):
            yield Facet("score", score_value(criterion, score))
    for reason in record.review_reasons:
        yield Facet("reason", *reason_family(reason))


def _facets_by_rule(
    record: Evaluation, judged: Sequence[JudgedCriterion], rule: VerdictRule
) -> Iterator[Facet]:
    read = None if record.aggregated_score else rule.aggregate(one.score for one in judged)
    if read:
        yield Facet(strata.READ_VERDICT, read)
    scores = {one.criterion: {"score": one.score, "justification": one.justification} for one in judged}
    for kind, _ in find_contradictions(record, scores, rule):
        if kind in CONTRADICTIONS:
            yield Facet("contradiction", kind)


def names_of(record: Evaluation) -> Iterator[str]:
    """Ids, model and judge: everybody may find a record by these, also while it is scored blind."""
    names = (
        record.evaluation_id,
        record.task_id,
        record.model_id,
        record.response_id,
        record.judge_llm_model,
    )
    yield from filter(None, names)


def texts_of(record: Evaluation, judged: Iterable[JudgedCriterion]) -> Iterator[str]:
    """What a record is searched by, names first: of very much text only the beginning counts.

    Without its reasons: their words would tell a flagged record from one that was drawn at random.
    """
    yield from names_of(record)
    said = (record.verification_message, record.parsing_error, record.human_review_comments)
    yield from filter(None, said)
    for criterion, _, justification in judged:
        yield criterion
        yield justification
    yield raw_text(record.raw_judge_output)


# The tables


_PUT_FACETS = """
    INSERT INTO evaluation_facets (evaluation_id, run_id, keys)
    SELECT id, %s, keys FROM json_to_recordset(%s::json) AS new (id bigint, keys bigint[])
    ON CONFLICT (evaluation_id) DO UPDATE SET keys = excluded.keys
    WHERE evaluation_facets.keys <> excluded.keys
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
# What is chosen in a list of what occurs in the run.
FACETS_WITH_OPTIONS = ("model", "judge", "template", "score", "reason")
# So that the planner knows of the new rows at once.
_ANALYZE = "ANALYZE evaluation_facets, evaluation_words"


def lock_before_run(done: Import) -> None:
    """Take the turn that `after_import` needs; to be called before the transaction locks the run's row.

    The job has its turn first and then locks the run: the other way round both would wait for each other.
    """
    if _records_to_index(done) and done.lines <= MAX_LINES_INLINE:
        locks.acquire(Lock.INDEXING)


def index_import(done: Import) -> None:
    """Cover what an import brought and count its run, in its transaction; where that is much, by a job."""
    left = _records_to_index(done)
    if not left:
        return
    covered = 0
    if done.lines <= MAX_LINES_INLINE:
        lock_before_run(done)
        _index_lines(done, after=0, until=done.lines)
        covered, left = done.lines, 0
        if _size(done.run) <= MAX_RECORDS_COUNTED_INLINE:
            _update_counts(done.run)
            return
    Uncovered.objects.create(source=done, line=covered, evaluations=left)
    jobs.configure_task(JOB).defer()


def _records_to_index(done: Import) -> int:
    return done.new + done.updated + done.conflicts


def index_next_chunk() -> bool:
    """Cover one more chunk of the records that are not covered yet; returns whether there was one."""
    with transaction.atomic():
        locks.acquire(Lock.INDEXING)
        waiting = Uncovered.objects.select_related("source__run").order_by("pk").first()
        if not waiting:
            return False
        until = waiting.line + CHUNK_LINES
        covered = _index_lines(waiting.source, after=waiting.line, until=until)
        if until < waiting.source.lines:
            left = max(waiting.evaluations - covered, 0)
            Uncovered.objects.filter(pk=waiting.pk).update(line=until, evaluations=left)
        else:
            run = waiting.source.run
            waiting.delete()
            with connection.cursor() as cursor:
                cursor.execute(_ANALYZE)
            _update_counts(run)
    return True


def _size(run: Run) -> int:
    return RunCount.objects.filter(run=run).aggregate(sum=Sum("evaluations"))["sum"] or 0


def _update_counts(run: Run) -> None:
    """Count the records of a run, all of which are covered."""
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
    """Write the facets and words of the records in a stretch of a file's lines; returns how many."""
    facets, words, occurring = [], [], set()
    rule = definition.of(source.run).rule
    # A few at a time: a line may have megabytes.
    for record in chain.from_iterable(rows.iterator(20) for rows in _records(source, after, until)):
        judged = judged_criteria(record)
        found = set(islice(facets_of(record, judged, rule), MAX_FACETS))
        occurring |= {facet for facet in found if facet.name in FACETS_WITH_OPTIONS}
        facets.append(
            {"id": record.pk, "keys": sorted(facet_key(facet.name, facet.value) for facet in found)}
        )
        found_by = [*name_words(names_of(record)), *distinct_words(texts_of(record, judged))]
        words.append({"id": record.pk, "words": found_by})
    if not facets:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_PUT_FACETS, [source.run_id, _json(facets)])
        cursor.execute(_PUT_WORDS, [_json(words)])
        cursor.execute(_ADD_CHOICES, [source.run_id, _json([asdict(facet) for facet in occurring])])
    return len(facets)


def _records(source: Import, after: int, until: int) -> Iterator[QuerySet[Evaluation]]:
    """What is new in these lines, and what they changed."""
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
    """Whether all records of a run can be found by facets and words."""
    return (
        RunFacet.objects.filter(run=run).exists() and not Uncovered.objects.filter(source__run=run).exists()
    )


def unindexed_count(run: Run) -> int:
    """How many records of a run cannot be found by facets and words yet."""
    left = Uncovered.objects.filter(source__run=run).aggregate(sum=Sum("evaluations"))["sum"]
    return left or 0

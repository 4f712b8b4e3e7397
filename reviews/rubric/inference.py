"""Infer a run's rubric from a sample of its imported records."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db import connection, transaction

from reviews.models import AuditEvent, Evaluation, Run
from reviews.records import extracted_scores
from reviews.records.scores import Score, identity, is_score, score_of
from reviews.rubric.definition import MAX_NAME, MAX_SCORE, MAX_SCORES, SCORES, extend_rubric, run_rubric
from reviews.rubric.proposals import read_own_proposals

SAMPLE_SIZE = 200
# Only the latest imports are sampled. Earlier ones were sampled at their end.
MAX_IMPORTS = 50
_LARGEST = 64 * 1024

# The first record at or after each place, without very large records.
_SAMPLE = """
    SELECT DISTINCT found.id
    FROM unnest(%s::bigint[], %s::bigint[]) AS place (import, line)
    CROSS JOIN LATERAL (
        SELECT id, raw_judge_output, parsed_rubric_scores FROM evaluation
        WHERE run_id = %s AND first_import_id = place.import AND first_line >= place.line
        ORDER BY first_line LIMIT 1
    ) AS found
    WHERE pg_column_size(found.raw_judge_output) + pg_column_size(found.parsed_rubric_scores) < %s
"""

# In the transaction of the first import, PostgreSQL may assume an empty table, and would sort the whole table
# for each place. The index is sorted already.
_ALONG_THE_INDEX = (
    "SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"
)
_ANY_WAY = "RESET enable_sort; RESET enable_seqscan; RESET enable_bitmapscan"

# Known words, best first. Other words follow, the most frequent first.
_RANKS = (
    ("excellent", "yes", "pass", "correct", "true", "full", "met"),
    ("very good", "mostly", "mostly correct"),
    ("good",),
    ("partial", "partially", "partially correct", "partially met", "fair", "average", "mixed"),
    ("poor", "minimal"),
    ("no", "fail", "incorrect", "false", "none", "not met", "very poor"),
)
_RANK = {word: rank for rank, words in enumerate(_RANKS) for word in words}


class _Read(NamedTuple):
    """A record with its scores by criterion."""

    record: Evaluation
    scores: dict[str, Score]


def infer_rubric(run: Run) -> None:
    """Add the criteria and scores of the run's records to its rubric. Called at the end of an import.

    A criterion is added if more than half of the sampled records have it. Only records that share a criterion
    with the rubric count. A score is added unless it is rare.
    """
    sample = [_Read(record, scores) for record in _sample(run) if (scores := _scores(record))]
    if sample:
        extend_rubric(run_id=run.pk, criteria=_criteria(run, sample), scores=_common_scores(sample))


def infer_again(run: Run) -> None:
    """Infer the rubric of replaced records. A rubric that a person has configured is only extended."""
    if run.rubric and not AuditEvent.objects.filter(run=run, action="configure run").exists():
        run.rubric = {}
        run.save(update_fields=["rubric"])
    infer_rubric(run)


def _sample(run: Run) -> list[Evaluation]:
    """Load records at regular places of the latest imports."""
    done = run.files.filter(new__gt=0).reverse()
    imports = list(done.values_list("pk", "lines")[:MAX_IMPORTS])
    each = SAMPLE_SIZE // max(1, len(imports))
    places = [(pk, 1 + number * lines // each) for pk, lines in imports for number in range(each)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ALONG_THE_INDEX)
        cursor.execute(_SAMPLE, [[pk for pk, _ in places], [line for _, line in places], run.pk, _LARGEST])
        keys = [key for (key,) in cursor.fetchall()]
        cursor.execute(_ANY_WAY)
    columns = ("extracted_scores", "parsed_rubric_scores", "source_import", "source_line")
    return list(Evaluation.objects.filter(pk__in=keys).order_by("pk").only(*columns))


def _scores(record: Evaluation) -> dict[str, Score]:
    parsed = {name: score_of(entry) for name, entry in record.parsed_rubric_scores.items()}
    found = parsed or {
        proposal.criterion: proposal.score for proposal in extracted_scores.read_extracted(record).proposals
    }
    return {
        name: score
        for name, score in found.items()
        if is_score(score) and name.strip() and name.isprintable() and len(name) <= MAX_NAME
    }


def _criteria(run: Run, sample: list[_Read]) -> list[str]:
    """Return the criteria of most records, or else the most frequent set, in the order of the file.

    Where a run has records of two rubrics, the criteria of one are not missing in those of the other.
    """
    known = set(run_rubric(run).criteria)
    related = [scores for _, scores in sample if not known or known.intersection(scores)]
    counts = Counter(name for scores in related for name in scores)
    common = {name for name, count in counts.items() if 2 * count > len(sample)}
    if not common and not known:
        common = set(Counter(frozenset(scores) for scores in related).most_common(1)[0][0])
    fullest = max(sample, key=lambda each: len(common.intersection(each.scores)))
    in_order = [proposal.criterion for proposal in read_own_proposals(fullest.record, run_rubric(run))]
    return [*(name for name in in_order if name in common), *sorted(common.difference(in_order))]


def _common_scores(sample: list[_Read]) -> list[Score]:
    """Return the scores of more than 1% of the records, best first."""
    counts = Counter(
        identity(score)
        for _, scores in sample
        for score in {identity(score): score for score in scores.values()}.values()
        if not isinstance(score, str) or (score.isprintable() and len(score) <= MAX_SCORE)
    )
    frequent = [value for (_, value), count in counts.most_common() if 100 * count > len(sample)]
    return _completed(list(_one_spelling_each(frequent)))[:MAX_SCORES]


def _one_spelling_each(scores: Iterable[Score]) -> Iterator[Score]:
    """Yield the scores without texts that differ from an earlier one only by case or spaces."""
    met = set()
    for score in scores:
        key = identity(score.strip().casefold() if isinstance(score, str) else score)
        if key not in met:
            met.add(key)
            yield score


def _completed(scores: list[Score]) -> list[Score]:
    """Sort the scores, best first. If only some of Yes, Partial and No occur, add the others."""
    words = {score.strip().casefold(): score for score in scores if isinstance(score, str)}
    usual = [str(score) for score in SCORES]
    if not words or len(words) < len(scores) or not words.keys() <= {word.casefold() for word in usual}:
        return sorted(scores, key=_place)
    cases = [case for case in (str.lower, str.upper) if all(word == case(word) for word in map(str, scores))]
    return [words.get(word.casefold(), cases[0](word) if cases else word) for word in usual]


def _place(score: Score) -> tuple[int, float]:
    """Return the sort key of a score: texts by rank, then numbers and booleans from the highest down."""
    if isinstance(score, str):
        return _RANK.get(score.strip().casefold(), len(_RANKS)), 0
    return len(_RANKS) + 1, -score

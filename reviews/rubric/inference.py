"""Infer a run's rubric from a sample of its imported records."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypeGuard

from django.db import transaction

from reviews.database.statements import execute, fetch_all
from reviews.models import Evaluation, Import, Run
from reviews.records import extracted_scores
from reviews.records.criteria_order import encode_order
from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import MAX_CRITERIA, MAX_NAME
from reviews.records.scales import MAX_NUMBER, MAX_VALUE, YES_PARTIAL_NO, Scale, ValueScale, number_of
from reviews.records.schema import Record
from reviews.records.scores import Score, identity, is_number, is_score, score_of
from reviews.rubric.found_scales import range_of_scores, scale_of_preferences, scale_of_texts
from reviews.rubric.proposals import read_own_proposals
from reviews.rubric.run_rubric import extend_rubric, extended_rubric, run_rubric

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


class _Read(NamedTuple):
    record: Evaluation
    scores: dict[str, Score]


def infer_rubric(run: Run) -> None:
    """Add the criteria and scales of the run's records to its rubric, unless somebody has declared it.

    Called at the end of an import. A criterion is added if more than half of the sampled records have it.
    Only records that share a criterion with the rubric count.
    """
    if run.is_rubric_declared:
        return
    if sample := _read_sample(_finished_imports(run), run):
        extend_rubric(run_id=run.pk, found=_infer(run, sample))
        run.refresh_from_db(fields=["rubric"])


def foresee_rubric(source: Import, lines: int) -> Rubric:
    """Return the rubric that a run would have if its import ended after these lines."""
    run = source.target_run
    if run.is_rubric_declared:
        return run_rubric(run)
    sample = _read_sample([(source.pk, lines), *_finished_imports(run)][:MAX_IMPORTS], run)
    return extended_rubric(run, _infer(run, sample)) if sample else run_rubric(run)


def foresee_rubric_from(run: Run, records: Iterable[Record]) -> Rubric | None:
    """Return the rubric that a run without one would have with these records. None if they have no scores."""
    sample = [_Read(record, scores) for one in records if (scores := _scores(record := _unsaved(one)))]
    return extended_rubric(run, _infer(run, sample)) if sample else None


def _unsaved(record: Record) -> Evaluation:
    parsed = record.parsed_rubric_scores
    return Evaluation(parsed_rubric_scores=parsed, criteria_order=encode_order(parsed))


def _infer(run: Run, sample: list[_Read]) -> Rubric:
    """Return the rubric of a sample. The scale that most of its criteria have is that of the rubric."""
    names = _criteria(run, sample)
    scales = {name: scale for name in names if (scale := _infer_scale(name, sample))}
    usual = Counter(scales.values()).most_common(1)
    common = usual[0][0] if usual else YES_PARTIAL_NO
    own = {name: scale for name, scale in scales.items() if scale != common}
    criteria = [Criterion(name, scale=own.get(name)) for name in names]
    is_scored = any(scale.has_levels for scale in (common, *scales.values()))
    return Rubric(tuple(criteria), common, VerdictRule("worst" if is_scored else "none"))


def _infer_scale(name: str, sample: list[_Read]) -> Scale | None:
    """Return the scale of a criterion's scores; None if they do not make one."""
    counts = Counter(identity(_as_number(read.scores[name])) for read in sample if name in read.scores)
    frequent = [value for (_, value), count in counts.most_common() if 100 * count > len(sample)]
    # A scale with many scores has each of them rarely.
    found = frequent if len(frequent) > 1 else [value for (_, value), _ in counts.most_common()]
    numbers = [value for (_, value), _ in counts.most_common() if _is_number(value)]
    if numbers and 2 * len(numbers) > len(counts):
        frequent_numbers = [value for value in found if _is_number(value)]
        return range_of_scores(frequent_numbers if 2 * len(frequent_numbers) > len(numbers) else numbers)
    if found and all(isinstance(value, bool) for value in found):
        return ValueScale((True, False), pass_from=True)
    texts = [
        value for value in found if isinstance(value, str) and value.isprintable() and len(value) <= MAX_VALUE
    ]
    return scale_of_preferences(texts) or scale_of_texts(texts)


def _finished_imports(run: Run) -> list[tuple[int, int]]:
    """Return the key and the number of lines of the latest imports."""
    return list(run.files.filter(new__gt=0).reverse().values_list("pk", "lines")[:MAX_IMPORTS])


def _read_sample(imports: list[tuple[int, int]], run: Run) -> list[_Read]:
    """Load records with scores at regular places of imports."""
    return [_Read(record, scores) for record in _sample(imports, run) if (scores := _scores(record))]


def _sample(imports: list[tuple[int, int]], run: Run) -> list[Evaluation]:
    each = SAMPLE_SIZE // max(1, len(imports))
    # Read each line once: an import may have fewer lines than places.
    places = dict.fromkeys(
        (pk, 1 + number * lines // each) for pk, lines in imports for number in range(each)
    )
    values = [[pk for pk, _ in places], [line for _, line in places], run.pk, _LARGEST]
    with transaction.atomic():
        execute(_ALONG_THE_INDEX)
        keys = [key for (key,) in fetch_all(_SAMPLE, values)]
        execute(_ANY_WAY)
    columns = ("extracted_scores", "parsed_rubric_scores", "criteria_order")
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
    known = set(run_rubric(run).names)
    related = [scores for _, scores in sample if not known or known.intersection(scores)]
    counts = Counter(name for scores in related for name in scores)
    common = {name for name, count in counts.items() if 2 * count > len(sample)}
    if not common and not known:
        common = set(Counter(frozenset(scores) for scores in related).most_common(1)[0][0])
    fullest = max(sample, key=lambda each: len(common.intersection(each.scores)))
    in_order = [proposal.criterion for proposal in read_own_proposals(fullest.record)]
    ordered = [*(name for name in in_order if name in common), *sorted(common.difference(in_order))]
    return ordered[:MAX_CRITERIA]


def _as_number(score: Score) -> Score:
    """Return the number that a judge may have written as text, or else the score."""
    number = number_of(score)
    return score if number is None else number


def _is_number(value: Score) -> TypeGuard[float]:
    return isinstance(value, int | float) and is_number(value) and abs(value) < MAX_NUMBER

"""Agreement of blind scores: between two reviewers, and with the judge."""

from typing import NamedTuple

from reviews.dashboard.selection import WorkSelection, selected_rows
from reviews.models import Run, User
from reviews.records.scores import read_score
from reviews.records.status import QUEUE_STATUSES
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics.score_categories import MOST_SCORES, ScoreCategories

_IN_PERIOD = """
    (%(start)s::timestamptz IS NULL OR at >= %(start)s) AND (%(end)s::timestamptz IS NULL OR at < %(end)s)
"""
_SCORED = """
    cell.is_blind AND cell.criterion IS NOT NULL AND cell.human IS NOT NULL
      AND (%(run)s::bigint IS NULL OR stratum.run_id = %(run)s)
      AND stratum.run_id <> ALL(%(hidden_runs)s::bigint[])
"""
#: A pair with fewer records has no figure.
FEWEST_RECORDS = 10
#: Which scores count as the same, as in the figures about the judge.
SAME_SCORE = (
    f"If a criterion has more than {MOST_SCORES} possible scores, those with the same level count as the "
    "same, or those in the same fifth of their range if it has no levels."
)
DEFINITION = (
    "The share of criteria to which both reviewers gave the same score, on records that both scored before "
    f"either saw the judge's scores. {SAME_SCORE} Pairs with fewer than {FEWEST_RECORDS} such "
    "records have no figure. n is the number of these records."
)
# Records in the queue are left out: the reader may still have to score them. Rows without a run count all
# records of a pair, the others the records with the same two scores of a criterion.
_PAIRS = f"""
    WITH joint AS MATERIALIZED (
        SELECT rating.evaluation_id AS record, rating.reviewer_id, stratum.run_id, cell.criterion, cell.human
        FROM rating_cell AS cell
        JOIN stratum ON stratum.id = cell.stratum_id
        JOIN rating ON rating.cell_id = cell.id AND rating.raters > 1
        WHERE {_SCORED} AND {_IN_PERIOD}
    )
    SELECT one.reviewer_id, other.reviewer_id, one.run_id, criterion, one.human, other.human,
           count(DISTINCT record)
    FROM joint AS one JOIN joint AS other USING (record, criterion)
    JOIN evaluation ON evaluation.id = record AND human_review_status <> ALL(%(queue)s)
    WHERE one.reviewer_id < other.reviewer_id
    GROUP BY GROUPING SETS ((1, 2), (1, 2, 3, 4, 5, 6)) ORDER BY 1, 2
"""  # noqa: S608 (constants)
_BLIND = f"""
    SELECT stratum.run_id, criterion, judge, human, sum(ratings)::bigint
    FROM rating_cell AS cell
    JOIN stratum ON stratum.id = cell.stratum_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS ratings FROM rating WHERE rating.cell_id = cell.id AND {_IN_PERIOD}
    ) AS counted
    WHERE {_SCORED} AND cell.judge IS NOT NULL AND ratings > 0 GROUP BY 1, 2, 3, 4
"""  # noqa: S608 (constants)
# All blind scores of a criterion in its run, whenever they were given.
_SCORES = f"""
    SELECT stratum.run_id, criterion, array_agg(DISTINCT score)
    FROM rating_cell AS cell
    JOIN stratum ON stratum.id = cell.stratum_id
    CROSS JOIN LATERAL (VALUES (judge), (human)) AS given (score)
    WHERE {_SCORED} AND score IS NOT NULL GROUP BY 1, 2
"""  # noqa: S608 (constants)


class BlindAgreement(NamedTuple):
    """Scores that two sides gave, and how many of them are equal."""

    scores: int
    same: int


class PairAgreement(NamedTuple):
    """The agreement of two reviewers, who are in the order of their usernames."""

    one: User
    other: User
    records: int
    #: Scores that both gave to the same criterion of the same record.
    scores: int
    same: int


class _Comparison:
    """Compares scores as the figures about the judge do: see `SAME_SCORE`."""

    def __init__(self, selection: WorkSelection) -> None:
        rows = selected_rows(_SCORES, selection)
        runs = Run.objects.only("rubric").in_bulk({run for run, *_ in rows})
        self._categories = {
            (run, criterion): ScoreCategories.from_scores(
                run_rubric(runs[run]), criterion, map(read_score, scores)
            )
            for run, criterion, scores in rows
        }

    def is_same(self, run: int, criterion: str, one: str, other: str) -> bool:
        return self._categories[run, criterion].is_same(read_score(one), read_score(other))


def pair_agreements(selection: WorkSelection) -> list[PairAgreement]:
    """Return the agreement of each pair of reviewers who scored the same record, sorted by username."""
    comparison = _Comparison(selection)
    counts: dict[tuple[int, int], list[int]] = {}
    for one, other, run, *scored, number in selected_rows(_PAIRS, selection, queue=list(QUEUE_STATUSES)):
        counted = counts.setdefault((one, other), [0, 0, 0])
        if run is None:
            counted[0] = number
        else:
            counted[1] += number
            counted[2] += number * comparison.is_same(run, *scored)
    people = User.objects.in_bulk({pk for pair in counts for pk in pair})
    found = []
    for pair, counted in counts.items():
        first, second = sorted((people[pk] for pk in pair), key=str)
        found.append(PairAgreement(first, second, *counted))
    return sorted(found, key=lambda pair: (str(pair.one), str(pair.other)))


def blind_agreement(selection: WorkSelection) -> BlindAgreement:
    """Count the scores given before the judge's were shown, and those equal to the judge's."""
    comparison = _Comparison(selection)
    rows = selected_rows(_BLIND, selection)
    same = sum(number for *scored, number in rows if comparison.is_same(*scored))
    return BlindAgreement(sum(number for *_, number in rows), same)

"""Agreement of blind scores: between two reviewers, and with the judge."""

from typing import NamedTuple

from reviews.dashboard.selection import WorkSelection, selected_rows
from reviews.models import User
from reviews.records.status import QUEUE_STATUSES

#: A pair with fewer records has no figure.
FEWEST_RECORDS = 10
DEFINITION = (
    "The share of criteria to which both reviewers gave the same score, on records that both scored before "
    f"either saw the judge's scores. Pairs with fewer than {FEWEST_RECORDS} such records have no figure. "
    "n is the number of these records."
)
# A score as text. Equal numbers may be written with and without decimals: 7 and 7.0. Texts ignore case and
# outer spaces, as `records.scores.likeness` does.
_SCORE = r"""
    CASE WHEN {0} ~ '^-?[0-9]+[.][0-9]+$' THEN trim_scale({0}::numeric)::text
         ELSE lower(regexp_replace({0}, '^"\s+|\s+"$', '"', 'g')) END
"""
# Records in the queue are left out: the reader may still have to score them.
_PAIRS = f"""
    WITH joint AS MATERIALIZED (
        SELECT rating.evaluation_id AS record, rating.reviewer_id, cell.criterion,
               {_SCORE.format("cell.human")} AS human
        FROM rating_cell AS cell
        JOIN stratum ON stratum.id = cell.stratum_id
        JOIN rating ON rating.cell_id = cell.id AND rating.raters > 1
        WHERE cell.is_blind AND cell.criterion IS NOT NULL AND cell.human IS NOT NULL
          AND (%(run)s::bigint IS NULL OR stratum.run_id = %(run)s)
          AND stratum.run_id <> ALL(%(hidden_runs)s::bigint[])
          AND (%(start)s::timestamptz IS NULL OR at >= %(start)s)
          AND (%(end)s::timestamptz IS NULL OR at < %(end)s)
    )
    SELECT one.reviewer_id, other.reviewer_id, count(DISTINCT record), count(*),
           count(*) FILTER (WHERE one.human = other.human)
    FROM joint AS one JOIN joint AS other USING (record, criterion)
    JOIN evaluation ON evaluation.id = record AND human_review_status <> ALL(%(queue)s)
    WHERE one.reviewer_id < other.reviewer_id GROUP BY 1, 2
"""  # noqa: S608 (constants)
_BLIND = f"""
    SELECT coalesce(sum(ratings), 0)::bigint,
           coalesce(sum(ratings) FILTER (
               WHERE {_SCORE.format("cell.judge")} = {_SCORE.format("cell.human")}
           ), 0)::bigint
    FROM rating_cell AS cell
    JOIN stratum ON stratum.id = cell.stratum_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS ratings FROM rating
        WHERE rating.cell_id = cell.id AND (%(start)s::timestamptz IS NULL OR at >= %(start)s)
          AND (%(end)s::timestamptz IS NULL OR at < %(end)s)
    ) AS counted
    WHERE cell.is_blind AND cell.criterion IS NOT NULL AND cell.judge IS NOT NULL AND cell.human IS NOT NULL
      AND (%(run)s::bigint IS NULL OR stratum.run_id = %(run)s)
      AND stratum.run_id <> ALL(%(hidden_runs)s::bigint[])
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


def pair_agreements(selection: WorkSelection) -> list[PairAgreement]:
    """Return the agreement of each pair of reviewers who scored the same record, sorted by username."""
    rows = selected_rows(_PAIRS, selection, queue=list(QUEUE_STATUSES))
    people = User.objects.in_bulk({pk for one, other, *_ in rows for pk in (one, other)})
    found = []
    for one, other, *counts in rows:
        first, second = sorted((people[one], people[other]), key=str)
        found.append(PairAgreement(first, second, *counts))
    return sorted(found, key=lambda pair: (str(pair.one), str(pair.other)))


def blind_agreement(selection: WorkSelection) -> BlindAgreement:
    """Count the scores given before the judge's were shown, and those equal to the judge's."""
    [row] = selected_rows(_BLIND, selection)
    return BlindAgreement(*row)

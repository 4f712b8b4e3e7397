"""Measure how often reviewers changed their blind scores after the judge's scores were shown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db import connection

from reviews.judge.cells import unpack_clusters
from reviews.judge.ratings import read_score
from reviews.judge.scope import JudgeScope
from reviews.records.scores import criterion_title, is_score
from reviews.rubric.overrides import is_same_score
from reviews.statistics import clusters
from reviews.statistics.clusters import Sample
from reviews.statistics.intervals import Estimate

DEFINITION = (
    "How often reviewers changed a score once they saw the judge's. Many changes towards the judge suggest "
    "that assisted decisions overstate its accuracy.\n\n"
    "The share of blind scores that differ from the score that the same reviewer submitted. It describes the "
    "submitted ratings, and no other records."
)
_LOAD = """
    SELECT cell.criterion, cell.judge, cell.human, final, packed
    FROM rating_cell AS cell CROSS JOIN LATERAL (
        SELECT final, string_agg(int2send((cluster - 32768)::int2), '') AS packed
        FROM rating WHERE cell_id = cell.id AND final IS NOT NULL AND {conditions}
        GROUP BY final
    ) AS found
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.is_blind
    ORDER BY cell.criterion NULLS FIRST, cell.id, final
"""


@dataclass(frozen=True)
class AfterReveal:
    """Changes of the blind scores of a criterion, or of the verdict."""

    #: None for the verdict.
    criterion: str | None
    changed: Estimate
    #: Changed scores that now equal the judge's.
    towards_judge: int
    #: Changed scores that used to equal the judge's.
    away_from_judge: int

    @property
    def title(self) -> str:
        return "Verdict" if self.criterion is None else criterion_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"changed": self.changed.as_json()}


@dataclass(frozen=True)
class _Submitted:
    """Blind ratings with the same scores of the judge, the reviewer before the reveal, and after it."""

    judge: Any
    human: Any
    final: Any
    packed: bytes

    @property
    def is_changed(self) -> bool:
        return not is_same_score(self.human, self.final)


def measure_changes(scope: JudgeScope) -> tuple[AfterReveal, ...]:
    """Measure the changes of the verdict, then of each criterion by name. Takes two queries."""
    found: dict[str | None, list[_Submitted]] = {}
    for criterion, *scores, packed in _load(scope):
        judge, human, final = (
            (score or None for score in scores) if criterion is None else map(read_score, scores)
        )
        if is_score(human):
            found.setdefault(criterion, []).append(_Submitted(judge, human, final, bytes(packed)))
    return tuple(_changes(criterion, rows) for criterion, rows in found.items())


def _load(scope: JudgeScope) -> Iterator[Sequence[Any]]:
    conditions, values = scope.rating_conditions
    with connection.cursor() as cursor:
        cursor.execute(
            _LOAD.format(conditions=conditions), values | {"strata": [one.pk for one in scope.strata()]}
        )
        yield from cursor


def _changes(criterion: str | None, rows: Sequence[_Submitted]) -> AfterReveal:
    clusters_of = [unpack_clusters(row.packed) for row in rows]
    sizes = [len(one) for one in clusters_of]
    sample = Sample(
        np.zeros(sum(sizes), dtype=np.int32),
        np.concatenate(clusters_of),
        np.ones(sum(sizes)),
        np.repeat(np.arange(len(rows)), sizes),
    )
    totals = clusters.cluster_totals(sample, [[float(row.is_changed), 1.0] for row in rows])
    return AfterReveal(
        criterion,
        clusters.ratio(totals, 0, 1),
        towards_judge=_count(rows, sizes, lambda row: is_same_score(row.final, row.judge)),
        away_from_judge=_count(rows, sizes, lambda row: is_same_score(row.human, row.judge)),
    )


def _count(rows: Sequence[_Submitted], sizes: Sequence[int], condition: Callable[[_Submitted], bool]) -> int:
    """Count the changed ratings that meet a condition."""
    return sum(size for row, size in zip(rows, sizes, strict=True) if row.is_changed and condition(row))

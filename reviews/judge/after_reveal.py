"""Measure how often reviewers changed their blind scores after the judge's scores were shown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cognireview.types.report_parts import AfterReveal
from reviews.judge.cells import IntArray
from reviews.judge.ratings import RatingBatch, read_verdict
from reviews.records.scores import is_alike, is_score, read_score
from reviews.statistics import clusters
from reviews.statistics.extrapolation import Sample, cluster_totals

DEFINITION = (
    "How often reviewers changed a score once they saw the judge's. Many changes towards the judge suggest "
    "that assisted decisions overstate its accuracy.\n\n"
    "The share of blind scores that differ from the score that the same reviewer submitted. It describes the "
    "submitted ratings, and no other records."
)


@dataclass(frozen=True)
class _Submitted:
    """Blind ratings with the same scores of the judge, the reviewer before the reveal, and after it."""

    judge: Any
    human: Any
    final: Any
    #: The cluster of each: see `records.clusters`.
    cluster: IntArray
    is_changed: bool


def measure_changes(ratings: Mapping[str | None, Sequence[RatingBatch]]) -> tuple[AfterReveal, ...]:
    """Measure the changes of blind ratings by criterion; None is the verdict."""
    found = {criterion: [*_submitted(criterion, batches)] for criterion, batches in ratings.items()}
    return tuple(_changes(criterion, rows) for criterion, rows in found.items() if rows)


def _submitted(criterion: str | None, batches: Iterable[RatingBatch]) -> Iterator[_Submitted]:
    read = read_verdict if criterion is None else read_score
    for batch in batches:
        judge, human = batch.kind.judge, batch.kind.human
        if batch.final is not None and is_score(human):
            final = read(batch.final)
            is_changed = not is_alike(human, final)
            yield _Submitted(judge, human, final, batch.cluster, is_changed)


def _changes(criterion: str | None, rows: Sequence[_Submitted]) -> AfterReveal:
    sizes = [len(row.cluster) for row in rows]
    sample = Sample(
        np.zeros(len(rows), dtype=np.int32),
        np.concatenate([row.cluster for row in rows]),
        np.ones(sum(sizes)),
        np.array(sizes),
    )
    totals = cluster_totals(sample, [[float(row.is_changed), 1.0] for row in rows])
    return AfterReveal(
        criterion,
        clusters.ratio(totals, 0, 1),
        towards_judge=_count(rows, sizes, lambda row: is_alike(row.final, row.judge)),
        away_from_judge=_count(rows, sizes, lambda row: is_alike(row.human, row.judge)),
    )


def _count(rows: Sequence[_Submitted], sizes: Sequence[int], condition: Callable[[_Submitted], bool]) -> int:
    """Count the changed ratings that meet a condition."""
    return sum(size for row, size in zip(rows, sizes, strict=True) if row.is_changed and condition(row))

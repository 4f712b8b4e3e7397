"""Measure how often reviewers changed their blind scores after the judge's scores were shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    changed, kept = [row for row in rows if row.is_changed], [row for row in rows if not row.is_changed]
    counts = np.array([sum(len(row.cluster) for row in some) for some in (changed, kept)])
    cluster = np.concatenate([row.cluster for row in (*changed, *kept)])
    sample = Sample(np.zeros(2, dtype=np.int32), cluster, np.ones(len(cluster)), counts)
    return AfterReveal(
        criterion,
        clusters.ratio(cluster_totals(sample, np.eye(2)), 0, (0, 1)),
        towards_judge=sum(len(row.cluster) for row in changed if is_alike(row.final, row.judge)),
        away_from_judge=sum(len(row.cluster) for row in changed if is_alike(row.human, row.judge)),
    )

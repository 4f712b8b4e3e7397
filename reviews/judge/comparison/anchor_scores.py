"""Measure how the scores of a judge shifted between two runs, by criterion, on the same responses."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from django.db import connection

from cognireview.types.judge import ScoreShift
from reviews.judge.comparison.anchors import Anchors
from reviews.models import Run, RunFacet
from reviews.records.scales import PairwiseScale, RangeScale, Scale
from reviews.records.scores import format_score
from reviews.rubric.run_rubric import run_rubric
from reviews.search.facets import facet_key
from reviews.statistics.contrasts import difference_of_means
from reviews.statistics.extrapolation import Sample
from reviews.statistics.intervals import scale

#: Of more pairs than this, the scores of the first ones are read. Pairs are in random order.
MOST_SCORED = 5_000

_SCORES = """
    SELECT evaluation_id, key FROM evaluation_facets CROSS JOIN LATERAL unnest(keys) AS found (key)
    WHERE evaluation_id = ANY(%(records)s) AND key = ANY(%(keys)s)
"""


class _Amounts(NamedTuple):
    """Numbers of the scores of a criterion."""

    #: The number of each score, by the key of its facet.
    of_key: dict[int, float]
    lowest: float
    highest: float


def measure_score_shifts(first: Run, second: Run, anchors: Anchors) -> list[ScoreShift]:
    """Measure the shift of each criterion with the same scale in both runs, in the order of the rubric."""
    chosen = anchors.head(MOST_SCORED)
    if not len(chosen):
        return []
    amounts = dict(_shared_scales(first, second))
    records = np.unique(np.concatenate([chosen.first, chosen.second])).tolist()
    scores = _load_scores(records, amounts)
    return [
        shift
        for criterion, read in amounts.items()
        if (shift := _measure(criterion, read, scores.get(criterion, {}), chosen))
    ]


def _shared_scales(first: Run, second: Run) -> Iterator[tuple[str, _Amounts]]:
    before, after = run_rubric(first), run_rubric(second)
    names = dict.fromkeys((*before.names, *after.names))
    values = RunFacet.objects.filter(run__in=[first, second], name="score").values_list("value", flat=True)
    found = [*values.distinct()]
    for name in names:
        scale = before.scale_of(name)
        if scale == after.scale_of(name) and not isinstance(scale, PairwiseScale):
            numbers = {facet_key("score", value): _amount(scale, name, value) for value in found}
            known = {key: number for key, number in numbers.items() if number is not None}
            lowest, highest = _limits(scale)
            if highest > lowest:
                yield name, _Amounts(known, lowest, highest)


def _amount(scale: Scale, criterion: str, value: str) -> float | None:
    """Return the number of a score, from the value of its facet; None if it is of another criterion."""
    text = value.removeprefix(f"{criterion}=")
    if text == value:
        return None
    listed = next((score for score in scale.buttons if format_score(score).lower() == text.lower()), text)
    return scale.amount(listed)


def _limits(scale: Scale) -> tuple[float, float]:
    if isinstance(scale, RangeScale):
        return scale.minimum, scale.maximum
    amounts = [amount for score in scale.buttons if (amount := scale.amount(score)) is not None]
    return min(amounts, default=0.0), max(amounts, default=0.0)


def _load_scores(records: list[int], amounts: dict[str, _Amounts]) -> dict[str, dict[int, float]]:
    """Return the numbers of the scores of records, by criterion and record."""
    criterion_of = {key: criterion for criterion, read in amounts.items() for key in read.of_key}
    found: dict[str, dict[int, float]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SCORES, {"records": records, "keys": [*criterion_of]})
        for record, key in cursor:
            criterion = criterion_of[key]
            found.setdefault(criterion, {})[record] = amounts[criterion].of_key[key]
    return found


def _measure(criterion: str, read: _Amounts, scores: dict[int, float], anchors: Anchors) -> ScoreShift | None:
    sides = [
        np.array([scores.get(record, np.nan) for record in records.tolist()], dtype=np.float64)
        for records in (anchors.first, anchors.second)
    ]
    both = ~np.isnan(sides[0]) & ~np.isnan(sides[1])
    if not both.any():
        return None
    kept = anchors.only(both)
    reach = read.highest - read.lowest
    shares = [(side[both] - read.lowest) / reach for side in sides]
    sample = Sample(np.zeros(len(kept), dtype=np.int32), kept.cluster, kept.weight)
    compared = difference_of_means(sample, shares[1], shares[0])
    means = [float(read.lowest + reach * np.average(side, weights=kept.weight)) for side in shares]
    return ScoreShift(criterion, len(kept), means[0], means[1], scale(compared.difference, reach), compared.p)

"""Confidence sequences of the judge's figures."""

import numpy as np
import pytest

from cognireview.types.estimates import Estimate
from reviews.judge import sequences
from reviews.judge.accuracy_figures import FIGURES
from reviews.statistics import clusters
from reviews.statistics.agreement import Category
from reviews.statistics.betting import share_sequence, widened
from reviews.statistics.coefficients import Confusion
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.intervals import undefined

SCORES = (Category("Yes", "yes", 2), Category("Partial", "partial", 1), Category("No", "no", 0))
YES, PARTIAL, NO = range(3)


def confusion_of(pairs: dict[tuple[int, int], int]) -> Confusion:
    """Count pairs of the judge's and a person's score, each record in a task of its own."""
    places = np.repeat([judge * 3 + human for judge, human in pairs], list(pairs.values()))
    n = len(places)
    sample = Sample(np.zeros(n, dtype=np.int64), np.arange(n), np.ones(n))
    return Confusion(SCORES, cluster_totals(sample, np.eye(9)[places]))


def value_and_limits(estimate: Estimate) -> list[float | None]:
    return [estimate.value, estimate.low, estimate.high]


def of_counts(hits: int, n: int) -> Estimate:
    return share_sequence((np.arange(n) < hits).astype(float), np.ones(n), n)


PAIRS = {(YES, YES): 40, (YES, NO): 8, (NO, NO): 30, (NO, YES): 6, (PARTIAL, NO): 2, (PARTIAL, PARTIAL): 14}


@pytest.mark.parametrize(
    ("name", "hits", "n"), [("accuracy", 84, 100), ("false_pass", 8, 40), ("false_fail", 6, 46)]
)
def test_share_has_a_sequence_by_betting(name: str, hits: int, n: int) -> None:
    estimate = Estimate(hits / n, 0, 1, n)
    found = sequences.figure_sequence(name, estimate, confusion_of(PAIRS))
    assert value_and_limits(found) == pytest.approx(value_and_limits(of_counts(hits, n)), abs=1e-4)
    assert found.n == n


def test_leniency_has_a_sequence_by_betting() -> None:
    """The judge is milder in 8 + 2 pairs and stricter in 6 of 100."""
    found = sequences.figure_sequence("leniency", Estimate(0.04, 0, 1, 100), confusion_of(PAIRS))
    half = share_sequence(np.r_[np.ones(10), np.full(84, 0.5), np.zeros(6)], np.ones(100), 100)
    assert value_and_limits(found) == pytest.approx(
        [2 * (limit or 0) - 1 for limit in value_and_limits(half)], abs=1e-4
    )
    assert found.value == pytest.approx(0.04)


def test_coefficient_has_an_asymptotic_sequence() -> None:
    estimate = Estimate(0.6, 0.5, 0.7, 100)
    assert sequences.figure_sequence("kappa", estimate, confusion_of(PAIRS)) == widened(estimate)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_a_requirement_has_a_sequence(name: str) -> None:
    assert sequences.figure_sequence(name, Estimate(0.6, 0.5, 0.7, 100), confusion_of(PAIRS)).n == 100


def test_unknown_figure_is_rejected() -> None:
    with pytest.raises(KeyError, match="median_difference"):
        sequences.figure_sequence("median_difference", Estimate(0.6, 0.5, 0.7, 100), confusion_of(PAIRS))


def test_coefficient_of_few_ratings_is_undefined() -> None:
    found = sequences.coefficient_sequence(Estimate(0.9, 0.8, 1, 49))
    assert (found.value, found.n, found.why) == (None, 49, "A coefficient needs 50 ratings or more.")


def test_share_of_columns_has_a_sequence_by_betting() -> None:
    totals = confusion_of(PAIRS).totals
    estimate = clusters.ratio(totals, 2, (2, 6))
    found = sequences.share_of_columns(estimate, totals, (2,), (2, 6))
    assert value_and_limits(found) == pytest.approx(value_and_limits(of_counts(8, 14)), abs=1e-4)


def test_undefined_figure_has_no_sequence() -> None:
    nothing = undefined("Records are being counted.", 12)
    assert sequences.figure_sequence("accuracy", nothing, confusion_of(PAIRS)) == nothing
    assert sequences.figure_sequence("kappa", nothing, None) == nothing
    assert sequences.share_of_columns(nothing, None, (0,), (1,)) == nothing
    assert sequences.coefficient_sequence(nothing) == nothing

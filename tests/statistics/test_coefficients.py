"""Coefficients of agreement with the judge match published examples and other libraries, or are undefined."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cognireview.types.estimates import Estimate
from reviews.judge.accuracy_figures import FIGURES
from reviews.records.scales import Level
from reviews.statistics import coefficients
from reviews.statistics.agreement import Category
from reviews.statistics.coefficients import (
    DEFINITIONS,
    Confusion,
    ac1,
    accuracy,
    defects_caught,
    false_fail,
    false_pass,
    kappa,
    leniency,
    weighted_kappa,
)
from reviews.statistics.extrapolation import Population, Sample, cluster_totals
from reviews.statistics.students_t import t_quantile
from tests.support.estimates import limits, value
from tests.support.statistics_packages import metrics

YES_NO = (Category("Yes", "yes", 2), Category("No", "no", 0))
SCALE = (Category("Yes", "yes", 2), Category("Partial", "partial", 1), Category("No", "no", 0))
OF_A_TABLE = [getattr(coefficients, name) for name in FIGURES]
CHANCE_CORRECTED = (kappa, weighted_kappa, ac1)

# cont3x3abstractors of Gwet, Handbook of Inter-Rater Reliability, with the results that its author's package
# irrCAC prints.
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
# Fleiss 1981, Statistical Methods for Rates and Proportions, table 13.1.
DIAGNOSES = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]


def table(counts: Sequence[Sequence[int]], *categories: Category) -> Confusion:
    """Count pairs of independent ratings, by default with ordered categories."""
    usual = tuple(Category(str(place), None, -place) for place in range(len(counts)))
    flat = np.array(counts, dtype=int).ravel()
    drawn = np.repeat(np.arange(len(flat)), flat)
    sample = Sample(np.zeros_like(drawn), np.arange(len(drawn)), np.ones(len(drawn)))
    return Confusion(categories or usual, cluster_totals(sample, np.eye(len(flat))[drawn]))


def counts_of(confusion: Confusion) -> list[list[int]]:
    return [[int(count) for count in row] for row in confusion.totals.counts.reshape(confusion.size, -1)]


def standard_error(estimate: Estimate) -> float:
    """Return half of the width of the interval, in quantiles of t."""
    low, high = limits(estimate, 12)
    return (high - low) / 2 / t_quantile(estimate.n - 1)


@st.composite
def tables(draw: st.DrawFn, most: int = 30) -> Confusion:
    size = draw(st.integers(2, 4))
    cells = draw(st.lists(st.integers(0, most), min_size=size * size, max_size=size * size))
    return table([cells[size * row : size * (row + 1)] for row in range(size)])


def pairs_of(confusion: Confusion) -> tuple[list[int], list[int]]:
    """Return the scores of judge and human, one pair per record."""
    size, counts = range(confusion.size), counts_of(confusion)
    found = [cell for cell in product(size, size) for _ in range(counts[cell[0]][cell[1]])]
    return [judge for judge, _ in found], [human for _, human in found]


class TestPublishedExamples:
    @pytest.mark.parametrize(
        ("coefficient", "published", "error"),
        [(kappa, 0.7964094, 0.05891072), (ac1, 0.8493305, 0.04321747)],
    )
    def test_coefficients_match_gwets_example(
        self, coefficient: Callable[[Confusion], Estimate], published: float, error: float
    ) -> None:
        found = coefficient(table(ABSTRACTORS))
        assert (round(value(found), 7), found.n) == (published, 100)
        assert standard_error(found) == pytest.approx(error, rel=0.06)

    def test_kappa_interval_matches_fleiss_example(self) -> None:
        found = kappa(table(DIAGNOSES))
        assert round(value(found), 2) == 0.68
        assert standard_error(found) == pytest.approx(0.087, rel=0.03)

    def test_weighted_kappa_matches_cohens_example(self) -> None:
        """Cohen 1960: two judges and 200 patients."""
        assert round(value(kappa(table([[88, 14, 18], [10, 40, 10], [2, 6, 12]]))), 2) == 0.49

    @pytest.mark.parametrize(
        ("coefficient", "known", "error"),
        [(kappa, 0.6786632391, 0.0178351221), (weighted_kappa, 0.7445643911, 0.0154771595)],
    )
    def test_kappa_and_its_error_are_those_of_statsmodels(
        self, coefficient: Callable[[Confusion], Estimate], known: float, error: float
    ) -> None:
        """As computed by `cohens_kappa` of statsmodels, with linear weights if weighted."""
        found = coefficient(table([[300, 40, 10], [50, 200, 60], [20, 70, 450]]))
        assert value(found) == pytest.approx(known)
        assert standard_error(found) == pytest.approx(error, rel=0.05)


class TestDefinition:
    @pytest.mark.slow
    @given(tables())
    def test_kappa_is_one_minus_the_share_of_the_expected_disagreement(self, confusion: Confusion) -> None:
        counts = np.array(counts_of(confusion))
        judge, human = counts.sum(axis=1), counts.sum(axis=0)
        assume((judge > 0).sum() > 1 and (human > 0).sum() > 1)
        rank = np.arange(confusion.size)
        apart = abs(rank[:, None] - rank)
        for figure, weights in ((kappa, apart > 0), (weighted_kappa, apart)):
            expected = (weights * np.outer(judge, human)).sum() / counts.sum()
            assert value(figure(confusion)) == pytest.approx(1 - (weights * counts).sum() / expected)

    @pytest.mark.exhaustive
    @given(confusion=tables())
    def test_kappa_equals_that_of_scikit_learn(self, confusion: Confusion) -> None:
        judge, human = pairs_of(confusion)
        assume(len({*judge}) > 1 and len({*human}) > 1)
        cohen_kappa_score = metrics.cohen_kappa_score
        expected = cohen_kappa_score(judge, human)
        assert value(kappa(confusion)) == pytest.approx(expected)
        labels = [*range(len(confusion.categories))]
        expected = cohen_kappa_score(judge, human, labels=labels, weights="linear")
        assert value(weighted_kappa(confusion)) == pytest.approx(expected)


class TestInterval:
    @pytest.mark.parametrize("coefficient", CHANCE_CORRECTED)
    def test_interval_is_close_to_the_jackknife(self, coefficient: Callable[[Confusion], Estimate]) -> None:
        """For large samples, linearisation agrees with the jackknife, which needs no derivatives."""
        counts = [[180, 30, 10], [40, 150, 70], [10, 60, 250]]
        n = sum(map(sum, counts))
        left_out = []
        for row, column in product(range(3), range(3)):
            rest = [list(cells) for cells in counts]
            rest[row][column] -= 1
            left_out.append((value(coefficient(table(rest, *SCALE))), counts[row][column]))
        mean = sum(one * count for one, count in left_out) / n
        variance = (n - 1) / n * sum(count * (one - mean) ** 2 for one, count in left_out)
        found = coefficient(table(counts, *SCALE))
        assert standard_error(found) == pytest.approx(sqrt(variance), rel=0.05)

    @pytest.mark.slow
    @given(tables(), st.sampled_from(OF_A_TABLE))
    def test_interval_contains_the_value(
        self, confusion: Confusion, figure: Callable[[Confusion], Estimate]
    ) -> None:
        found = figure(confusion)
        if found.value is None:
            assert found.why.endswith(".")
        else:
            assert -1 <= limits(found)[0] <= round(found.value, 9) <= limits(found)[1] <= 1

    @pytest.mark.parametrize("coefficient", CHANCE_CORRECTED)
    def test_interval_has_a_width_if_few_pairs_all_agree(
        self, coefficient: Callable[[Confusion], Estimate]
    ) -> None:
        few, many = coefficient(table([[3, 0], [0, 4]])), coefficient(table([[300, 0], [0, 400]]))
        assert (few.value, few.high) == (1, 1)
        assert limits(few)[0] < 0.5
        assert limits(many)[0] > 0.98


class TestSymmetry:
    @pytest.mark.slow
    @given(tables(), st.sampled_from(CHANCE_CORRECTED))
    def test_swapping_raters_keeps_agreement(
        self, confusion: Confusion, coefficient: Callable[[Confusion], Estimate]
    ) -> None:
        turned = table([*zip(*counts_of(confusion), strict=True)])
        assert coefficient(turned).value == pytest.approx(coefficient(confusion).value)

    @given(tables())
    def test_swapping_raters_negates_leniency(self, confusion: Confusion) -> None:
        assume(confusion.n)
        there, back = leniency(confusion), leniency(table([*zip(*counts_of(confusion), strict=True)]))
        assert value(there) == pytest.approx(-value(back))
        assert limits(there) == pytest.approx([-limit for limit in reversed(limits(back))])

    @pytest.mark.slow
    @given(tables(), st.randoms())
    def test_order_of_scores_changes_no_nominal_coefficient(self, confusion: Confusion, random: Any) -> None:
        places = [*range(len(confusion.categories))]
        random.shuffle(places)
        counts = counts_of(confusion)
        shuffled = table(
            [[counts[row][column] for column in places] for row in places],
            *(confusion.categories[place] for place in places),
        )
        for figure in (accuracy, kappa, weighted_kappa, ac1, leniency):
            assert figure(shuffled).value == pytest.approx(figure(confusion).value)


class TestFalsePassAndFalseFail:
    counts = table([[50, 3, 6], [4, 5, 2], [1, 1, 28]], *SCALE)

    def test_false_pass_and_fail_divide_by_human_no_and_yes(self) -> None:
        assert (value(false_pass(self.counts)), false_pass(self.counts).n) == (6 / 36, 36)
        assert (value(false_fail(self.counts)), false_fail(self.counts).n) == (1 / 55, 55)

    def test_defects_caught_divide_by_human_no(self) -> None:
        assert (value(defects_caught(self.counts)), defects_caught(self.counts).n) == (28 / 36, 36)

    def test_false_pass_and_fail_use_levels(self) -> None:
        levels: list[Level] = ["yes", "yes", "no", "no"]
        numbers = [Category(str(5 - place), level, -place) for place, level in enumerate(levels)]
        found = table([[9, 1, 2, 0], [0, 0, 3, 0], [0, 4, 0, 0], [1, 0, 0, 5]], *numbers)
        assert (value(false_pass(found)), false_pass(found).n) == (5 / 10, 10)
        assert (value(false_fail(found)), false_fail(found).n) == (5 / 15, 15)

    def test_false_pass_and_fail_without_a_base_are_undefined(self) -> None:
        found = table([[5, 0], [2, 0]], *YES_NO)
        assert false_pass(found).why == "The human gave no score that counts as No."
        assert false_fail(table([[0, 5], [0, 2]], *YES_NO)).value is None


class TestLeniency:
    def test_leniency_is_share_more_lenient_minus_share_stricter(self) -> None:
        assert value(leniency(table([[50, 3, 6], [4, 5, 2], [1, 1, 28]], *SCALE))) == pytest.approx(0.05)

    def test_leniency_interval_has_a_width_if_nothing_differs(self) -> None:
        found = leniency(table([[5, 0], [0, 5]], *YES_NO))
        assert found.value == 0
        assert limits(found)[0] == -limits(found)[1] < -0.2

    def test_leniency_omits_scores_without_a_rank(self) -> None:
        found = table([[5, 1, 1], [0, 3, 0], [2, 2, 9]], *YES_NO, Category("it depends"))
        assert value(leniency(found)) == pytest.approx(1 / 9)
        assert leniency(found).n == 9
        assert value(weighted_kappa(found)) == pytest.approx(value(kappa(table([[5, 1], [0, 3]]))))


class TestUndefined:
    @pytest.mark.parametrize("figure", OF_A_TABLE)
    def test_coefficients_without_pairs_are_undefined(self, figure: Callable[[Confusion], Estimate]) -> None:
        for empty in (table([[0, 0], [0, 0]], *YES_NO), table([])):
            found = figure(empty)
            assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
            assert found.why.endswith(".")

    def test_kappa_is_undefined_if_both_give_only_one_score(self) -> None:
        assert kappa(table([[40, 0], [0, 0]], *YES_NO)).why == (
            "All 40 pairs are Yes on both sides: chance alone would agree, so kappa is undefined. "
            "AC1 is 1.00."
        )
        assert kappa(table([[0, 0], [0, 2]], *YES_NO)).why.startswith("All 2 pairs are No on both sides:")
        assert kappa(table([[7]], Category("done"))).why.endswith("so kappa is undefined.")

    def test_kappa_of_one_pair_is_undefined(self) -> None:
        for counts in ([[1, 0], [0, 0]], [[0, 1], [0, 0]]):
            assert kappa(table(counts, *YES_NO)).why == (
                "There is only one pair of scores, too few to estimate chance."
            )

    def test_kappa_is_undefined_if_one_rater_gives_only_one_score(self) -> None:
        assert kappa(table([[30, 10], [0, 0]], *YES_NO)).why == (
            "In all 40 pairs the judge says Yes, so kappa is undefined: it would be 0 whatever "
            "the human says. AC1 is 0.68."
        )
        assert kappa(table([[0, 10], [0, 30]], *YES_NO)).why.startswith("In all 40 pairs the human says No,")

    def test_ac1_is_defined_if_all_pairs_agree(self) -> None:
        found = ac1(table([[40, 0], [0, 0]], *YES_NO))
        assert (found.value, limits(found, 2)) == (1, (0.92, 1.0))

    def test_ac1_with_one_category_is_undefined(self) -> None:
        assert ac1(table([[7]])).why == "Only one score is possible."

    def test_weighted_kappa_without_an_order_is_undefined(self) -> None:
        assert weighted_kappa(table([[3, 1], [2, 5]], Category("a"), Category("b"))).why == (
            "The scores have no order."
        )
        same = (Category("good", "yes", 2), Category("fine", "yes", 2))
        assert weighted_kappa(table([[3, 1], [2, 5]], *same)).value is None


class TestClusters:
    @pytest.mark.parametrize("figure", OF_A_TABLE)
    def test_ratings_of_one_task_count_as_one_if_they_are_equal(
        self, figure: Callable[[Confusion], Estimate]
    ) -> None:
        counts = np.array([[30, 5, 2], [4, 12, 6], [1, 3, 25]])
        drawn = np.repeat(np.arange(9), counts.ravel())
        sample = Sample(np.zeros(264, int), np.repeat(np.arange(88), 3), np.ones(264))
        thrice = figure(Confusion(SCALE, cluster_totals(sample, np.eye(9)[np.repeat(drawn, 3)])))
        once = figure(table(counts.tolist(), *SCALE))
        assert thrice.value == pytest.approx(once.value)
        assert (thrice.clusters, thrice.n) == (once.clusters, 3 * once.n)
        assert standard_error(thrice) == pytest.approx(standard_error(once), rel=0.1)

    def test_weights_give_the_kappa_of_the_population(self) -> None:
        """Half of the records were flagged, and nine of ten ratings are of flagged records."""
        flagged, others = [[50, 20], [30, 80]], [[8, 1], [2, 9]]
        drawn = np.concatenate(
            [
                np.repeat(np.arange(4), np.ravel(counts)) + start
                for start, counts in ((0, flagged), (4, others))
            ]
        )
        n, cell = len(drawn), (drawn >= 4).astype(int)
        population = Population(
            [("1",), ("0",)], np.array([500, 500]), [np.arange(500), np.arange(500, 1000)]
        )
        sample = Sample(cell, np.where(cell == 1, 500, 0) + np.arange(n), np.where(cell == 1, 25, 25 / 9))
        found = kappa(Confusion(YES_NO, cluster_totals(sample, np.eye(4)[drawn % 4], population)))
        expected = kappa(table((np.array(flagged) + 9 * np.array(others)).tolist(), *YES_NO))
        assert value(found) == pytest.approx(value(expected))
        assert standard_error(found) > standard_error(kappa(table(flagged, *YES_NO)))

    def test_confusion_of_a_domain_has_its_columns(self) -> None:
        drawn = np.array([0, 0, 3, 1, 3, 3])
        sample = Sample(np.array([0, 0, 0, 1, 1, 1]), np.arange(6), np.ones(6))
        totals = cluster_totals(sample, np.eye(4)[drawn], domains=[0, 1])
        assert accuracy(Confusion(YES_NO, totals)).value == 1
        assert accuracy(Confusion(YES_NO, totals, start=4)).value == pytest.approx(2 / 3)


def test_every_coefficient_has_a_definition_with_its_source() -> None:
    assert {*FIGURES} == {*DEFINITIONS}
    assert all(re.search(r"\b(19|20)\d\d\b", text) for text in DEFINITIONS.values())

"""Coefficients of agreement match published examples and scikit-learn, or are undefined."""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product
from math import sqrt
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reviews.records.scales import Level
from reviews.statistics.agreement import (
    DEFINITIONS,
    Category,
    ConfusionMatrix,
    ac1,
    agreement,
    false_fail,
    false_pass,
    kappa,
    leniency,
    weighted_kappa,
)
from reviews.statistics.intervals import Estimate, Z, wilson

YES_NO = (Category("Yes", "yes", 2), Category("No", "no", 0))
SCALE = (Category("Yes", "yes", 2), Category("Partial", "partial", 1), Category("No", "no", 0))
OF_A_TABLE = (agreement, kappa, weighted_kappa, ac1, false_pass, false_fail, leniency)
CHANCE_CORRECTED = (kappa, weighted_kappa, ac1)

# cont3x3abstractors of Gwet, Handbook of Inter-Rater Reliability, with the results that its author's package
# irrCAC prints.
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
# Fleiss 1981, Statistical Methods for Rates and Proportions, table 13.1.
DIAGNOSES = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]


def table(counts: Sequence[Sequence[int]], *categories: Category) -> ConfusionMatrix:
    """Build a confusion matrix, by default with ordered categories."""
    usual = tuple(Category(str(place), None, -place) for place in range(len(counts)))
    return ConfusionMatrix(categories or usual, tuple(map(tuple, counts)))


def value(estimate: Estimate) -> float:
    assert estimate.value is not None, estimate.why
    return estimate.value


def limits(estimate: Estimate, digits: int = 9) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return round(estimate.low, digits), round(estimate.high, digits)


def standard_error(estimate: Estimate) -> float:
    return (value(estimate) - limits(estimate, 12)[0]) / Z


@st.composite
def tables(draw: st.DrawFn, most: int = 30) -> ConfusionMatrix:
    size = draw(st.integers(2, 4))
    cells = draw(st.lists(st.integers(0, most), min_size=size * size, max_size=size * size))
    return table([cells[size * row : size * (row + 1)] for row in range(size)])


def pairs_of(confusion: ConfusionMatrix) -> tuple[list[int], list[int]]:
    """Return the scores of judge and human, one pair per record."""
    size = range(len(confusion.categories))
    found = [cell for cell in product(size, size) for _ in range(confusion.counts[cell[0]][cell[1]])]
    return [judge for judge, _ in found], [human for _, human in found]


class TestPublishedExamples:
    @pytest.mark.parametrize(
        ("coefficient", "published", "error"),
        [(kappa, 0.7964094, 0.05891072), (ac1, 0.8493305, 0.04321747)],
    )
    def test_coefficients_match_gwets_example(
        self, coefficient: Callable[[ConfusionMatrix], Estimate], published: float, error: float
    ) -> None:
        found = coefficient(table(ABSTRACTORS))
        assert (round(value(found), 7), found.n) == (published, 100)
        assert standard_error(found) == pytest.approx(error, abs=1e-8)

    def test_kappa_interval_matches_fleiss_example(self) -> None:
        found = kappa(table(DIAGNOSES))
        assert round(value(found), 2) == 0.68
        assert standard_error(found) == pytest.approx(0.087, abs=0.001)

    def test_weighted_kappa_matches_cohens_example(self) -> None:
        """Cohen 1960: two judges and 200 patients."""
        assert round(value(kappa(table([[88, 14, 18], [10, 40, 10], [2, 6, 12]]))), 2) == 0.49


@pytest.fixture(scope="module")
def cohen_kappa_score() -> Callable[..., float]:
    """The function of scikit-learn, which takes a second to import, in each process that collects tests."""
    found: Callable[..., float] = import_module("sklearn.metrics").cohen_kappa_score
    return found


class TestScikitLearn:
    @given(confusion=tables())
    def test_kappa_equals_that_of_scikit_learn(
        self, confusion: ConfusionMatrix, cohen_kappa_score: Callable[..., float]
    ) -> None:
        judge, human = pairs_of(confusion)
        assume(len({*judge}) > 1 and len({*human}) > 1)
        expected = cohen_kappa_score(judge, human)
        assert value(kappa(confusion)) == pytest.approx(expected)
        labels = [*range(len(confusion.categories))]
        expected = cohen_kappa_score(judge, human, labels=labels, weights="linear")
        assert value(weighted_kappa(confusion)) == pytest.approx(expected)


class TestInterval:
    @given(st.lists(st.integers(5, 40), min_size=9, max_size=9), st.sampled_from(CHANCE_CORRECTED))
    def test_interval_is_close_to_the_jackknife(
        self, cells: list[int], coefficient: Callable[[ConfusionMatrix], Estimate]
    ) -> None:
        """For large samples, the variance formulas agree with the jackknife, which needs none."""
        counts = [[40 * count for count in cells[3 * row : 3 * row + 3]] for row in range(3)]
        n = sum(map(sum, counts))
        left_out = []
        for row, column in product(range(3), range(3)):
            rest = [list(cells) for cells in counts]
            rest[row][column] -= 1
            left_out.append((value(coefficient(table(rest, *SCALE))), counts[row][column]))
        mean = sum(one * count for one, count in left_out) / n
        variance = (n - 1) / n * sum(count * (one - mean) ** 2 for one, count in left_out)
        found = coefficient(table(counts, *SCALE))
        assert standard_error(found) == pytest.approx(sqrt(variance), rel=0.02)

    @given(tables(), st.sampled_from(OF_A_TABLE))
    def test_interval_contains_the_value(
        self, confusion: ConfusionMatrix, figure: Callable[[ConfusionMatrix], Estimate]
    ) -> None:
        found = figure(confusion)
        if found.value is None:
            assert found.why.endswith(".")
        else:
            assert -1 <= limits(found)[0] <= round(found.value, 9) <= limits(found)[1] <= 1

    @pytest.mark.parametrize("coefficient", CHANCE_CORRECTED)
    def test_interval_has_a_width_if_few_pairs_all_agree(
        self, coefficient: Callable[[ConfusionMatrix], Estimate]
    ) -> None:
        few, many = coefficient(table([[3, 0], [0, 4]])), coefficient(table([[300, 0], [0, 400]]))
        assert (few.value, few.high) == (1, 1)
        assert limits(few)[0] < 0.5
        assert limits(many)[0] > 0.98


class TestSymmetry:
    @given(tables(), st.sampled_from(CHANCE_CORRECTED))
    def test_swapping_raters_keeps_agreement(
        self, confusion: ConfusionMatrix, coefficient: Callable[[ConfusionMatrix], Estimate]
    ) -> None:
        turned = table([*zip(*confusion.counts, strict=True)])
        assert coefficient(turned).value == pytest.approx(coefficient(confusion).value)

    @given(tables())
    def test_swapping_raters_negates_leniency(self, confusion: ConfusionMatrix) -> None:
        assume(confusion.n)
        there, back = leniency(confusion), leniency(table([*zip(*confusion.counts, strict=True)]))
        assert value(there) == -value(back)
        assert limits(there) == tuple(-limit for limit in reversed(limits(back)))

    @given(tables(), st.randoms())
    def test_order_of_scores_changes_no_nominal_coefficient(
        self, confusion: ConfusionMatrix, random: Any
    ) -> None:
        places = [*range(len(confusion.categories))]
        random.shuffle(places)
        shuffled = ConfusionMatrix(
            tuple(confusion.categories[place] for place in places),
            tuple(tuple(confusion.counts[row][column] for column in places) for row in places),
        )
        for figure in (agreement, kappa, weighted_kappa, ac1, leniency):
            assert figure(shuffled).value == pytest.approx(figure(confusion).value)


class TestFalsePassAndFalseFail:
    counts = table([[50, 3, 6], [4, 5, 2], [1, 1, 28]], *SCALE)

    def test_false_pass_and_fail_divide_by_human_no_and_yes(self) -> None:
        assert false_pass(self.counts) == wilson(6, 36)
        assert false_fail(self.counts) == wilson(1, 55)

    def test_false_pass_and_fail_use_levels(self) -> None:
        levels: list[Level] = ["yes", "yes", "no", "no"]
        numbers = [Category(str(5 - place), level, -place) for place, level in enumerate(levels)]
        found = table([[9, 1, 2, 0], [0, 0, 3, 0], [0, 4, 0, 0], [1, 0, 0, 5]], *numbers)
        assert false_pass(found) == wilson(5, 10)
        assert false_fail(found) == wilson(5, 15)

    def test_false_pass_and_fail_without_a_base_are_undefined(self) -> None:
        found = table([[5, 0], [2, 0]], *YES_NO)
        assert false_pass(found).why == "The human gave no score that counts as No."
        assert false_fail(table([[0, 5], [0, 2]], *YES_NO)).value is None


class TestLeniency:
    def test_leniency_is_share_more_lenient_minus_share_stricter(self) -> None:
        assert value(leniency(table([[50, 3, 6], [4, 5, 2], [1, 1, 28]], *SCALE))) == pytest.approx(0.05)

    def test_leniency_has_the_bonett_price_interval(self) -> None:
        """Their formula by hand: 59 pairs, 9 more lenient, 1 stricter."""
        up, down, n = 10 / 61, 2 / 61, 61
        reach = Z * sqrt((up + down - (up - down) ** 2) / n)
        found = leniency(table([[40, 9], [1, 9]], *YES_NO))
        assert limits(found) == (round(up - down - reach, 9), round(up - down + reach, 9))

    def test_leniency_interval_has_a_width_if_nothing_differs(self) -> None:
        found = leniency(table([[5, 0], [0, 5]], *YES_NO))
        assert found.value == 0
        assert limits(found)[0] == -limits(found)[1] < -0.2

    def test_leniency_omits_scores_without_a_rank(self) -> None:
        found = table([[5, 1, 1], [0, 3, 0], [2, 2, 9]], *YES_NO, Category("it depends"))
        assert value(leniency(found)) == pytest.approx(1 / 9)
        assert leniency(found).n == 9
        assert weighted_kappa(found).value == kappa(table([[5, 1], [0, 3]])).value


class TestUndefined:
    @pytest.mark.parametrize("figure", OF_A_TABLE)
    def test_coefficients_without_pairs_are_undefined(
        self, figure: Callable[[ConfusionMatrix], Estimate]
    ) -> None:
        for empty in (table([[0, 0], [0, 0]], *YES_NO), ConfusionMatrix((), ())):
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
        assert (found.value, limits(found, 2)) == (1, (0.91, 1.0))

    def test_ac1_with_one_category_is_undefined(self) -> None:
        assert ac1(table([[7]])).why == "Only one score is possible."

    def test_weighted_kappa_without_an_order_is_undefined(self) -> None:
        assert weighted_kappa(table([[3, 1], [2, 5]], Category("a"), Category("b"))).why == (
            "The scores have no order."
        )
        same = (Category("good", "yes", 2), Category("fine", "yes", 2))
        assert weighted_kappa(table([[3, 1], [2, 5]], *same)).value is None


def test_confusion_matrix_has_totals_and_scores() -> None:
    found = table([[5, 1], [2, 4]], *YES_NO)
    assert (found.row_totals, found.column_totals, found.n) == ((6, 6), (7, 5), 12)
    assert found.as_json() == {"scores": ["Yes", "No"], "judge_by_human": ((5, 1), (2, 4))}


def test_every_coefficient_has_a_definition_with_its_source() -> None:
    assert {figure.__name__ for figure in OF_A_TABLE} == {*DEFINITIONS}
    assert all(re.search(r"\b(19|20)\d\d\b", text) for text in DEFINITIONS.values())

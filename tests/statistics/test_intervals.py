"""Intervals match published examples, and have the properties of intervals."""

from dataclasses import replace
from math import comb, inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cognireview.types import estimates
from cognireview.types.encoding import encode
from cognireview.types.estimates import Estimate
from reviews.statistics.intervals import holm, product_limits, scale, undefined, wilson, wilson_limits
from tests.support.estimates import limits, value

UNKNOWN = undefined("Nobody looked.")


@st.composite
def shares(draw: st.DrawFn) -> Estimate:
    n = draw(st.integers(1, 400))
    return wilson(draw(st.integers(0, n)), n)


class TestEstimate:
    def test_estimate_prints_value_interval_and_n(self) -> None:
        assert str(Estimate(0.612, 0.44, 0.75, 57)) == "0.61, 0.44 to 0.75, n = 57"
        assert str(Estimate(2.5, 1.0, None, 1_200, "The divisor may be 0.")) == "2.50, n = 1,200"

    def test_undefined_estimate_prints_its_reason(self) -> None:
        assert str(UNKNOWN) == "Nobody looked."
        assert encode(estimates.Estimate, UNKNOWN) == {
            "value": None,
            "low": None,
            "high": None,
            "n": 0,
            "why": "Nobody looked.",
            "design_effect": None,
            "clusters": None,
        }

    def test_estimate_json_has_its_fields(self) -> None:
        found = encode(estimates.Estimate, replace(wilson(1, 3), design_effect=4 / 3, clusters=2))
        limits = {"value": 0.333333, "low": 0.061492, "high": 0.79234}
        assert found == limits | {"n": 3, "why": "", "design_effect": 1.333333, "clusters": 2}


class TestWilson:
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    @pytest.mark.parametrize(
        ("successes", "n", "low", "high"),
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
    )
    def test_proportion_has_the_wilson_interval(
        self, successes: int, n: int, low: float, high: float
    ) -> None:
        assert limits(wilson(successes, n), digits=4) == (low, high)

    def test_proportion_of_nothing_is_undefined(self) -> None:
        assert wilson(0, 0, "pairs") == undefined("There are no pairs to count.")

    @given(shares())
    def test_proportion_is_within_limits_and_these_within_0_and_1(self, share: Estimate) -> None:
        low, high = limits(share, 12)
        assert 0 <= low <= round(value(share), 12) <= high <= 1
        assert low < high

    @given(st.integers(0, 300), st.integers(1, 300))
    def test_proportion_mirrors_its_complement(self, hits: int, n: int) -> None:
        assume(hits <= n)
        low, high = limits(wilson(hits, n), 9)
        assert limits(wilson(n - hits, n), 9) == (round(1 - high, 9), round(1 - low, 9))

    def test_proportion_of_an_infinite_sample_is_certain(self) -> None:
        assert wilson_limits(0.3, inf) == (0.3, 0.3)

    # Brown, Cai & DasGupta 2001, Statistical Science 16:101: Wilson's covers about as often as it says.
    @pytest.mark.parametrize("truth", [0.02, 0.1, 0.5])
    def test_wilson_interval_covers_the_truth_at_its_level(self, truth: float) -> None:
        n = 100
        covered = sum(
            comb(n, hits) * truth**hits * (1 - truth) ** (n - hits)
            for hits in range(n + 1)
            if limits(wilson(hits, n), 9)[0] <= truth <= limits(wilson(hits, n), 9)[1]
        )
        assert 0.92 < covered < 0.98


def test_scaled_estimate_has_scaled_limits() -> None:
    assert scale(Estimate(0.5, 0.4, 0.7, 9), 10) == Estimate(5, 4, 7, 9)
    assert scale(UNKNOWN, 10) == UNKNOWN


class TestHolm:
    def test_p_values_are_adjusted_by_holm(self) -> None:
        """Holm 1979: the smallest p is multiplied by the number of hypotheses, the next by those left."""
        assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
        assert holm([]) == []

    @given(st.lists(st.floats(0, 1), max_size=8))
    def test_adjusted_p_values_keep_their_order(self, ps: list[float]) -> None:
        adjusted = holm(ps)
        assert all(p <= after <= 1 for p, after in zip(ps, adjusted, strict=True))
        assert [after for _, after in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)


class TestProduct:
    @given(shares(), shares())
    def test_limits_of_a_product_include_it_and_are_shares(self, one: Estimate, other: Estimate) -> None:
        assume(other.value)
        low, high = product_limits(one, other)
        assert 0 <= low <= value(one) * value(other) + 1e-9
        assert value(one) * value(other) - 1e-9 <= high <= 1

    @given(shares(), st.floats(0.01, 1))
    def test_product_with_a_known_number_has_scaled_limits(self, one: Estimate, number: float) -> None:
        found = product_limits(one, Estimate(number, number, number, 10))
        assert found == pytest.approx([number * limit for limit in limits(one, 12)], abs=1e-6)

    def test_product_is_less_certain_than_its_factors(self) -> None:
        one, other = wilson(30, 40), wilson(16, 20)
        low, high = product_limits(one, other)
        assert low < min(0.8 * limits(one)[0], 0.75 * limits(other)[0])
        assert high > max(0.8 * limits(one)[1], 0.75 * limits(other)[1])

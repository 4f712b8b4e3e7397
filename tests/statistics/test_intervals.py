"""Intervals match published examples, and have the properties of intervals."""

import json
from math import comb, inf
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reviews.statistics.intervals import (
    Estimate,
    StratifiedEstimate,
    StratumSample,
    compare_pairs,
    difference,
    holm,
    p_value,
    scale,
    share_of_sum,
    stratified_share,
    undefined,
    wilson,
    wilson_limits,
)

UNKNOWN = undefined("Nobody looked.")


def limits(estimate: Estimate, digits: int = 4) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return round(estimate.low, digits), round(estimate.high, digits)


def value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


@st.composite
def shares(draw: st.DrawFn) -> Estimate:
    n = draw(st.integers(1, 400))
    return wilson(draw(st.integers(0, n)), n)


@st.composite
def parts(draw: st.DrawFn) -> StratumSample:
    population = draw(st.integers(0, 500))
    reviewed = draw(st.integers(0, population))
    return StratumSample(population, reviewed, draw(st.integers(0, reviewed)))


def is_within_its_limits(estimate: Estimate) -> bool:
    return limits(estimate, 9)[0] <= round(value(estimate), 9) <= limits(estimate, 9)[1]


class TestEstimate:
    def test_estimate_prints_value_interval_and_n(self) -> None:
        assert str(Estimate(0.612, 0.44, 0.75, 57)) == "0.61, 0.44 to 0.75, n = 57"
        assert str(Estimate(2.5, 1.0, None, 1_200, "The divisor may be 0.")) == "2.50, n = 1,200"

    def test_undefined_estimate_prints_its_reason(self) -> None:
        assert str(UNKNOWN) == "Nobody looked."
        assert UNKNOWN.as_json() == {
            "value": None,
            "low": None,
            "high": None,
            "n": 0,
            "why": "Nobody looked.",
        }

    def test_estimate_json_has_its_fields(self) -> None:
        told = json.dumps(wilson(1, 3).as_json(), allow_nan=False)
        assert json.loads(told) == {"value": 0.333333, "low": 0.061492, "high": 0.79234, "n": 3, "why": ""}


class TestWilson:
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    @pytest.mark.parametrize(
        ("successes", "n", "low", "high"),
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
    )
    def test_proportion_has_the_wilson_interval(
        self, successes: int, n: int, low: float, high: float
    ) -> None:
        assert limits(wilson(successes, n)) == (low, high)

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


class TestStratifiedShare:
    def test_strata_are_weighted_by_their_records(self) -> None:
        found = stratified_share([StratumSample(900, 90, 9), StratumSample(100, 50, 40)])
        assert value(found.share) == pytest.approx(0.9 * 0.1 + 0.1 * 0.8)
        assert (found.population, found.covered, found.share.n) == (1000, 1000, 140)

    def test_one_stratum_of_a_large_population_is_a_plain_proportion(self) -> None:
        found = stratified_share([StratumSample(10**9, 100, 7)])
        assert limits(found.share) == limits(wilson(7, 100))

    def test_fully_reviewed_finite_population_is_certain(self) -> None:
        found = stratified_share([StratumSample(30, 30, 10), StratumSample(10, 10, 0)]).share
        assert limits(found, 9) == (0.25, 0.25)

    def test_fully_reviewed_population_that_is_a_sample_is_not_certain(self) -> None:
        found = stratified_share([StratumSample(30, 30, 10)], finite=False).share
        assert limits(found) == limits(wilson(10, 30))

    def test_half_of_a_population_gives_a_narrower_interval_than_a_tenth(self) -> None:
        """The finite population correction."""
        half, tenth = (
            stratified_share([StratumSample(200, 100, 20)]).share,
            stratified_share([StratumSample(1000, 100, 20)]).share,
        )
        assert limits(tenth)[0] < limits(half)[0]
        assert limits(half)[1] < limits(tenth)[1]

    def test_census_of_one_stratum_does_not_narrow_a_thin_sample(self) -> None:
        sampled = StratumSample(100, 5, 2)
        alone, both = (
            stratified_share([sampled]).share,
            stratified_share([sampled, StratumSample(900, 900, 0)]).share,
        )
        assert limits(both, 9) == pytest.approx([limit / 10 for limit in limits(alone, 9)], abs=1e-8)

    def test_many_thin_strata_give_the_interval_of_one(self) -> None:
        thin = stratified_share([StratumSample(500, 5, hits) for hits in (0, 1, 0, 2)]).share
        assert limits(thin) == limits(stratified_share([StratumSample(2000, 20, 3)]).share)

    def test_stratum_sizes_of_a_sampled_population_add_variance(self) -> None:
        """Splitting a sample into two very different halves hardly narrows the interval."""
        halves = [StratumSample(100, 100, 10), StratumSample(100, 40, 36)]
        unknown, found = wilson(100, 200), stratified_share(halves, finite=False).share
        assert limits(found)[1] - limits(found)[0] > limits(unknown)[1] - limits(unknown)[0]

    @pytest.mark.parametrize(
        "population",
        [
            [(200, 0.3, 200), (800, 0.03, 80)],
            [(1000, 0.0, 1000), (100, 0.4, 5)],
            [(60, 0.05, 2)] * 20 + [(50, 0.4, 25)] * 5,
            [(1000, 0.5, 20), (100, 0.02, 20)],
        ],
    )
    def test_stratified_interval_covers_the_truth_at_its_level(
        self, population: list[tuple[int, float, int]]
    ) -> None:
        """Draw a thousand samples of strata (records, share of hits, reviewed) from a fixed seed."""
        chance = Random(1)
        records = [[n < size * share for n in range(size)] for size, share, _ in population]
        truth = sum(map(sum, records)) / sum(map(len, records))
        covered = 0
        for _ in range(1000):
            drawn = [
                StratumSample(size, reviewed, sum(chance.sample(part, reviewed)))
                for part, (size, _, reviewed) in zip(records, population, strict=True)
            ]
            low, high = limits(stratified_share(drawn).share, 9)
            covered += low <= truth <= high
        assert covered > 930

    def test_stratified_interval_has_a_width_without_hits(self) -> None:
        found = stratified_share([StratumSample(500, 20, 0), StratumSample(500, 30, 0)]).share
        assert found.low == 0
        assert 0.05 < limits(found)[1] < 0.10

    def test_note_names_uncovered_strata(self) -> None:
        found = stratified_share(
            [
                StratumSample(900, 90, 9),
                StratumSample(60, 0, 0, "Pass of gpt"),
                StratumSample(40, 0, 0),
                StratumSample(0, 0, 0, "none"),
            ]
        )
        assert value(found.share) == pytest.approx(0.1)
        assert (found.population, found.covered) == (1000, 900)
        assert found.note == "Covers 900 of 1,000 records; not covered: Pass of gpt (60), others (40)."
        assert found.as_json()["note"] == found.note

    def test_note_names_the_three_largest_uncovered_strata(self) -> None:
        note = stratified_share(
            [StratumSample(5, 5, 0), *(StratumSample(size, 0, 0, f"part {size}") for size in range(1, 7))]
        ).note
        assert note == "Covers 5 of 26 records; not covered: part 6 (6), part 5 (5), part 4 (4), 3 more."

    @pytest.mark.parametrize("population", [[], [StratumSample(0, 0, 0)], [StratumSample(10, 0, 0, "Pass")]])
    def test_stratified_share_without_reviews_is_undefined(self, population: list[StratumSample]) -> None:
        found = stratified_share(population)
        assert found.share == undefined("No record was reviewed.")
        assert isinstance(found, StratifiedEstimate)

    def test_more_reviews_than_records_in_a_stratum_are_accepted(self) -> None:
        found = stratified_share([StratumSample(3, 5, 5), StratumSample(7, 7, 0)]).share
        assert value(found) == pytest.approx(0.3)

    @given(st.lists(parts(), max_size=6))
    def test_stratified_share_is_within_its_limits_in_any_order(
        self, population: list[StratumSample]
    ) -> None:
        found, turned = stratified_share(population), stratified_share(reversed(population))
        assert found.covered + sum(part.population for part in found.uncovered) == found.population
        if found.covered:
            assert is_within_its_limits(found.share)
            assert limits(found.share, 9) == limits(turned.share, 9)


class TestDifference:
    # Newcombe 1998, Statistics in Medicine 17:873, table II, method 10.
    @pytest.mark.parametrize(
        ("one", "other", "low", "high"),
        [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((5, 56), (0, 29), -0.0381, 0.1926),
            ((0, 10), (0, 20), -0.1611, 0.2775),
            ((10, 10), (0, 10), 0.6075, 1.0),
        ],
    )
    def test_difference_of_proportions_has_newcombes_interval(
        self, one: tuple[int, int], other: tuple[int, int], low: float, high: float
    ) -> None:
        assert limits(difference(wilson(*one), wilson(*other))) == (low, high)

    @given(shares(), shares())
    def test_difference_is_antisymmetric(self, one: Estimate, other: Estimate) -> None:
        there, back = difference(one, other), difference(other, one)
        assert limits(there, 9) == tuple(-limit for limit in reversed(limits(back, 9)))
        assert p_value(there) == pytest.approx(p_value(back))

    @given(shares(), shares())
    def test_difference_is_significant_if_its_interval_excludes_0(
        self, one: Estimate, other: Estimate
    ) -> None:
        found = difference(one, other)
        low, high = limits(found, 12)
        assume(abs(low) > 1e-9 and abs(high) > 1e-9)
        assert (p_value(found) < 0.05) == (low > 0 or high < 0)

    def test_difference_with_an_undefined_estimate_is_undefined(self) -> None:
        assert difference(wilson(1, 2), UNKNOWN) == UNKNOWN
        assert p_value(UNKNOWN) == 1

    def test_difference_of_certain_proportions_is_certain(self) -> None:
        assert p_value(difference(Estimate(0.5, 0.5, 0.5, 8), Estimate(0.4, 0.4, 0.4, 8))) == 0
        assert p_value(difference(Estimate(0.5, 0.5, 0.5, 8), Estimate(0.5, 0.5, 0.5, 8))) == 1


class TestShareOfSum:
    def test_difference_has_the_mover_interval(self) -> None:
        found = difference(Estimate(10, 7, 14, 5), Estimate(20, 17, 24, 6))
        assert (found.value, *limits(found)) == (-10, -15, -5)
        assert scale(Estimate(0.5, 0.4, 0.7, 9), 10) == Estimate(5, 4, 7, 9)

    def test_share_of_sum_has_the_donner_zou_interval(self) -> None:
        """By their formulas for a ratio as printed, which hold where no term is near 0."""
        one, other = Estimate(4.0, 3.0, 6.0, 10), Estimate(2.0, 1.5, 2.4, 10)
        low = (8 - (64 - 3 * 2.4 * (8 - 3) * (4 - 2.4)) ** 0.5) / (2.4 * (4 - 2.4))
        high = (8 + (64 - 6 * 1.5 * (8 - 6) * (4 - 1.5)) ** 0.5) / (1.5 * (4 - 1.5))
        found = share_of_sum(one, other)
        assert value(found) == pytest.approx(2 / 3)
        assert found.n == 20
        assert limits(found) == (round(low / (1 + low), 4), round(high / (1 + high), 4))

    def test_share_of_sum_with_a_possible_zero_reaches_1(self) -> None:
        assert share_of_sum(wilson(5, 10), Estimate(0.1, 0, 0.3, 10)).high == 1
        assert share_of_sum(wilson(5, 10), wilson(0, 10)).value == 1

    def test_recall_without_a_found_miss_is_not_certain(self) -> None:
        missed = scale(stratified_share([StratumSample(900, 100, 0)]).share, 900)
        found = share_of_sum(Estimate(40, 40, 40, 100), missed)
        assert (found.value, found.high) == (1, 1)
        assert limits(found)[0] == pytest.approx(40 / (40 + 900 * 0.0335), abs=0.01)

    def test_recall_of_nothing_is_undefined(self) -> None:
        assert share_of_sum(wilson(0, 9), wilson(0, 9)).value is None
        assert share_of_sum(UNKNOWN, wilson(1, 9)).why == "Nobody looked."

    def test_recall_is_0_if_everything_was_missed(self) -> None:
        found = share_of_sum(wilson(0, 50), wilson(25, 50))
        assert (found.value, found.low) == (0, 0)
        assert 0 < limits(found)[1] < 0.25

    @given(shares(), shares())
    def test_shares_of_a_sum_add_up_to_1(self, one: Estimate, other: Estimate) -> None:
        assume(one.value or other.value)
        low, high = limits(share_of_sum(one, other), 7)
        assert 0 <= low <= round(value(share_of_sum(one, other)), 7) <= high <= 1
        assert limits(share_of_sum(other, one), 6) == pytest.approx((1 - high, 1 - low), abs=2e-6)


class TestComparePairs:
    def test_p_values_are_adjusted_by_holm(self) -> None:
        """Holm 1979: the smallest p is multiplied by the number of hypotheses, the next by those left."""
        assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
        assert holm([]) == []

    @given(st.lists(st.floats(0, 1), max_size=8))
    def test_adjusted_p_values_keep_their_order(self, ps: list[float]) -> None:
        adjusted = holm(ps)
        assert all(p <= after <= 1 for p, after in zip(ps, adjusted, strict=True))
        assert [after for _, after in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)

    def test_pair_comparison_has_both_places_and_significance(self) -> None:
        found = compare_pairs([wilson(90, 100), wilson(70, 100), UNKNOWN, wilson(88, 100)])
        assert [(pair.first, pair.second, pair.is_significant) for pair in found] == [
            (0, 1, True),
            (0, 3, False),
            (1, 3, True),
        ]
        assert value(found[0].difference) == pytest.approx(0.2)

    def test_more_pairs_need_a_larger_difference(self) -> None:
        high, low = wilson(60, 100), wilson(45, 100)
        assert compare_pairs([high, low])[0].is_significant
        assert not compare_pairs([high, low, *[wilson(50, 100)] * 5])[0].is_significant

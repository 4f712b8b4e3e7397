"""Estimates from clustered ratings equal direct computations, and always have a width."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.statistics import extrapolation, sums
from reviews.statistics.clusters import combine_sums, difference, ratio, ratios, spread_of, stratified_ratios
from reviews.statistics.extrapolation import Population, Sample, cluster_totals
from reviews.statistics.intervals import wilson_limits
from reviews.statistics.students_t import t_quantile
from reviews.statistics.sums import FloatArray, Places
from reviews.statistics.totals import ClusterTotals, Columns, weighted_sum


def independent(values: list[float], weights: list[float] | None = None) -> ClusterTotals:
    """Add up (value, 1) of ratings that are clusters of their own."""
    n = len(values)
    sample = Sample(np.zeros(n, int), np.arange(n), np.array(weights or [1.0] * n))
    return cluster_totals(sample, np.column_stack([values, np.ones(n)]))


def clustered(seed: int) -> tuple[FloatArray, Sample]:
    """Return 300 ratings in 60 clusters of 5, with a share of their own each."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(60), 5)
    values = (rng.random(300) < rng.beta(3, 1, 60)[cluster]).astype(float)
    return values, Sample(np.zeros(300, int), cluster, np.ones(300))


def world(seed: int, n: int = 120) -> tuple[Sample, FloatArray, Population]:
    """Return ratings of a population of two flags, two verdicts and two models."""
    rng = np.random.default_rng(seed)
    paths = [(flag, verdict, model) for flag in "01" for verdict in ("Fail", "Pass") for model in "ab"]
    sizes = rng.integers(50, 90, len(paths))
    of_cells = [rng.integers(0, 60, size) for size in sizes]
    cell = rng.integers(0, len(paths), n)
    cluster = np.array([rng.choice(of_cells[one]) for one in cell])
    return (
        Sample(cell, cluster, rng.uniform(1, 3, n)),
        rng.integers(0, 2, n).astype(float),
        Population(paths, sizes, of_cells),
    )


class TestRatings:
    def test_share_of_independent_ratings_has_the_interval_of_wilson_with_t(self) -> None:
        found = ratio(independent([1.0] * 30 + [0.0] * 10), 0, 1)
        # The variance of the sample has the divisor n - 1, as if there were 39 ratings.
        assert (found.low, found.high) == pytest.approx(wilson_limits(0.75, 39, t_quantile(39)))
        assert (found.value, found.n, found.clusters) == (0.75, 40, 40)
        assert found.design_effect == pytest.approx(40 / 39)

    def test_share_of_identical_clusters_counts_each_cluster_once(self) -> None:
        values = [1.0, 1.0, 0.0, 1.0] * 10
        once = ratio(independent(values), 0, 1)
        sample = Sample(np.zeros(120, int), np.repeat(np.arange(40), 3), np.ones(120))
        thrice = ratio(cluster_totals(sample, np.column_stack([np.repeat(values, 3), np.ones(120)])), 0, 1)
        assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), rel=0.01)
        assert thrice.design_effect == pytest.approx(3 * (once.design_effect or 0), rel=0.05)
        assert (thrice.n, thrice.clusters) == (120, 40)

    def test_share_weighs_ratings(self) -> None:
        assert ratio(independent([1, 0, 0], [2, 1, 1]), 0, 1).value == 0.5

    def test_share_of_several_columns_is_that_of_their_sum(self) -> None:
        rng = np.random.default_rng(1)
        values = np.eye(4)[rng.integers(0, 4, 90)]
        sample = Sample(np.zeros(90, int), rng.integers(0, 30, 90), rng.uniform(1, 2, 90))
        apart = cluster_totals(sample, values)
        summed = cluster_totals(sample, np.column_stack([values[:, 0] + values[:, 3], values.sum(axis=1)]))
        found, expected = ratio(apart, (0, 3), (0, 1, 2, 3)), ratio(summed, 0, 1)
        assert (found.n, found.clusters) == (expected.n, expected.clusters)
        assert [found.value, found.low, found.high] == pytest.approx(
            [expected.value, expected.low, expected.high]
        )

    def test_share_of_a_domain_counts_its_ratings_only(self) -> None:
        sample = Sample(np.array([0, 0, 1, 1, 1, 2]), np.arange(6), np.ones(6))
        values = np.column_stack([[1, 1, 0, 0, 1, 1], np.ones(6)])
        totals = cluster_totals(sample, values, domains=[0, 1, 2])
        assert [(ratio(totals, at, at + 1).value, ratio(totals, at, at + 1).n) for at in (0, 2)] == [
            (1.0, 2),
            (1 / 3, 3),
        ]

    def test_shares_computed_at_once_equal_those_computed_apart(self) -> None:
        rng = np.random.default_rng(9)
        sample = Sample(rng.integers(0, 3, 90), rng.integers(0, 30, 90), rng.uniform(1, 2, 90))
        values = np.column_stack([rng.integers(0, 2, 90), np.ones(90)])
        totals = cluster_totals(sample, values, domains=[0, 1, 3])
        columns: list[tuple[Columns, Columns]] = [(0, 1), (2, 3), (4, 5), (6, 7), ((0, 2), (1, 3))]
        found = ratios(totals, columns)
        assert [one.n for one in found] == [ratio(totals, *pair).n for pair in columns]
        assert found[2] == ratio(totals, 4, 5)
        assert found[2].value is None
        limits = [[one.value, one.low, one.high] for one in found if one.value is not None]
        apart = [ratio(totals, *pair) for pair in columns]
        assert limits == pytest.approx(
            np.array([[one.value, one.low, one.high] for one in apart if one.value is not None])
        )

    def test_ratings_of_kinds_add_up_like_single_ratings(self) -> None:
        rng = np.random.default_rng(10)
        counts = np.array([3, 0, 40, 7, 0])
        cell, values = np.array([0, 0, 1, 1, 0]), rng.integers(0, 2, (5, 3))
        cluster, weight = rng.integers(0, 9, 50), rng.uniform(1, 2, 50)
        population = Population([("0",), ("1",)], np.array([90, 60]), [np.arange(90), np.arange(60)])
        kinds = np.repeat(np.arange(5), counts)
        for records in (None, population):
            found, expected = (
                cluster_totals(sample, rows, records, [0, 1])
                for sample, rows in (
                    (Sample(cell, cluster, weight, counts), values),
                    (Sample(cell[kinds], cluster, weight), values[kinds]),
                )
            )
            for name in ("sums", "rows", "rated", "unseen", "counts", "squares", "records", "uncovered"):
                assert getattr(found, name) == pytest.approx(getattr(expected, name)), name

    def test_share_without_ratings_is_undefined(self) -> None:
        assert ratio(independent([]), 0, 1).value is None

    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.floats(0.1, 100)), min_size=1))
    def test_interval_is_within_0_and_1_and_has_a_width(self, rows: list[tuple[bool, int, float]]) -> None:
        values, cluster, weight = (np.array(column) for column in zip(*rows, strict=True))
        sample = Sample(np.zeros(len(rows), int), cluster, weight)
        totals = cluster_totals(sample, np.column_stack([values, np.ones(len(rows))]))
        found = ratio(totals, 0, 1)
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.high - found.low > 0.01
        compared = difference(totals, (0, 1), (0, 1))
        assert compared.p == 1
        assert (compared.difference.high or 0) > 0 > (compared.difference.low or 0)

    def test_variance_of_a_share_is_cluster_robust(self) -> None:
        """The sandwich estimator of a regression on a constant, for 60 clusters of 5."""
        values, sample = clustered(1)
        totals = cluster_totals(sample, np.column_stack([values, np.ones(300)]))
        left = (values - values.mean()).reshape(60, 5).sum(axis=1)
        robust = 60 / 59 * (left**2).sum() / 300**2
        gradient = np.array([1, -values.mean()]) / 300
        assert spread_of(totals, gradient, [1]).variance == pytest.approx(robust)


STRATA = ((0, 1), (2, 3))


def two_strata(flagged: list[int], sampled: list[int], *, are_alike: bool = False) -> ClusterTotals:
    """Add up (value, 1) of ratings in two strata, which represent 200 and 800 records.

    The ratings are clusters of their own, or the strata have the same clusters.
    """
    cell = np.repeat([0, 1], [len(flagged), len(sampled)])
    values = np.array([*flagged, *sampled], dtype=float)
    cluster = np.concatenate([np.arange(len(flagged)), np.arange(len(sampled)) + (0 if are_alike else 1_000)])
    weight = np.where(cell == 0, 200 / len(flagged), 800 / max(1, len(sampled)))
    return cluster_totals(Sample(cell, cluster, weight), np.column_stack([values, values**0]), domains=(0, 1))


class TestStrata:
    def test_limits_follow_from_those_of_independent_strata(self) -> None:
        totals = two_strata([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], [1] * 15 + [0] * 5)
        [found] = stratified_ratios(totals, [STRATA])
        flagged, sampled = ratios(totals, STRATA)
        assert (flagged.value, sampled.value, found.n) == (0.6, 0.75, 30)
        assert found.value == pytest.approx(0.2 * 0.6 + 0.8 * 0.75)
        below = np.hypot(0.2 * (0.6 - (flagged.low or 0)), 0.8 * (0.75 - (sampled.low or 0)))
        above = np.hypot(0.2 * ((flagged.high or 1) - 0.6), 0.8 * ((sampled.high or 1) - 0.75))
        assert (found.low, found.high) == pytest.approx((found.value - below, found.value + above))

    def test_limits_add_up_if_the_strata_vary_together(self) -> None:
        values = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1]
        totals = two_strata(values, values, are_alike=True)
        [found], [flagged, sampled] = stratified_ratios(totals, [STRATA]), ratios(totals, STRATA)
        low = 0.2 * (flagged.low or 0) + 0.8 * (sampled.low or 0)
        assert (found.value, found.low) == pytest.approx((0.6, low))

    def test_few_equal_ratings_of_a_stratum_have_their_own_uncertainty(self) -> None:
        """The ratings show no variance of four fifths of the records."""
        totals = two_strata([1, 1, 0] * 8, [1] * 5)
        [found], [_, sampled] = stratified_ratios(totals, [STRATA]), ratios(totals, STRATA)
        assert found.value == pytest.approx(0.2 * 2 / 3 + 0.8)
        assert sampled.value == 1
        assert (found.low or 0) < (found.value or 0) - 0.8 * (1 - (sampled.low or 0))

    def test_stratum_without_ratings_does_not_count(self) -> None:
        totals = two_strata([1, 1, 0], [])
        assert stratified_ratios(totals, [STRATA]) == [ratio(totals, *STRATA[0])]

    def test_shares_with_strata_equal_those_computed_apart(self) -> None:
        """More of them than are computed at once, with two strata and with one, and some without ratings."""
        rng = np.random.default_rng(11)
        sample = Sample(rng.integers(0, 75, 600), rng.integers(0, 200, 600), rng.uniform(1, 2, 600))
        values = np.column_stack([rng.integers(0, 2, 600), np.ones(600)])
        totals = cluster_totals(sample, values, domains=range(80))
        shares = [(2 * place, 2 * place + 1) for place in range(80)]
        strata = [shares[at : at + 1 + at % 4 // 2] for at in range(0, 80, 2)]
        found = stratified_ratios(totals, strata)
        assert found == [stratified_ratios(totals, [each])[0] for each in strata]
        ratings = [totals.counts[[below for _, below in each]].sum() for each in strata]
        assert [one.n for one in found] == ratings


class TestSums:
    def test_limits_of_a_share_follow_from_those_of_the_odds_of_two_strata(self) -> None:
        """The equations of MOVER-R, with independent totals in place of means."""
        totals = two_strata([1] * 4 + [0] * 6, [1] * 5 + [0] * 15)
        linearised = ratio(totals, 0, (0, 2))
        whole = replace(linearised, low=linearised.value, high=linearised.value)
        [found] = combine_sums([whole], totals, [([STRATA[0]], [STRATA[1]])])
        flagged, sampled = ratios(totals, STRATA)
        (one, low, high), (other, other_low, other_high) = (
            [size * (number or 0) for number in (share.value, share.low, share.high)]
            for size, share in ((200, flagged), (800, sampled))
        )
        product, least, most = one * other, low * (2 * one - low), high * (2 * one - high)
        lower = product - np.sqrt(product**2 - least * other_high * (2 * other - other_high))
        upper = product + np.sqrt(product**2 - most * other_low * (2 * other - other_low))
        odds = [
            lower / (other_high * (2 * other - other_high)),
            upper / (other_low * (2 * other - other_low)),
        ]
        assert found.value == pytest.approx(80 / (80 + 200))
        assert (found.low, found.high) == pytest.approx([each / (1 + each) for each in odds])

    def test_limits_are_never_narrower_than_the_linearised_ones(self) -> None:
        totals = two_strata([1] * 4 + [0] * 6, [1] * 5 + [0] * 15)
        whole = replace(ratio(totals, 0, (0, 2)), low=0.01, high=0.99)
        assert combine_sums([whole], totals, [([STRATA[0]], [STRATA[1]])]) == [whole]

    def test_sample_without_errors_may_have_some_by_chance(self) -> None:
        totals = two_strata([1, 1, 0] * 8, [0] * 5)
        [found] = combine_sums([ratio(totals, 0, (0, 2))], totals, [([STRATA[0]], [STRATA[1]])])
        sampled = ratio(totals, *STRATA[1])
        assert (found.value, found.high) == (1, 1)
        assert (found.low or 1) < 0.2 * 2 / 3 / (0.2 * 2 / 3 + 0.8 * (sampled.high or 0))

    def test_share_has_no_lower_limit_without_a_numerator(self) -> None:
        totals = two_strata([0] * 9, [1, 0, 0, 1])
        [found] = combine_sums([ratio(totals, 0, (0, 2))], totals, [([STRATA[0]], [STRATA[1]])])
        assert (found.value, found.low) == (0, 0)
        assert 0 < (found.high or 0) < 1

    def test_stratum_without_ratings_leaves_the_interval(self) -> None:
        totals = two_strata([1, 1, 0], [])
        whole = ratio(totals, 0, (0, 2))
        assert combine_sums([whole], totals, [([STRATA[0]], [STRATA[1]])]) == [whole]


class TestDifference:
    def test_difference_is_close_to_that_of_a_cluster_robust_regression(self) -> None:
        """Value, error and p-value as computed by OLS of statsmodels: see `test_oracles.py`."""
        (first, sample), (second, _) = clustered(2), clustered(3)
        totals = cluster_totals(sample, np.column_stack([first, second, np.ones(300)]))
        found = difference(totals, (0, 2), (1, 2))
        reach = t_quantile(59) * 0.05229252935
        assert found.difference.value == pytest.approx(-0.04)
        assert found.difference.high == pytest.approx(reach - 0.04, abs=0.05 * reach)
        assert found.p == pytest.approx(0.447363564, abs=0.02)

    def test_difference_of_paired_shares_is_that_of_a_paired_t_test(self) -> None:
        rng = np.random.default_rng(2)
        n = 400
        first = rng.random(n) < 0.7
        second = np.where(rng.random(n) < 0.8, first, rng.random(n) < 0.4)
        sample = Sample(np.zeros(n, int), np.arange(n), np.ones(n))
        found = difference(
            cluster_totals(sample, np.column_stack([first, second, np.ones(n)])), (0, 2), (1, 2)
        )
        pairs = first.astype(float) - second
        variance = pairs.var(ddof=1) / n * (n / (n + 2)) ** 2 + 2 / (n + 2) ** 2
        reach = t_quantile(n - 1) * variance**0.5
        assert found.difference.value == pytest.approx(pairs.mean())
        assert found.difference.low == pytest.approx(pairs.mean() - reach)
        assert found.difference.high == pytest.approx(pairs.mean() + reach)
        assert found.p < 0.001

    def test_difference_is_undefined_if_one_share_is(self) -> None:
        sample = Sample(np.array([0, 0]), np.array([1, 2]), np.ones(2))
        totals = cluster_totals(sample, np.ones((2, 2)), domains=[1])
        compared = difference(totals, (0, 1), (2, 3))
        assert (compared.difference.value, compared.p) == (None, 1.0)


class TestPopulation:
    def test_total_is_the_sum_of_cell_means(self) -> None:
        sample, values, population = world(3, n=400)
        totals = cluster_totals(sample, np.column_stack([values, np.ones(len(values))]), population)
        expected = sum(
            size * np.average(values[sample.cell == cell], weights=sample.weight[sample.cell == cell])
            for cell, size in enumerate(population.sizes)
        )
        assert totals.sums == pytest.approx([expected, population.sizes.sum()])
        assert (totals.records, totals.uncovered) == (population.sizes.sum(), 0)

    def test_variance_is_that_of_records_predicted_by_their_cell(self) -> None:
        """The definition, record by record: the prediction, and what ratings add to it."""
        sample, values, population = world(4, n=400)
        totals = cluster_totals(sample, np.column_stack([values, np.ones(len(values))]), population)
        rows = dict.fromkeys(range(60), 0.0)
        for cell, of_cell in enumerate(population.clusters):
            rated = sample.cell == cell
            weight = sample.weight[rated] * population.sizes[cell] / sample.weight[rated].sum()
            mean = np.average(values[rated], weights=weight)
            for cluster in of_cell:
                rows[int(cluster)] += mean
            for cluster in range(60):
                here = sample.cluster[rated] == cluster
                left = (weight[here] * (values[rated][here] - mean)).sum()
                rows[cluster] += left / (1 - weight[here].sum() / weight.sum()) ** 0.5
        assert totals.rows[:, 0] == pytest.approx(list(rows.values()))

    def test_domains_share_predictions_and_are_corrected_by_their_own_ratings(self) -> None:
        sample, values, population = world(5, n=80)
        pairs = np.column_stack([values, np.ones(len(values))])
        models = [0, 1] * 4
        whole, parts = (cluster_totals(sample, pairs, population, domains) for domains in (None, models))
        assert parts.rows[:, :2] + parts.rows[:, 2:] == pytest.approx(whole.rows)
        assert parts.sums[[1, 3]] == pytest.approx(
            [population.sizes[::2].sum(), population.sizes[1::2].sum()]
        )

    def test_joined_domains_have_the_totals_of_a_single_one(self) -> None:
        sample, values, population = world(5)
        pairs = np.column_stack([values, np.ones(len(values))])
        # The model a alone, and all records of model b, by verdict.
        by_verdict, by_model = (
            cluster_totals(sample, pairs, population, domains)
            for domains in ([0, 1, 0, 2, 0, 1, 0, 2], [0, 1] * 4)
        )
        joined = by_verdict.join_domains(2, [0, 1])
        for name in ("sums", "rows", "rated", "unseen", "counts", "squares"):
            assert getattr(joined, name) == pytest.approx(getattr(by_model, name)), name

    def test_kinds_without_ratings_add_up_to_nothing(self) -> None:
        none = Sample(np.zeros(3, dtype=int), np.zeros(0, dtype=int), np.zeros(0), np.array([0, 0, 0]))
        some = Sample(np.zeros(4, dtype=int), np.arange(3), np.ones(3), np.array([0, 2, 0, 1]))
        assert none.by_kind(np.zeros(0)).tolist() == [0, 0, 0]
        assert some.by_kind(np.array([1.0, 2.0, 4.0])).tolist() == [0, 3, 0, 4]

    @pytest.mark.parametrize(("clusters", "is_grouped"), [(4_096, False), (4_097, True), (65_536, True)])
    def test_clusters_are_counted_until_they_are_too_many(self, clusters: int, is_grouped: bool) -> None:
        found = np.concatenate([np.zeros(40_000, dtype=np.int32), np.arange(clusters, dtype=np.int32)])
        assert sums.are_grouped(found) == is_grouped
        assert sums.seen_clusters([found]).sum() == min(clusters, 9_152)

    @pytest.mark.parametrize("places", [[], [3], [3, 4], [2, 4, 7], [0, 9]])
    def test_weighted_sum_equals_that_of_all_columns(self, places: list[int]) -> None:
        columns, weights = np.random.default_rng(1).random((10, 5)), np.zeros(10)
        weights[places] = np.arange(1, 1 + len(places))
        assert weighted_sum(columns, weights) == pytest.approx(weights @ columns)

    def test_shares_of_a_denominator_compute_it_once(self) -> None:
        totals = independent([1.0] * 30 + [0.0] * 10)
        ratios(totals, [(0, 1), (1, 1)])
        assert difference(totals, (0, 1), (1, 1)).difference.value == -0.25
        assert set(totals.kept) == {(1,), (1, 1)}

    def test_records_that_no_rating_represents_are_uncovered(self) -> None:
        sample, _values, population = world(6)
        kept = sample.cell >= 4
        flagged = Sample(sample.cell[kept], sample.cluster[kept], sample.weight[kept])
        totals = cluster_totals(flagged, np.ones(kept.sum()), population)
        assert totals.uncovered == population.sizes[:4].sum()
        assert totals.sums == pytest.approx(population.sizes[4:].sum())

    def test_population_keeps_the_last_counts_of_its_records(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(extrapolation, "_MOST_KEPT", 2)
        _, _, population = world(3)
        places = Places.from_seen(population.seen)
        units = [np.arange(8) % modulus for modulus in (1, 2, 4)]
        first, second, third = (population.by_cluster(places, unit) for unit in units)
        assert population.by_cluster(places, units[1]) is second
        assert population.by_cluster(places, units[2]) is third
        again = population.by_cluster(places, units[0])
        assert again is not first
        assert (again == first).all()

    def test_equal_ratings_of_a_cell_have_a_variance(self) -> None:
        """Ten equal ratings do not prove that a thousand records are the same."""
        cell = np.repeat([0, 1], 10)
        sample = Sample(cell, np.arange(20), np.ones(20))
        population = Population(
            [("0", "Pass"), ("0", "Fail")], np.array([1000, 1000]), [np.arange(1000), np.arange(1000, 2000)]
        )
        found = ratio(cluster_totals(sample, np.column_stack([cell, np.ones(20)]), population), 0, 1)
        assert found.value == 0.5
        assert 0.1 < (found.high or 0) - (found.low or 0) < 0.4

    @given(st.data())
    @pytest.mark.slow
    def test_estimates_of_any_small_population_have_a_width(self, data: st.DataObject) -> None:
        cells = st.tuples(st.sampled_from("01"), st.sampled_from(["Pass", "Fail", ""]), st.sampled_from("ab"))
        paths = data.draw(st.lists(cells, min_size=1, max_size=6, unique=True))
        of_cells = [np.array(data.draw(st.lists(st.integers(0, 9), max_size=20)), int) for _ in paths]
        rating = st.tuples(
            st.integers(0, len(paths) - 1), st.integers(0, 9), st.floats(1, 50), st.booleans(), st.booleans()
        )
        rows = data.draw(st.lists(rating, min_size=1, max_size=30))
        cell, cluster, weight, first, second = (np.array(column) for column in zip(*rows, strict=True))
        population = Population(paths, np.array([len(one) for one in of_cells]), of_cells)
        columns = np.column_stack([first, second, np.ones(len(rows))])
        domains = [int(path[2] == "b") for path in paths]
        totals = cluster_totals(Sample(cell, cluster, weight), columns, population, domains)
        for start in range(0, 3 * (max(domains) + 1), 3):
            found = ratio(totals, start, start + 2)
            if found.value is None:
                assert found.why
            else:
                assert 0 <= (found.low or 0) <= found.value <= (found.high or 0) <= 1
                assert (found.high or 0) - (found.low or 0) > 1e-3
        compared = difference(totals, (0, 2), (1, 2))
        if compared.difference.value is not None:
            low, high = compared.difference.low or 0, compared.difference.high or 0
            assert low <= compared.difference.value <= high
            assert high - low > 1e-3
            assert 0 <= compared.p <= 1

    @pytest.mark.parametrize("weight", [1 / 0.3, 1 / 0.07, 0.1])
    def test_interval_of_cells_without_errors_does_not_depend_on_rounding(self, weight: float) -> None:
        found = [
            ratio(
                cluster_totals(
                    Sample(np.repeat(np.arange(3), 37), np.arange(111), np.full(111, each)),
                    np.repeat([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 37, axis=0),
                    Population([("0", name) for name in "abc"], np.full(3, 1000), [np.arange(1000)] * 3),
                ),
                0,
                1,
            )
            for each in (1.0, weight)
        ]
        assert (found[1].low, found[1].high) == pytest.approx((found[0].low, found[0].high), rel=1e-9)

    def test_more_ratings_give_a_narrower_interval(self) -> None:
        estimates = []
        for n in (50, 200, 800):
            sample, values, population = world(7, n=n)
            pairs = np.column_stack([values, np.ones(n)])
            estimates.append(ratio(cluster_totals(sample, pairs, population), 0, 1))
        widths = [(one.high or 0) - (one.low or 0) for one in estimates]
        assert all(wide > narrow for wide, narrow in pairwise(widths))

    def test_many_clusters_are_added_up_in_groups(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(8)
        values, of_records = rng.integers(0, 2, 5_000), rng.integers(0, 65_536, 20_000)
        sample = Sample(np.zeros(5_000, int), of_records[:5_000], np.ones(5_000))
        population = Population([("1",)], np.array([20_000]), [of_records])
        pairs = np.column_stack([values, np.ones(5_000)])
        grouped = ratio(cluster_totals(sample, pairs, population), 0, 1)
        monkeypatch.setattr(sums, "_MOST_CLUSTERS", 65_536)
        apart = ratio(cluster_totals(sample, pairs, population), 0, 1)
        assert grouped.value == pytest.approx(apart.value)
        assert grouped.low == pytest.approx(apart.low, abs=0.001)
        assert grouped.high == pytest.approx(apart.high, abs=0.001)
        assert grouped.clusters != apart.clusters

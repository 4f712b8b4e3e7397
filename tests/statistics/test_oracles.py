"""Figures equal those of statsmodels and krippendorff, whose import takes seconds.

Everyday tests have published examples, definitions and known results of these libraries.
"""

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from reviews.statistics import coefficients
from reviews.statistics.agreement import Category
from reviews.statistics.clusters import difference, ratio, spread_of
from reviews.statistics.coefficients import Confusion
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.intervals import holm, wilson
from reviews.statistics.reliability import alpha, fleiss_kappa
from reviews.statistics.students_t import t_quantile
from tests.statistics.test_clusters import clustered

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def oracle() -> Callable[[str, str], Any]:
    """Import a function of a library, which takes a second, only if a test needs it."""

    def function(module: str, name: str) -> Any:
        return getattr(import_module(module), name)

    return function


class TestClusters:
    def test_variance_is_the_cluster_robust_variance_of_statsmodels(
        self, oracle: Callable[[str, str], Any]
    ) -> None:
        values, sample = clustered(1)
        totals = cluster_totals(sample, np.column_stack([values, np.ones(300)]))
        gradient = np.array([1, -values.mean()]) / 300
        fitted = oracle("statsmodels.regression.linear_model", "OLS")(values, np.ones(300)).fit(
            cov_type="cluster", cov_kwds={"groups": sample.cluster}, use_t=True
        )
        assert spread_of(totals, gradient, [1]).variance == pytest.approx(fitted.bse[0] ** 2)
        assert ratio(totals, 0, 1).value == pytest.approx(fitted.params[0])

    def test_difference_is_close_to_the_regression_of_statsmodels(
        self, oracle: Callable[[str, str], Any]
    ) -> None:
        (first, sample), (second, _) = clustered(2), clustered(3)
        totals = cluster_totals(sample, np.column_stack([first, second, np.ones(300)]))
        found = difference(totals, (0, 2), (1, 2))
        long = np.column_stack([np.ones(600), np.repeat([1, 0], 300)])
        fitted = oracle("statsmodels.regression.linear_model", "OLS")(
            np.concatenate([first, second]), long
        ).fit(cov_type="cluster", cov_kwds={"groups": np.tile(sample.cluster, 2)}, use_t=True)
        reach = t_quantile(59) * fitted.bse[1]
        assert found.difference.value == pytest.approx(fitted.params[1])
        assert found.difference.high == pytest.approx(fitted.params[1] + reach, abs=0.05 * reach)
        assert found.p == pytest.approx(fitted.pvalues[1], abs=0.02)


class TestConfusion:
    counts = np.array([[300, 40, 10], [50, 200, 60], [20, 70, 450]])

    @pytest.mark.parametrize(("figure", "weights"), [("kappa", None), ("weighted_kappa", "linear")])
    def test_kappa_and_its_error_are_those_of_statsmodels(
        self, figure: str, weights: str | None, oracle: Callable[[str, str], Any]
    ) -> None:
        drawn = np.repeat(np.arange(9), self.counts.ravel())
        n = len(drawn)
        sample = Sample(np.zeros(n, int), np.arange(n), np.ones(n))
        scores = tuple(Category(name, None, rank) for rank, name in enumerate("abc"))
        found = getattr(coefficients, figure)(Confusion(scores, cluster_totals(sample, np.eye(9)[drawn])))
        expected = oracle("statsmodels.stats.inter_rater", "cohens_kappa")(self.counts, wt=weights)
        assert found.value == pytest.approx(expected.kappa)
        assert (found.high - found.low) / 2 / t_quantile(n - 1) == pytest.approx(expected.std_kappa, rel=0.05)


class TestReviewers:
    @pytest.mark.parametrize("seed", range(3))
    def test_alpha_is_that_of_krippendorff(self, seed: int, oracle: Callable[[str, str], Any]) -> None:
        rng = np.random.default_rng(seed)
        scores = np.where(rng.random((4, 40)) < 0.3, np.nan, (rng.random(40) * 4 + rng.random((4, 40))) // 1)
        units = Counter(tuple(sorted(unit[~np.isnan(unit)])) for unit in scores.T)
        compute = oracle("krippendorff", "alpha")
        nominal = compute(reliability_data=scores, level_of_measurement="nominal")
        ordinal = compute(reliability_data=scores, level_of_measurement="ordinal")
        assert alpha(units).value == pytest.approx(nominal)
        assert alpha(units, [0.0, 1.0, 2.0, 3.0, 4.0]).value == pytest.approx(ordinal)

    def test_fleiss_kappa_is_that_of_statsmodels(self, oracle: Callable[[str, str], Any]) -> None:
        counts = np.random.default_rng(4).multinomial(5, [0.6, 0.3, 0.1], 50)
        units = Counter(tuple(np.repeat(["a", "b", "c"], row).tolist()) for row in counts)
        expected = oracle("statsmodels.stats.inter_rater", "fleiss_kappa")(counts)
        assert fleiss_kappa(units).value == pytest.approx(expected)


class TestIntervals:
    @pytest.mark.parametrize(("successes", "n"), [(0, 7), (3, 20), (95, 100)])
    def test_wilson_is_that_of_statsmodels(
        self, successes: int, n: int, oracle: Callable[[str, str], Any]
    ) -> None:
        expected = oracle("statsmodels.stats.proportion", "proportion_confint")(successes, n, method="wilson")
        assert (wilson(successes, n).low, wilson(successes, n).high) == pytest.approx(expected)

    def test_holm_is_that_of_statsmodels(self, oracle: Callable[[str, str], Any]) -> None:
        p_values = [0.03, 0.001, 0.5, 0.012, 0.04]
        expected = oracle("statsmodels.stats.multitest", "multipletests")(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(expected)

"""Student's t distribution equals that of SciPy."""

from math import inf

import pytest

from reviews.statistics.students_t import t_quantile, t_tail
from tests.support.statistics_packages import stats


@pytest.mark.parametrize("df", [0.7, 1, 1.5, 2, 5.5, 30, 99.9, 100, 1e3, 1e5, inf])
def test_t_distribution_equals_that_of_scipy(df: float) -> None:
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)
    assert t_quantile(df, 0.9) == pytest.approx(stats.t.ppf(0.95, df), rel=1e-9)
    for value in (0.0, 0.01, 1.0, -2.0, 5.0, 30.0):
        assert t_tail(value, df) == pytest.approx(2 * stats.t.sf(abs(value), df), rel=1e-8)


def test_t_quantile_is_infinite_without_degrees_of_freedom() -> None:
    assert t_quantile(0) == inf
    assert t_tail(inf, 3) == 0

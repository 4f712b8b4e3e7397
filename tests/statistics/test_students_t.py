"""Student's t distribution equals that of SciPy."""

from math import inf

import pytest

from reviews.statistics.students_t import t_quantile, t_tail
from tests.support.statistics_packages import stats

VALUES = (0.01, 1.0, -2.0, 5.0, 30.0)
# By degrees of freedom, as computed by SciPy 1.17: the quantiles of 95% and 90%, and the tails of the values.
# SciPy itself takes each test process seconds to import.
KNOWN = {
    0.7: (
        (36.611415031588656, 13.587121347511157),
        (
            0.9941075125963736,
            0.5503866725199713,
            0.36914815166652265,
            0.20027366964182292,
            0.05747675523534037,
        ),
    ),
    1.5: (
        (6.016663104427929, 3.70518082009675),
        (
            0.9931854896629201,
            0.45113536727671033,
            0.22418833035605112,
            0.06537576762115621,
            0.004585642322979406,
        ),
    ),
    30: (
        (2.0422724563012378, 1.697260886593957),
        (
            0.9920874925731777,
            0.3253086154260302,
            0.054625044962983,
            2.32966854670078e-05,
            6.25179163060889e-24,
        ),
    ),
    99.9: (
        (1.9839958380769385, 1.6602498664693948),
        (
            0.9920412301516259,
            0.3197265657665916,
            0.04821490530279,
            2.4532536563271096e-06,
            8.993345165405436e-52,
        ),
    ),
    100: (
        (1.9839715185235518, 1.6602343260853392),
        (
            0.9920412102344285,
            0.3197241557841233,
            0.04821217873113,
            2.450173413503802e-06,
            8.380332558688329e-52,
        ),
    ),
    1e5: (
        (1.9599877075346095, 1.6448688647849696),
        (
            0.9920213073188231,
            0.3173129275641102,
            0.04550296345751,
            5.742701678641679e-07,
            7.37853687222276e-197,
        ),
    ),
    inf: (
        (1.9599639845400538, 1.6448536269514724),
        (
            0.9920212873707368,
            0.3173105078629142,
            0.04550026389636,
            5.733031437583892e-07,
            9.813427854297528e-198,
        ),
    ),
}


@pytest.mark.parametrize("df", KNOWN)
def test_t_distribution_has_known_quantiles_and_tails(df: float) -> None:
    quantiles, tails = KNOWN[df]
    assert (t_quantile(df), t_quantile(df, 0.9)) == pytest.approx(quantiles, rel=1e-9)
    assert [t_tail(value, df) for value in VALUES] == pytest.approx(tails, rel=1e-8, abs=0)
    assert t_tail(0.0, df) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("df", [0.7, 1, 1.5, 2, 5.5, 30, 99.9, 100, 1e3, 1e5, inf])
def test_t_distribution_equals_that_of_scipy(df: float) -> None:
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)
    assert t_quantile(df, 0.9) == pytest.approx(stats.t.ppf(0.95, df), rel=1e-9)
    for value in (0.0, *VALUES):
        assert t_tail(value, df) == pytest.approx(2 * stats.t.sf(abs(value), df), rel=1e-8, abs=0)


def test_t_quantile_is_infinite_without_degrees_of_freedom() -> None:
    assert t_quantile(0) == inf
    assert t_tail(inf, 3) == 0

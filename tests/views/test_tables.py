"""Cells of tables."""

from cognireview.types.estimates import Estimate
from reviews.views.tables import figure, share


def test_figures_are_rounded_once() -> None:
    # Rounded to four digits first, these would be 0.5550 and 55.5000.
    estimate = Estimate(0.554968, 0.4549678, 0.6449712, 40)
    assert figure(estimate).words == "0.55 (0.45 to 0.64, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}40)"
    assert share(Estimate(0.55499996, 0.5, 0.6, 40)).text == "55%"
    assert figure(estimate).value == 0.555

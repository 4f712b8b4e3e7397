"""Plots name their marks with the figures that tables show."""

from cognireview.types.estimates import Estimate
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.tables import share


def test_marks_are_rounded_like_the_cells_next_to_them() -> None:
    cell = share(Estimate(0.725, 0.614, 0.805, 102))
    dot = Dot("Verdict", cell, band=(36.93, 73.62), other=46.67)
    plot = DotPlot("Accuracy", [dot], band_title="agreement", other_title="the judge's rate")
    [row] = plot.rows
    assert row.spoken == "agreement: 37% to 74%; the judge's rate: 47%"
    assert [tick.text for tick in plot.ticks] == ["0%", "25%", "50%", "75%", "100%"]

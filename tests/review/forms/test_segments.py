"""The width of the score buttons of a form."""

import pytest

from reviews.records.rubric import Criterion, Rubric
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.review.forms.segments import segment_layout
from reviews.rubric.score_input import ScoreInput

YES, NUMBERS, PAIR = (
    ValueScale(("Yes", "Partial", "No")),
    ValueScale((5, 4, 3, 2, 1)),
    PairwiseScale("a", "b", "tie", "bad"),
)
SEVEN, LONG = ValueScale((7, 6, 5, 4, 3, 2, 1)), ValueScale(("Completely satisfactory answer", "No"))


@pytest.mark.parametrize(
    ("scales", "layout"),
    [
        ([YES], ("medium", 3)),
        ([NUMBERS], ("short", 5)),
        ([YES, NUMBERS], ("medium", 0)),
        ([SEVEN], ("short", 0)),
        ([PAIR], ("medium", 0)),
        ([ValueScale(("A", "B", "tie"))], ("medium", 3)),
        ([ValueScale((True, False))], ("medium", 2)),
        ([ValueScale(("1/5", "2/5", "3/5"))], ("short", 3)),
        ([ValueScale((2.5, 1.5, 0.5))], ("medium", 3)),
        ([YES, LONG], ("long", 0)),
        ([RangeScale(0, 100)], ("short", 0)),
        ([], ("short", 0)),
    ],
)
def test_widest_label_and_most_scores_set_the_layout(scales: list[Scale], layout: tuple[str, int]) -> None:
    criteria = [Criterion(f"criterion {place}", scale=scale) for place, scale in enumerate(scales)]
    rubric = Rubric(criteria=tuple(criteria))
    assert segment_layout(ScoreInput(rubric, one.name) for one in criteria) == layout

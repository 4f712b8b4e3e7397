"""Rubrics of runs in tests."""

from typing import Any

from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.scales import YES_PARTIAL_NO, Scale, ValueScale
from reviews.records.scores import Score


def rubric_of(*criteria: str, scale: Scale = YES_PARTIAL_NO, rule: VerdictRule | None = None) -> Rubric:
    """Return a rubric whose criteria have one scale."""
    return Rubric(tuple(map(Criterion, criteria)), scale, rule or VerdictRule())


def rubric_data(
    *criteria: str,
    values: tuple[Score, ...] = (),
    scale: Scale = YES_PARTIAL_NO,
    rule: VerdictRule | None = None,
) -> dict[str, Any]:
    """Return the value of `Run.rubric` for `rubric_of`. `values` make a scale without levels."""
    return rubric_of(*criteria, scale=ValueScale(values) if values else scale, rule=rule).as_json()

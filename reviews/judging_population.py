"""All records of a run, cell by cell, and what humans said of those they reviewed: what estimates stand on.

A cell holds the records of one judge, prompt template, model and verdict of the judge, flagged or not. From
the reviewed ones in it the others are estimated: flagged ones as far as reviewers came, others only as far as
they were drawn at random.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Sum

from reviews.judging import Scope
from reviews.models import JudgedCount, StratumCount

# A stratum's columns, and the verdict by which its cells differ.
_STRATUM = ("judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged")

# In a smaller group of one judge, prompt and model, counts by verdict would reveal that of a blind record.
FEWEST = 10


@dataclass
class Cell:
    """`verdict` is the judge's, empty where it gave none; `said` counts the humans' verdicts in force.

    `blind` is how many of those reviews were given before the judge's scores showed; `aside` is how many
    others are of records that were neither flagged nor drawn, and stand for nothing but themselves.
    """

    judge: str
    template: str
    model: str
    is_flagged: bool
    verdict: str
    records: int = 0
    said: dict[str, int] = field(default_factory=dict)
    blind: int = 0
    aside: int = 0

    @property
    def reviewed(self) -> int:
        """Reviews that came to a verdict."""
        return sum(self.said.values())

    @property
    def wrong(self) -> int:
        """Of those, with another verdict than the judge's."""
        return self.reviewed - self.said.get(self.verdict, 0)

    @property
    def label(self) -> str:
        """What the page calls it."""
        return f"{self.verdict or 'no verdict'} of {self.model or 'no model'}"


def cells(scope: Scope) -> list[Cell]:
    """The cells of a scope, whoever reviewed. Two queries.

    Where records are scored blind, those of small groups count only as far as they are reviewed.
    """
    found: dict[tuple[Any, ...], Cell] = {}

    def cell(place: tuple[Any, ...]) -> Cell:
        return found.setdefault(place, Cell(*place))

    columns = [f"stratum__{name}" for name in _STRATUM]
    strata = StratumCount.objects.filter(scope.condition())
    for *place, records in strata.values_list(*columns, "verdict", "evaluations"):
        cell(tuple(place)).records += records
    counted = JudgedCount.objects.filter(scope.condition(), criterion=None, final__isnull=False)
    rows = counted.values_list(*columns, "judge", "final", "is_blind", "is_sampled").annotate(Sum("reviews"))
    for *stratum, judge, final, is_blind, is_sampled, reviews in rows.filter(reviews__sum__gt=0).order_by():
        one = cell((*stratum, judge or ""))
        if not (one.is_flagged or is_sampled):
            one.aside += int(reviews)
            continue
        one.said[final] = one.said.get(final, 0) + int(reviews)
        one.blind += int(reviews) if is_blind else 0
    if scope.run.blind_share:
        _reviewed_of_few(found.values())
    return _whole(found.values())


def _reviewed_of_few(found: Iterable[Cell]) -> None:
    sizes = Counter[tuple[str, str, str]]()
    for cell in found:
        sizes[cell.judge, cell.template, cell.model] += cell.records
    for cell in found:
        if sizes[cell.judge, cell.template, cell.model] < FEWEST:
            cell.records = cell.reviewed


def _whole(found: Iterable[Cell]) -> list[Cell]:
    """There may be more reviews than records: of what records were before, or while a file is counted."""
    for cell in found:
        cell.records = max(cell.records, cell.reviewed)
    return list(found)

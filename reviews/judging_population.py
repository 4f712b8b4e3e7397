"""All records of a run, cell by cell, and what humans said of those they reviewed: what estimates stand on.

A cell holds the records of one judge, prompt template, model and verdict of the judge, flagged or not. From
the reviewed ones in it the others are estimated: flagged ones as far as reviewers came, others only as far as
they were drawn at random.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Sum

from reviews.judging import Scope
from reviews.models import JudgedCount, Run, StratumCount

# A stratum's columns, and the verdict by which its cells differ.
_STRATUM = ("judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged")

# Figures about all of fewer records would reveal the judge's verdict on those that are scored blind.
FEWEST = 10
WITHHELD = (
    f"Fewer than {FEWEST} records, and some may still be scored blind: a figure would reveal the judge's "
    "verdict on them."
)


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

    Call it only for a run whose records are all counted (`strata.why_not_counted`). A review of a record that
    has left its cell since counts nowhere if no record is left there.
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
    return [cell for cell in found.values() if cell.records]


def why_withheld(cells: Iterable[Cell], run: Run) -> str:
    """Return why figures about all records of these cells are withheld; empty where they are not."""
    records = reviewed = 0
    for cell in cells:
        records += cell.records
        reviewed += cell.reviewed + cell.aside
    return WITHHELD if run.blind_share and reviewed < records < FEWEST else ""

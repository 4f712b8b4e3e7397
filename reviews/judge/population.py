"""All records of a run, cell by cell, and what humans said of those they reviewed: what estimates stand on.

A cell holds the records of one judge, prompt template, model and verdict of the judge, flagged or not. From
the reviewed ones in it the others are estimated: flagged ones as far as reviewers came, others only as far as
they were drawn at random.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Sum

from reviews.judge.accuracy import JudgeScope
from reviews.judge.data_summary import counted
from reviews.models import JudgedCount, Run, StratumCount
from reviews.search.hidden_records import hidden_from

# A stratum's columns, and the verdict by which its cells differ.
_STRATUM = ("judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged")

# Of a model with fewer records, a figure would reveal the judge's verdict on a record that is scored blind.
FEWEST = 10


@dataclass
class PopulationCell:
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


class Population(NamedTuple):
    """The cells of a scope. `withheld` is how many records are left out: see `FEWEST`."""

    cells: list[PopulationCell]
    withheld: int

    @property
    def sentence(self) -> str:
        """Say which records are left out; empty where none are."""
        if not self.withheld:
            return ""
        return (
            f"Left out: {counted(self.withheld, 'record')} of models with fewer than {FEWEST} here. A figure "
            "would reveal the judge's verdict on those that are still scored blind."
        )


def read_population(scope: JudgeScope) -> Population:
    """Read the cells of a scope, whoever reviewed. Two queries, three if a model has few records.

    Call it only for a run whose records are all counted (`strata.why_not_counted`). A review of a record that
    has left its cell since counts nowhere if no record is left there.
    """
    found = [cell for cell in _cells(scope) if cell.records]
    models: dict[str, list[PopulationCell]] = defaultdict(list)
    for cell in found:
        models[cell.model].append(cell)
    few = [name for name, cells in models.items() if _are_few(cells)]
    if not (few and _hides_any(scope.run)):
        return Population(found, withheld=0)
    shown = [cell for cell in found if cell.model not in few]
    return Population(shown, sum(cell.records for name in few for cell in models[name]))


def _are_few(cells: list[PopulationCell]) -> bool:
    """Return whether there are too few records, of which some are not reviewed."""
    records = sum(cell.records for cell in cells)
    return sum(cell.reviewed + cell.aside for cell in cells) < records < FEWEST


def _hides_any(run: Run) -> bool:
    """Return whether the judge's verdict on a record of the run is still hidden from anybody."""
    return bool(run.blind_share) and run.evaluations.filter(hidden_from(None, run)).exists()


def _cells(scope: JudgeScope) -> Iterable[PopulationCell]:
    found: dict[tuple[Any, ...], PopulationCell] = {}

    def cell(place: tuple[Any, ...]) -> PopulationCell:
        return found.setdefault(place, PopulationCell(*place))

    columns = [f"stratum__{name}" for name in _STRATUM]
    strata = StratumCount.objects.filter(scope.condition())
    for *place, records in strata.values_list(*columns, "verdict", "evaluations"):
        cell(tuple(place)).records += records
    judged = JudgedCount.objects.filter(scope.condition(), criterion=None, final__isnull=False)
    rows = judged.values_list(*columns, "judge", "final", "is_blind", "is_sampled").annotate(Sum("reviews"))
    for *stratum, judge, final, is_blind, is_sampled, reviews in rows.filter(reviews__sum__gt=0).order_by():
        one = cell((*stratum, judge or ""))
        if not (one.is_flagged or is_sampled):
            one.aside += int(reviews)
            continue
        one.said[final] = one.said.get(final, 0) + int(reviews)
        one.blind += int(reviews) if is_blind else 0
    return found.values()

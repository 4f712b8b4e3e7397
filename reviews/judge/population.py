"""Count the records of a run by cell, with the human verdicts on the reviewed records.

Estimates start from these counts. A cell holds the records of one judge, prompt template, evaluated model,
judge's verdict and flag. The reviewed records of a cell represent the others: all reviewed ones if flagged,
only sampled ones otherwise.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Sum

from reviews.judge.data_summary import counted
from reviews.judge.scope import JudgeScope
from reviews.models import JudgedCount, Run, StratumCount
from reviews.search.hidden_records import hidden_from

# The columns of a stratum. Its cells differ by the judge's verdict.
_STRATUM = ("judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged")

# A figure over fewer records could reveal the judge's verdict on a record that is still scored blind.
FEWEST = 10


@dataclass
class PopulationCell:
    """The counts of one cell."""

    judge: str
    template: str
    model: str
    is_flagged: bool
    #: The judge's verdict, or empty.
    verdict: str
    records: int = 0
    #: Current human verdicts and their number.
    verdicts: dict[str, int] = field(default_factory=dict)
    #: Blind reviews among those.
    blind: int = 0
    #: Reviews of unflagged records that were not sampled. They represent only themselves.
    unsampled: int = 0

    @property
    def reviewed(self) -> int:
        """Reviews that came to a verdict."""
        return sum(self.verdicts.values())

    @property
    def wrong(self) -> int:
        """Reviews with another verdict than the judge's."""
        return self.reviewed - self.verdicts.get(self.verdict, 0)

    @property
    def label(self) -> str:
        """The cell's name on pages."""
        return f"{self.verdict or 'no verdict'} of {self.model or 'no model'}"


class Population(NamedTuple):
    """The cells of a scope."""

    cells: list[PopulationCell]
    #: The number of records omitted: see `FEWEST`.
    withheld: int

    @property
    def sentence(self) -> str:
        """Say which records are not counted, or return an empty string."""
        if not self.withheld:
            return ""
        return (
            f"Not counted: {counted(self.withheld, 'record')} of models with fewer than {FEWEST} records. A "
            f"figure could reveal the judge's verdict on records that are still scored blind."
        )


def read_population(scope: JudgeScope) -> Population:
    """Read the cells of a scope, with the decisions of all reviewers.

    Takes two queries, or three with a small model. The run's records must all be counted: see
    `strata.why_not_counted`. A review of a record that has left its cell is not counted if the cell is empty
    now.
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
    """Return whether a model has few records, and some of them are not reviewed."""
    records = sum(cell.records for cell in cells)
    return sum(cell.reviewed + cell.unsampled for cell in cells) < records < FEWEST


def _hides_any(run: Run) -> bool:
    """Return whether the judge's verdict on some record of the run is still hidden from somebody."""
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
            one.unsampled += int(reviews)
            continue
        one.verdicts[final] = one.verdicts.get(final, 0) + int(reviews)
        one.blind += int(reviews) if is_blind else 0
    return found.values()

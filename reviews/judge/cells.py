"""Count the records of a scope by cell: the population that ratings represent.

A cell has the records of one judge, prompt template, evaluated model and flag with one verdict by the judge.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reviews.judge.figure_cache import cache_counts
from reviews.judge.loading import loads
from reviews.judge.scope import JudgeScope
from reviews.models import Rating, Stratum, StratumCount
from reviews.records.clusters import CLUSTERS, task_cluster
from reviews.records.status import NOT_REQUIRED
from reviews.records.wording import counted
from reviews.rubric.run_rubric import run_rubric
from reviews.search import verdicts
from reviews.search.hidden_records import hidden_from_all
from reviews.statistics.extrapolation import Population

# A figure over fewer records could reveal the judge's verdict on a record that is still scored blind.
FEWEST = 10
#: A cluster number as SQL packs it, less 32,768.
PACKED_CLUSTER = np.dtype(">i2")

IntArray = NDArray[np.int32]


class Cell(NamedTuple):
    """The key of a cell, from coarse to fine."""

    is_flagged: bool
    #: The judge's verdict, or empty.
    verdict: str
    judge: str
    template: str
    #: Empty for records without a model.
    model: str


@dataclass(frozen=True, eq=False)
class CellRecords:
    """The records of a scope by cell."""

    cells: tuple[Cell, ...]
    #: For each cell, the cluster of each of its records: see `records.clusters`.
    clusters: tuple[IntArray, ...]
    #: The number of records omitted: see `FEWEST`.
    withheld: int = 0
    #: The number of unflagged records omitted, because no draw can take them: see `sampling.draws`.
    undrawable: int = 0

    @cached_property
    def population(self) -> Population:
        """The records as a population of `statistics.clusters`."""
        paths = [("flagged" if cell.is_flagged else "unflagged", *cell[1:]) for cell in self.cells]
        return Population(paths, self.sizes, self.clusters)

    @property
    def held(self) -> int:
        """The number of records in memory."""
        return int(self.sizes.sum())

    @cached_property
    def sizes(self) -> IntArray:
        """The number of records of each cell."""
        return np.array([len(each) for each in self.clusters], dtype=np.int32)

    @property
    def sentence(self) -> str:
        """Say which records are not counted, or return an empty string."""
        found = []
        if self.withheld:
            found.append(
                f"Not counted: {counted(self.withheld, 'record')} of models with fewer than {FEWEST} "
                f"records. A figure could reveal the judge's verdict on records that are still scored blind."
            )
        if self.undrawable:
            found.append(
                f"Not counted: {counted(self.undrawable, 'unflagged record')} whose status is "
                f"not “{NOT_REQUIRED}”. They cannot be sampled."
            )
        return " ".join(found)

    def only(self, condition: Callable[[Cell], bool]) -> "CellRecords":
        """Return the cells that meet a condition."""
        return self.keep([place for place, cell in enumerate(self.cells) if condition(cell)])

    def keep(self, places: list[int], withheld: int = 0) -> "CellRecords":
        """Return the cells at these places. The same places give the same object, with its population."""
        key = (*places, withheld)
        if key not in self._kept:
            self._kept[key] = CellRecords(
                tuple(self.cells[place] for place in places),
                tuple(self.clusters[place] for place in places),
                withheld,
                self.undrawable,
            )
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], "CellRecords"]:
        return {}


@loads
def load_strata(scope: JudgeScope) -> dict[int, Stratum]:
    """Load the strata of a scope by their keys."""
    return scope.strata().in_bulk()


def cell_of(stratum: Stratum, verdict: str) -> Cell:
    """Return the cell of the records of a stratum with a verdict."""
    return Cell(
        stratum.is_flagged,
        verdict,
        stratum.judge_llm_model,
        stratum.judge_prompt_template_path,
        stratum.model_id,
    )


@loads
def load_cells(scope: JudgeScope) -> CellRecords:
    """Load the records of a scope by cell. Takes one query, or three with a small model.

    The run's records must all be counted: see `loading.why_not_counted`. The filters by reviewer and by date
    are about ratings, not records.
    """
    found = _of_task(scope, scope.task) if scope.task is not None else _of_run(scope)
    sizes: dict[str, int] = {}
    for cell, clusters in zip(found.cells, found.clusters, strict=True):
        sizes[cell.model] = sizes.get(cell.model, 0) + len(clusters)
    few = {model for model, size in sizes.items() if size < FEWEST}
    # Whether the judge's verdict on some record is still hidden from somebody.
    hides_any = few and any(scope.run.evaluations.filter(one).exists() for one in hidden_from_all(scope.run))
    if not hides_any:
        return found
    withheld = {model for model in few if _has_unreviewed(scope, model)}
    shown = [place for place, cell in enumerate(found.cells) if cell.model not in withheld]
    return found.keep(shown, sum(sizes[model] for model in withheld))


@cache_counts
def _of_run(scope: JudgeScope) -> CellRecords:
    columns = ("is_flagged", "judge_llm_model", "judge_prompt_template_path", "model_id")
    rows = StratumCount.objects.filter(scope.condition(), evaluations__gt=0)
    found: dict[Cell, IntArray] = {}
    undrawable = 0
    for is_flagged, *names, verdict, records, packed in rows.values_list(
        *(f"stratum__{name}" for name in columns), "verdict", "evaluations", "clusters"
    ).order_by("pk"):
        clusters = unpack_clusters(bytes(packed))
        undrawable += records - len(clusters)
        if len(clusters):
            found[Cell(is_flagged, verdict, *names)] = clusters
    return CellRecords(tuple(found), tuple(found.values()), undrawable=undrawable)


def _of_task(scope: JudgeScope, task: str) -> CellRecords:
    """Count the records of a single task."""
    rubric = run_rubric(scope.run)
    counts: dict[Cell, int] = {}
    undrawable = 0
    for one in verdicts.with_judged_scores(scope.records().without_large_columns()):
        if not (one.needs_human_review or one.is_sampled or one.human_review_status == NOT_REQUIRED):
            undrawable += 1
            continue
        verdict = verdicts.judge_verdict(one, rubric) or ""
        names = (one.judge_llm_model, one.judge_prompt_template_path, one.model_id or "")
        cell = Cell(one.needs_human_review, verdict, *names)
        counts[cell] = counts.get(cell, 0) + 1
    cluster = task_cluster(task, "")
    return CellRecords(
        tuple(counts),
        tuple(np.full(records, cluster, dtype=np.int32) for records in counts.values()),
        undrawable=undrawable,
    )


def unpack_clusters(packed: bytes) -> IntArray:
    """Return cluster numbers that SQL packed as big-endian 16-bit integers less 32,768."""
    return np.frombuffer(packed, dtype=PACKED_CLUSTER).astype(np.int32) + CLUSTERS // 2


def _has_unreviewed(scope: JudgeScope, model: str) -> bool:
    """Return whether some record of a model has neither a decision nor a blind rating."""
    records = scope.run.evaluations.filter(model_id=model or None, review=None)
    rated = Rating.objects.filter(evaluation__in=records).values("evaluation").distinct()
    return records.exclude(pk__in=rated).exists()

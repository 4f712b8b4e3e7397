"""The exported files of a run: ratings, the records that they represent, and the audit log."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

Line = dict[str, Any]
Values = npt.NDArray[np.float64]

# From the worst to the best.
VERDICTS, SCORES = ("Fail", "Partial", "Pass"), ("No", "Partial", "Yes")
VERDICT = "Verdict"
PARTS: dict[str, tuple[bool, ...]] = {"run": (True, False), "flagged": (True,), "unflagged": (False,)}


@dataclass(frozen=True)
class Exports:
    """The exported files of a run, as JSON lines."""

    #: The blind ratings that represent other records.
    blind: list[Line]
    assisted: list[Line]
    population: list[Line]
    #: The records of the run.
    records: list[Line]
    #: The events of the audit log.
    events: list[Line]
    #: The documented recipe.
    recipe: ModuleType

    @classmethod
    def read(cls, folder: Path, recipe: ModuleType) -> "Exports":
        """Read the files `ratings`, `population`, `run` and `audit` of a folder."""
        ratings, population, records, audit = (
            recipe.lines(folder / name) for name in ("ratings", "population", "run", "audit")
        )
        assisted = [one for one in ratings if one["basis"] == "assisted"]
        events = [one["event"] for one in audit]
        return cls(recipe.blind(ratings), assisted, population, records, events, recipe)

    @property
    def blind_share(self) -> float:
        """The share of the records to score blind, as it was set last."""
        changes = [one["detail"] for one in self.events if one["action"] == "configure sampling"]
        return float(changes[-1]["after"]["blind_share"])

    @property
    def criteria(self) -> list[str]:
        return sorted({score["criterion"] for one in self.blind for score in one["scores"]})

    @cached_property
    def group(self) -> dict[str, int]:
        """The group of each cell. Ratings of a group represent each other's records."""
        return self.recipe.weigh(self.blind, self.population)[0]

    @cached_property
    def weights(self) -> Values:
        """The number of records that each blind rating represents."""
        return np.array(self.recipe.weigh(self.blind, self.population)[1])


# Scores as numbers from 0, or -1 without a score.


def pairs_of(lines: Sequence[Line], subject: str, part: str = "human") -> tuple[Values, Values]:
    """Return the judge's and the person's scores of a criterion, or their verdicts."""
    if subject == VERDICT:
        human = {"human": "verdict", "final": "final_verdict"}[part]
        given = [(one["judge_verdict"], one[human]) for one in lines]
        scale: tuple[str, ...] = VERDICTS
    else:
        scores = [score_of(one, subject) for one in lines]
        given, scale = [(score.get("judge"), score.get(part)) for score in scores], SCORES
    places = [[scale.index(one) if one else -1 for one in pair] for pair in given]
    judge, person = np.array(places).reshape(-1, 2).T
    return judge, person


def score_of(line: Line, criterion: str) -> Line:
    return next((score for score in line["scores"] if score["criterion"] == criterion), {})


def by_domain(
    exports: Exports, values: Values, names: Sequence[Any], columns: Sequence[str]
) -> dict[Any, Values]:
    """Estimate totals of domains: group means predict all records, a domain's own ratings correct them."""
    means = _group_means(exports, values)
    found: dict[Any, Values] = defaultdict(lambda: np.zeros(values.shape[1]))
    for one in exports.population:
        found[tuple(one[column] for column in columns)] += one["records"] * means[exports.group[one["cell"]]]
    for name, line, value, weight in zip(names, exports.blind, values, exports.weights, strict=True):
        found[name] += weight * (value - means[exports.group[line["cell"]]])
    return found


def _group_means(exports: Exports, values: Values) -> dict[int, Values]:
    sums: dict[int, Values] = defaultdict(lambda: np.zeros(values.shape[1]))
    records: Counter[int] = Counter()
    for line, value, weight in zip(exports.blind, values, exports.weights, strict=True):
        sums[exports.group[line["cell"]]] += weight * value
        records[exports.group[line["cell"]]] += weight
    return {group: total / records[group] for group, total in sums.items()}

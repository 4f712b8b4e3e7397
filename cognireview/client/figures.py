"""The API's figures about a judge as dataclasses. docs/judge.md defines each figure."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from cognireview.client.responses import Json

Outcome = Literal["shown worse", "not shown yet", "met"]


@dataclass(frozen=True)
class Requirement:
    """A required value of a figure, and whether it is met."""

    require: str
    outcome: Outcome
    sentence: str
    limit: float
    estimate: Json


@dataclass(frozen=True)
class JudgeReport:
    """The accuracy of a run's judge."""

    version: int
    scope: Json
    at: dt.datetime
    progress: dict[str, int]
    data: Json
    target: Json | None
    judge_vs_human: Json
    funnel: Json
    reviewers: list[Json]
    alt_test: list[Json]
    position_bias: list[Json]
    flag_precision: Json
    flag_choice: Json
    missed_errors: Json
    leaderboard: Json
    error_analysis: Json
    requirements: list[Requirement]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the requirements: "met" if all of them are met, also if there are none."""
        outcomes = {one.outcome for one in self.requirements}
        if "shown worse" in outcomes:
            return "shown worse"
        return "not shown yet" if "not shown yet" in outcomes else "met"


@dataclass(frozen=True)
class Comparison:
    """The accuracy of two judges on the same responses."""

    first: str
    second: str
    outcome: Literal["better", "worse", "not shown"]
    changes: list[dict[str, str]]
    first_accuracy: Json
    second_accuracy: Json
    difference: Json
    p: float
    counts: dict[str, int]
    hidden: int
    responses: int
    different: int
    criteria: list[Json]
    parts: list[Json]
    notes: list[str]


@dataclass(frozen=True)
class Drift:
    """The shift of a judge between two runs."""

    first: str
    second: str
    outcome: Literal["milder", "stricter", "not shown"]
    changes: list[dict[str, str]]
    first_rate: Json
    second_rate: Json
    shift: Json
    p: float
    changed: Json
    counts: list[Json]
    criteria: list[Json]
    models: list[Json]
    notes: list[str]


@dataclass(frozen=True)
class HistoryPoint:
    """The accuracy over a run."""

    run: str
    at: str
    judges: list[str]
    templates: list[str]
    related_by: list[Literal["judge", "prompt", "criteria"]]
    changes: list[dict[str, str]]
    accuracy: Json


@dataclass(frozen=True)
class History:
    """The accuracy of the judge over runs, the oldest run first."""

    run: str
    points: list[HistoryPoint]
    omitted: int


@dataclass(frozen=True)
class GoldSet:
    """A gold set: frozen human decisions on responses."""

    name: str
    run: str
    filters: dict[str, str]
    frozen_by: str
    frozen_at: str
    is_imported: bool


@dataclass(frozen=True)
class FrozenGoldSet(GoldSet):
    """A new gold set, with the ratings that it has and those left out."""

    blind: int
    adjudicated: int
    left_out: dict[str, int]


@dataclass(frozen=True)
class GoldMeasurement:
    """A judge against a gold set."""

    gold_set: GoldSet
    scope: Json
    responses: int
    matched: int
    records: int
    matched_records: int
    figures: list[Json]
    notes: list[str]
    unknown: str
